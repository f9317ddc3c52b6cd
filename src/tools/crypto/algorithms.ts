import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  sign,
  verify,
  type KeyObject,
} from 'node:crypto';
import { LangoError } from '../../core/errors.js';

/** `ed25519` and `p256` sign; `aes256` encrypts. */
export const KEY_ALGORITHMS = ['ed25519', 'p256', 'aes256'] as const;
export type KeyAlgorithm = (typeof KEY_ALGORITHMS)[number];
export type SigningAlgorithm = Exclude<KeyAlgorithm, 'aes256'>;

const AES_KEY_BYTES = 32;
const P256_HALF_BYTES = 32;

/** Generates the private part of a key: PKCS #8 (RFC 5958) in DER, or the bytes of an AES key. */
export function generateKey(algorithm: KeyAlgorithm): Buffer {
  switch (algorithm) {
    case 'ed25519':
      return generateKeyPairSync('ed25519').privateKey.export({ format: 'der', type: 'pkcs8' });
    case 'p256':
      return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
        format: 'der',
        type: 'pkcs8',
      });
    case 'aes256':
      return randomBytes(AES_KEY_BYTES);
  }
}

export function privateKeyOf(value: Uint8Array): KeyObject {
  return createPrivateKey({ key: Buffer.from(value), format: 'der', type: 'pkcs8' });
}

/**
 * Reads a public key from PEM (SubjectPublicKeyInfo) or a JWK, and determines its algorithm. Throws `invalid-input` for
 * other text.
 */
export function readPublicKey(text: string): {
  readonly key: KeyObject;
  readonly algorithm: SigningAlgorithm;
} {
  const key = parsePublicKey(text.trim());
  if (key?.asymmetricKeyType === 'ed25519') return { key, algorithm: 'ed25519' };
  if (key?.asymmetricKeyDetails?.namedCurve === 'prime256v1') return { key, algorithm: 'p256' };
  throw new LangoError(
    'invalid-input',
    'publicKey: it must be an Ed25519 or P-256 public key, as PEM ("-----BEGIN PUBLIC KEY-----") or as a JWK.',
  );
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

/**
 * Signs data. Ed25519 (RFC 8032) gives 64 bytes. P-256 with SHA-256 (FIPS 186-5) gives DER, as in openssl, or r and s,
 * as in JOSE.
 */
export function signBytes(
  key: KeyObject,
  { algorithm, data, isJose }: { algorithm: SigningAlgorithm; data: Buffer; isJose: boolean },
): Buffer {
  if (algorithm === 'ed25519') return sign(null, data, key);
  return sign('sha256', data, { key, dsaEncoding: isJose ? 'ieee-p1363' : 'der' });
}

/** Verifies a signature; accepts both forms of a P-256 signature. */
export function verifyBytes(
  key: KeyObject,
  { algorithm, data, signature }: { algorithm: SigningAlgorithm; data: Buffer; signature: Buffer },
): boolean {
  if (algorithm === 'ed25519') return verify(null, data, key, signature);
  const isRaw = signature.length === 2 * P256_HALF_BYTES;
  return (
    verify('sha256', data, { key, dsaEncoding: 'der' }, signature) ||
    (isRaw && verify('sha256', data, { key, dsaEncoding: 'ieee-p1363' }, signature))
  );
}
