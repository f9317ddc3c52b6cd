import { createPublicKey } from 'node:crypto';
import { z } from 'zod';
import { LangoError } from '../../../core/errors.js';
import type { JsonObject } from '../../../core/json.js';
import type { Scope } from '../../../core/task.js';
import type { OpenedEntry, Vault, VaultItem } from '../../../core/vault.js';
import { nameField } from '../../../core/vault-fields.js';
import { KEY_ALGORITHMS, privateKeyOf, type KeyAlgorithm, type SigningKey } from './algorithms.js';

const TEXT_MAX_LENGTH = 256 * 1024;

export function keyField(): z.ZodString {
  return nameField('The name of the key');
}

export function textField(description: string) {
  return z.string().max(TEXT_MAX_LENGTH).describe(description);
}

/**
 * Returns a key that signs. This function and `requireEncrypting` alone hand out private parts. Rejects with `not-found`, and
 * with `invalid-input` for a key that encrypts.
 */
export async function requireSigning(vault: Vault, scope: Scope, name: string): Promise<SigningKey> {
  const { algorithm, value } = await requireKey(vault, scope, name);
  if (algorithm !== 'aes256') return { key: privateKeyOf(value), algorithm };
  const problem = `key: "${name}" is for encryption (aes256) and cannot sign or verify.`;
  throw new LangoError('invalid-input', problem);
}

/** Returns the bytes of a key that encrypts. Rejects with `not-found`, and with `invalid-input` for a key that signs. */
export async function requireEncrypting(vault: Vault, scope: Scope, name: string): Promise<Uint8Array> {
  const { algorithm, value } = await requireKey(vault, scope, name);
  if (algorithm === 'aes256') return new Uint8Array(value);
  const problem = `key: "${name}" is for signatures (${algorithm}) and cannot encrypt`;
  throw new LangoError('invalid-input', `${problem}; make one with algorithm aes256.`);
}

async function requireKey(vault: Vault, scope: Scope, name: string) {
  const entry = await vault.get(scope, 'key', name);
  if (entry) return { algorithm: algorithmOf(entry), value: entry.value };
  const advice = 'crypto_keys lists the keys, crypto_create_key creates one';
  throw new LangoError('not-found', `key: there is no key "${name}". ${advice}.`);
}

/** Describes a key for a model, without its private part. */
export function describedKey(entry: OpenedEntry): JsonObject {
  const algorithm = algorithmOf(entry);
  const about = { name: entry.name, algorithm, createdAt: new Date(entry.createdAt).toISOString() };
  if (algorithm === 'aes256') return about;
  const publicKey = createPublicKey(privateKeyOf(entry.value));
  const jwk = publicKey.export({ format: 'jwk' }) as JsonObject;
  return { ...about, publicKey: publicKey.export({ format: 'pem', type: 'spki' }).toString(), jwk };
}

function algorithmOf({ name, metadata }: VaultItem): KeyAlgorithm {
  const algorithm = KEY_ALGORITHMS.find((known) => known === metadata['algorithm']);
  if (algorithm) return algorithm;
  throw new LangoError('storage', `The key "${name}" has an algorithm that this version does not know.`);
}
