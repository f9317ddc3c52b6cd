import { hash } from 'node:crypto';
import { z } from 'zod';
import { LangoError } from '../../../core/errors.js';
import { BASE64 } from '../../../core/message.js';
import { exactField } from '../../../core/tool-fields.js';
import type { SecretStore, Vault } from '../../../core/vault.js';
import { defineTool, type Tool } from '../../../core/tool.js';
import { nameField } from '../../../core/vault-fields.js';
import { decryptJwe, encryptJwe, generateKey, KEY_ALGORITHMS } from './algorithms.js';
import { signatureTools } from './crypto-sign.js';
import { describedKey, keyField, requireEncrypting, textField } from './keys.js';

const ALGORITHMS = ['sha256', 'sha384', 'sha512', 'sha3-256', 'sha3-384', 'sha3-512'] as const;

const hashSchema = z.strictObject({
  text: textField('What to hash'),
  algorithm: z.enum(ALGORITHMS).default('sha256').describe('sha256 by default'),
  encoding: z
    .enum(['utf8', 'base64'])
    .default('utf8')
    .describe('utf8: hash the text itself; base64: hash the decoded bytes'),
});

/** The tools that hash, sign and encrypt. Private keys stay in `vault`; decrypted text is stored in `secrets`. */
export function createCryptoTools(vault: Vault, secrets: SecretStore): readonly Tool[] {
  return [
    defineTool({
      name: 'crypto_hash',
      description:
        'Computes a SHA-2 or SHA-3 hash of a text, or of bytes given in base64. Returns the hash in hex.',
      schema: hashSchema,
      effect: 'pure',
      async execute({ text, algorithm, encoding }) {
        if (encoding === 'base64' && !BASE64.test(text)) {
          const problem = 'text: it is not valid base64. Omit encoding to hash the text itself.';
          throw new LangoError('invalid-input', problem);
        }
        const bytes = Buffer.from(text, encoding);
        return { content: { algorithm, hash: hash(algorithm, bytes, 'hex'), bytes: bytes.length } };
      },
    }),
    defineTool({
      name: 'crypto_keys',
      description: 'Lists the keys with their algorithms and public parts. Private parts are never returned.',
      schema: z.strictObject({}),
      effect: 'pure',
      async execute(_input, scope) {
        const items = await vault.list(scope, 'key');
        if (items.length === 0) return { content: 'There are no keys.' };
        const described = items.map(async ({ name }) => {
          const entry = await vault.get(scope, 'key', name).catch(() => undefined);
          return entry ? describedKey(entry) : { name, damaged: 'it cannot be read any more' };
        });
        return { content: { keys: await Promise.all(described) } };
      },
    }),
    defineTool({
      name: 'crypto_create_key',
      description:
        'Creates a key for signatures (ed25519, p256) or encryption (aes256) in the vault. Returns its public part; the ' +
        'private part never leaves the vault.',
      schema: z.strictObject({
        name: keyField().describe('The name of the new key'),
        algorithm: z
          .enum(KEY_ALGORITHMS)
          .default('ed25519')
          .describe('ed25519 (default) and p256 sign; aes256 encrypts'),
      }),
      effect: 'keyed',
      danger: 'safe',
      async execute({ name, algorithm }, { key: call, ...scope }) {
        // A repeated call returns the key that it created.
        const known = await vault.get(scope, 'key', name);
        if (known?.metadata['call'] === call) return { content: { created: describedKey(known) } };
        const value = generateKey(algorithm);
        const item = await vault.put(scope, { kind: 'key', name, value, metadata: { algorithm, call } }, 0);
        return { content: { created: describedKey({ ...item, value }) } };
      },
    }),
    ...signatureTools(vault),
    ...encryptionTools(vault, secrets),
  ];
}

const CIPHERTEXT_MAX_LENGTH = 400_000;
const NAME_SUFFIX_LENGTH = 12;

/** The tools that encrypt. Decrypted text is stored in `secrets`. */
function encryptionTools(vault: Vault, secrets: SecretStore): readonly Tool[] {
  return [
    defineTool({
      name: 'crypto_encrypt',
      description: 'Encrypts a text with a named aes256 key. Returns a compact JWE (dir, A256GCM).',
      schema: z.strictObject({ text: textField('What to encrypt'), key: keyField() }),
      effect: 'pure',
      async execute({ text, key: name }, scope) {
        const ciphertext = await encryptJwe(await requireEncrypting(vault, scope, name), name, text);
        return { content: { key: name, format: 'JWE compact (RFC 7516), dir, A256GCM', ciphertext } };
      },
    }),
    defineTool({
      name: 'crypto_decrypt',
      description:
        'Decrypts a compact JWE with a named aes256 key. Stores the text as a new secret and returns its reference, ' +
        'never the text itself.',
      schema: z.strictObject({
        ciphertext: exactField('A compact JWE, as returned by crypto_encrypt', CIPHERTEXT_MAX_LENGTH),
        key: keyField(),
        saveAs: nameField('The name of the secret for the decrypted text; generated by default').optional(),
      }),
      effect: 'keyed',
      danger: 'moderate',
      async execute({ ciphertext, key, saveAs }, { key: call, ...scope }) {
        const text = await decryptJwe(await requireEncrypting(vault, scope, key), key, ciphertext);
        const name = saveAs ?? `decrypted-${call.slice(0, NAME_SUFFIX_LENGTH)}`;
        const secret = { name, value: text, places: [], hosts: [], replace: false, key: call };
        const { reference } = await secrets.store(scope, secret);
        const note = `Stored as the secret "${name}". It cannot be used anywhere yet`;
        const advice = `to allow it: lango secrets allow ${name} --for exec`;
        return { content: { decrypted: reference, note: `${note}; ${advice}` } };
      },
    }),
  ];
}
