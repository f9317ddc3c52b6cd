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

/** The keys of one vault. Only the `require` methods return private parts. */
export class Keys {
  readonly #vault: Vault;

  constructor(vault: Vault) {
    this.#vault = vault;
  }

  /** Returns a key that signs. Rejects with `not-found`, and with `invalid-input` for a key that encrypts. */
  async requireSigning(scope: Scope, name: string): Promise<SigningKey> {
    const { algorithm, value } = await this.#require(scope, name);
    if (algorithm !== 'aes256') return { key: privateKeyOf(value), algorithm };
    const problem = `key: "${name}" is for encryption (aes256) and cannot sign or verify.`;
    throw new LangoError('invalid-input', problem);
  }

  /** Returns the bytes of a key that encrypts. Rejects with `not-found`, and with `invalid-input` for a key that signs. */
  async requireEncrypting(scope: Scope, name: string): Promise<Uint8Array> {
    const { algorithm, value } = await this.#require(scope, name);
    if (algorithm === 'aes256') return new Uint8Array(value);
    const problem = `key: "${name}" is for signatures (${algorithm}) and cannot encrypt`;
    throw new LangoError('invalid-input', `${problem}; make one with algorithm aes256.`);
  }

  /** Stores a new key. A repeated call returns the key that it created. Rejects with `conflict` for a known name. */
  async create(scope: Scope, made: { name: string; algorithm: KeyAlgorithm; call: string; value: Buffer }) {
    const { name, algorithm, call, value } = made;
    const known = await this.#vault.get(scope, 'key', name);
    if (known?.metadata['call'] === call) return describedKey(known);
    const metadata = { algorithm, call };
    const item = await this.#vault.put(scope, { kind: 'key', name, value, metadata }, 0);
    return describedKey({ ...item, value });
  }

  async list(scope: Scope): Promise<readonly JsonObject[]> {
    const items = await this.#vault.list(scope, 'key');
    return Promise.all(
      items.map(async ({ name }) => {
        const entry = await this.#vault.get(scope, 'key', name).catch(() => undefined);
        return entry ? describedKey(entry) : { name, damaged: 'it cannot be read any more' };
      }),
    );
  }

  async #require(scope: Scope, name: string) {
    const entry = await this.#vault.get(scope, 'key', name);
    if (entry) return { algorithm: algorithmOf(entry), value: entry.value };
    const advice = 'crypto_keys lists the keys, crypto_create_key creates one';
    throw new LangoError('not-found', `key: there is no key "${name}". ${advice}.`);
  }
}

function describedKey(entry: OpenedEntry): JsonObject {
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
