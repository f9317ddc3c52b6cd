import type { KeyObject } from 'node:crypto';
import { CompactEncrypt, CompactSign, compactDecrypt, compactVerify } from 'jose';
import { LangoError } from '../../core/errors.js';
import type { SigningAlgorithm } from './algorithms.js';

/** Algorithm names of RFC 7518 and RFC 8037. */
const JOSE_NAMES = { ed25519: 'EdDSA', p256: 'ES256' } as const;
/** Direct encryption with the key itself, by AES-256-GCM. */
const DIRECT = { alg: 'dir', enc: 'A256GCM' } as const;

export function isJws(text: string): boolean {
  return /^[\w-]+\.[\w-]*\.[\w-]+$/.test(text.trim());
}

export function signJws(
  key: KeyObject,
  { algorithm, data, kid }: { algorithm: SigningAlgorithm; data: Buffer; kid: string },
): Promise<string> {
  return new CompactSign(data).setProtectedHeader({ alg: JOSE_NAMES[algorithm], kid }).sign(key);
}

/** Resolves with the signed text; undefined when the signature does not match the key. */
export async function verifyJws(
  jws: string,
  { key, algorithm }: { key: KeyObject; algorithm: SigningAlgorithm },
): Promise<string | undefined> {
  try {
    const algorithms = algorithm === 'ed25519' ? ['EdDSA', 'Ed25519'] : [JOSE_NAMES[algorithm]];
    const { payload } = await compactVerify(jws.trim(), key, { algorithms });
    return Buffer.from(payload).toString('utf8');
  } catch {
    return undefined;
  }
}

export function encryptJwe(
  text: string,
  { value, name }: { value: Uint8Array; name: string },
): Promise<string> {
  const data = Buffer.from(text, 'utf8');
  return new CompactEncrypt(data).setProtectedHeader({ ...DIRECT, kid: name }).encrypt(new Uint8Array(value));
}

/** Decrypts a JWE. Rejects with `invalid-input` for a wrong key and for anything that is not such a JWE. */
export async function decryptJwe(
  jwe: string,
  { value, name }: { value: Uint8Array; name: string },
): Promise<string> {
  try {
    const { plaintext } = await compactDecrypt(jwe.trim(), new Uint8Array(value), {
      keyManagementAlgorithms: [DIRECT.alg],
      contentEncryptionAlgorithms: [DIRECT.enc],
    });
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(plaintext);
  } catch (cause) {
    throw new LangoError(
      'invalid-input',
      `ciphertext: it is not a compact JWE (dir, A256GCM) of a text that was encrypted with the key "${name}", or it was modified.`,
      { cause },
    );
  }
}
