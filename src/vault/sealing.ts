import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';

/** AES-256-GCM: one byte that names this format, the nonce, the ciphertext, the tag. */
const FORMAT = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
export const KEY_BYTES = 32;

/** `about` is bound to the value: it opens with the very same text only. */
export function seal(key: Uint8Array, value: Uint8Array, about: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.from(about, 'utf8'));
  return Buffer.concat([Buffer.of(FORMAT), nonce, cipher.update(value), cipher.final(), cipher.getAuthTag()]);
}

/** Undefined for another key, another `about`, or anything that `seal` did not make. */
export function unseal(key: Uint8Array, sealed: Uint8Array, about: string): Buffer | undefined {
  const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
  if (bytes.length < 1 + NONCE_BYTES + TAG_BYTES || bytes[0] !== FORMAT) return undefined;
  const nonce = bytes.subarray(1, 1 + NONCE_BYTES);
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(about, 'utf8'));
  decipher.setAuthTag(bytes.subarray(bytes.length - TAG_BYTES));
  const body = decipher.update(bytes.subarray(1 + NONCE_BYTES, bytes.length - TAG_BYTES));
  try {
    return Buffer.concat([body, decipher.final()]);
  } catch {
    return undefined;
  }
}

/** A fingerprint to know a key by: 32 hex digits. */
export function keyId(key: Uint8Array): string {
  return createHmac('sha256', key).update('lango-vault-master').digest('hex').slice(0, 32);
}
