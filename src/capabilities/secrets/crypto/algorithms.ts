import { createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto';
import { sign, verify, type KeyObject } from 'node:crypto';
import { CompactEncrypt, CompactSign, compactDecrypt, compactVerify } from 'jose';
import { LangoError } from '../../../core/errors.js';

/** `ed25519` and `p256` sign; `aes256` encrypts. */
export const KEY_ALGORITHMS = ['ed25519', 'p256', 'aes256'] as const;
export type KeyAlgorithm = (typeof KEY_ALGORITHMS)[number];
type SigningAlgorithm = Exclude<KeyAlgorithm, 'aes256'>;

/** A key that signs, or its public part, which verifies. */
export interface SigningKey {
  readonly key: KeyObject;
  readonly algorithm: SigningAlgorithm;
}

const AES_KEY_BYTES = 32;
/** The digest that `sign` and `verify` take. Ed25519 includes its own. */
const DIGESTS = { ed25519: null, p256: 'sha256' } as const;

/** Generates the private part of a key: PKCS #8 (RFC 5958) in DER, or the bytes of an AES key. */
export function generateKey(algorithm: KeyAlgorithm): Buffer {
  if (algorithm === 'aes256') return randomBytes(AES_KEY_BYTES);
  const { privateKey } =
    algorithm === 'ed25519'
      ? generateKeyPairSync('ed25519')
      : generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateKey.export({ format: 'der', type: 'pkcs8' });
}

export function privateKeyOf(value: Uint8Array): KeyObject {
  return createPrivateKey({ key: Buffer.from(value), format: 'der', type: 'pkcs8' });
}

/** Reads a public key from PEM (SubjectPublicKeyInfo) or a JWK. Throws `invalid-input` for other text. */
export function readPublicKey(text: string): SigningKey {
  const key = parsePublicKey(text.trim());
  if (key?.asymmetricKeyType === 'ed25519') return { key, algorithm: 'ed25519' };
  if (key?.asymmetricKeyDetails?.namedCurve === 'prime256v1') return { key, algorithm: 'p256' };
  const forms = 'as PEM ("-----BEGIN PUBLIC KEY-----") or as a JWK';
  throw new LangoError('invalid-input', `publicKey: it must be an Ed25519 or P-256 public key, ${forms}.`);
}

function parsePublicKey(text: string): KeyObject | undefined {
  try {
    if (!text.startsWith('{')) return text.includes('PRIVATE') ? undefined : createPublicKey(text);
    const jwk = JSON.parse(text) as Record<string, string>;
    return 'd' in jwk ? undefined : createPublicKey({ key: jwk, format: 'jwk' });
  } catch {
    return undefined;
  }
}

/** Signs data: Ed25519 (RFC 8032) gives 64 bytes; P-256 with SHA-256 (FIPS 186-5) gives DER, as in openssl. */
export function signBytes({ key, algorithm }: SigningKey, data: Buffer): Buffer {
  return sign(DIGESTS[algorithm], data, key);
}

/** Verifies a signature; accepts P-256 in DER, and as r and s, as in JOSE. */
export function verifyBytes({ key, algorithm }: SigningKey, data: Buffer, signature: Buffer): boolean {
  const digest = DIGESTS[algorithm];
  if (verify(digest, data, key, signature)) return true;
  return algorithm === 'p256' && verify(digest, data, { key, dsaEncoding: 'ieee-p1363' }, signature);
}

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
