import { CompactEncrypt, CompactSign, compactDecrypt, compactVerify } from 'jose';
import { LangoError } from '../../../core/errors.js';
import type { SigningKey } from './algorithms.js';

/** The accepted algorithm names of RFC 7518 and RFC 8037. New signatures use the first. */
const JOSE_NAMES = { ed25519: ['EdDSA', 'Ed25519'], p256: ['ES256'] } as const;
/** Direct encryption with the key itself, by AES-256-GCM. */
const DIRECT = { alg: 'dir', enc: 'A256GCM' } as const;

export function isJws(text: string): boolean {
  return /^[\w-]+\.[\w-]*\.[\w-]+$/.test(text.trim());
}

/** Signs a text with the key of that name. */
export function signJws({ key, algorithm }: SigningKey, name: string, text: string): Promise<string> {
  const [alg] = JOSE_NAMES[algorithm];
  return new CompactSign(Buffer.from(text)).setProtectedHeader({ alg, kid: name }).sign(key);
}

/** Resolves with the signed text; undefined when the signature does not match the key. */
export async function verifyJws(jws: string, { key, algorithm }: SigningKey): Promise<string | undefined> {
  try {
    const { payload } = await compactVerify(jws.trim(), key, { algorithms: [...JOSE_NAMES[algorithm]] });
    return Buffer.from(payload).toString('utf8');
  } catch {
    return undefined;
  }
}

/** Encrypts a text with the key of that name. */
export function encryptJwe(key: Uint8Array, name: string, text: string): Promise<string> {
  return new CompactEncrypt(Buffer.from(text)).setProtectedHeader({ ...DIRECT, kid: name }).encrypt(key);
}

/** Decrypts a JWE. Rejects with `invalid-input` for a wrong key and for anything that is not such a JWE. */
export async function decryptJwe(key: Uint8Array, name: string, jwe: string): Promise<string> {
  try {
    const { plaintext } = await compactDecrypt(jwe.trim(), key, {
      keyManagementAlgorithms: [DIRECT.alg],
      contentEncryptionAlgorithms: [DIRECT.enc],
    });
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(plaintext);
  } catch (cause) {
    const text = `a compact JWE (dir, A256GCM) of a text that was encrypted with the key "${name}"`;
    throw new LangoError('invalid-input', `ciphertext: it is not ${text}, or it was modified.`, { cause });
  }
}
