import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import { LangoError } from './errors.js';
import type { Sealer } from './push.js';

const CIPHER = 'aes-256-gcm';
/** The first byte of what `seal` returns. The nonce, the ciphertext and the tag follow. */
const FORMAT = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
export const KEY_BYTES = 32;

/** Encrypts a value with AES-256-GCM and a new nonce. `unseal` requires the same `associated` text, which is authenticated. */
export function seal(key: Uint8Array, value: Uint8Array, associated: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.from(associated, 'utf8'));
  return Buffer.concat([Buffer.of(FORMAT), nonce, cipher.update(value), cipher.final(), cipher.getAuthTag()]);
}

/** Decrypts a value. Undefined for a wrong key, a different `associated`, or bytes that are not from `seal`. */
export function unseal(key: Uint8Array, sealed: Uint8Array, associated: string): Buffer | undefined {
  const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
  if (bytes.length < 1 + NONCE_BYTES + TAG_BYTES || bytes[0] !== FORMAT) return undefined;
  const nonce = bytes.subarray(1, 1 + NONCE_BYTES);
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(associated, 'utf8'));
  decipher.setAuthTag(bytes.subarray(bytes.length - TAG_BYTES));
  const body = decipher.update(bytes.subarray(1 + NONCE_BYTES, bytes.length - TAG_BYTES));
  try {
    return Buffer.concat([body, decipher.final()]);
  } catch {
    return undefined;
  }
}

/** Returns the fingerprint of a key: 32 hex digits. */
export function keyId(key: Uint8Array): string {
  return createHmac('sha256', key).update('lango-vault-master').digest('hex').slice(0, 32);
}

/** Encrypts texts with the key of this node, for secrets in push configs. `key` has 32 bytes. */
export function createSealer(key: Buffer): Sealer {
  const use = 'lango-push-secret-1';
  return {
    seal: (text) => seal(key, Buffer.from(text, 'utf8'), use).toString('base64url'),
    open(sealed) {
      const text = unseal(key, Buffer.from(sealed, 'base64url'), use);
      if (text) return text.toString('utf8');
      throw new LangoError('storage', 'A stored secret cannot be decrypted with the key of this node.', {
        hint: 'Restore the keys.json that the data folder had when the secret was stored.',
      });
    },
  };
}
