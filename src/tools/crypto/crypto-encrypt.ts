import { hash } from 'node:crypto';
import { z } from 'zod';
import { LangoError } from '../../core/errors.js';
import { BASE64 } from '../../core/message.js';
import type { SecretKeeper } from '../../core/secrets.js';
import { defineTool, type Tool } from '../../core/tool.js';
import { ANSWER_TIME_MS, nameField } from '../vault-fields.js';
import { decryptJwe, encryptJwe } from './jws.js';
import { keyField, textField, type Keys } from './keys.js';

const ALGORITHMS = ['sha256', 'sha384', 'sha512', 'sha3-256', 'sha3-384', 'sha3-512'] as const;

const hashSchema = z.strictObject({
  text: textField('What to hash'),
  algorithm: z.enum(ALGORITHMS).default('sha256').describe('sha256 by default'),
  encoding: z
    .enum(['utf8', 'base64'])
    .default('utf8')
    .describe('utf8: the text itself is hashed; base64: the bytes that it stands for'),
});

export function cryptoHashTool(): Tool {
  return defineTool({
    name: 'crypto_hash',
    description:
      'Computes a SHA-2 or SHA-3 hash of a text, or of bytes given in base64. The answer is in hex.',
    schema: hashSchema,
    effect: 'pure',
    danger: () => 'safe',
    timeoutMs: () => ANSWER_TIME_MS,
    async execute({ text, algorithm, encoding }) {
      if (encoding === 'base64' && !BASE64.test(text)) {
        throw new LangoError(
          'invalid-input',
          'text: it is not base64; leave encoding out to hash the text itself.',
        );
      }
      const bytes = Buffer.from(text, encoding);
      return { content: { algorithm, hash: hash(algorithm, bytes, 'hex'), bytes: bytes.length } };
    },
  });
}

const encryptSchema = z.strictObject({ text: textField('What to encrypt'), key: keyField() });

export function cryptoEncryptTool(keys: Keys): Tool {
  return defineTool({
    name: 'crypto_encrypt',
    description: 'Encrypts a text with a named aes256 key. Answers with a compact JWE (dir, A256GCM).',
    schema: encryptSchema,
    effect: 'pure',
    danger: () => 'safe',
    timeoutMs: () => ANSWER_TIME_MS,
    async execute({ text, key: name }, scope) {
      const { value } = await keys.requireEncrypting(scope, name);
      const ciphertext = await encryptJwe(text, { value, name });
      return { content: { key: name, format: 'JWE compact (RFC 7516), dir, A256GCM', ciphertext } };
    },
  });
}

const CIPHERTEXT_MAX_LENGTH = 400_000;
const NAME_DIGITS = 12;

const decryptSchema = z.strictObject({
  ciphertext: z
    .string()
    .min(1)
    .max(CIPHERTEXT_MAX_LENGTH)
    .describe('A compact JWE, as crypto_encrypt gives it'),
  key: keyField(),
  saveAs: nameField('The name of the secret that the decrypted text becomes; made up by default').optional(),
});

export function cryptoDecryptTool(keys: Keys, keeper: SecretKeeper): Tool {
  return defineTool({
    name: 'crypto_decrypt',
    description:
      'Decrypts a compact JWE with a named aes256 key. The text becomes a new secret: the answer is its reference, ' +
      'never the text itself.',
    schema: decryptSchema,
    effect: 'keyed',
    danger: () => 'moderate',
    timeoutMs: () => ANSWER_TIME_MS,
    async execute({ ciphertext, key, saveAs }, { key: call, ...scope }) {
      const text = await decryptJwe(ciphertext, await keys.requireEncrypting(scope, key));
      const name = saveAs ?? `decrypted-${call.slice(0, NAME_DIGITS)}`;
      const permission = { places: [], hosts: [] };
      const item = await keeper.store(scope, { name, value: text, ...permission, replace: false, key: call });
      return {
        content: {
          decrypted: item.reference,
          note: `Kept as the secret "${name}". It may be used nowhere yet: lango secrets allow ${name} --for exec`,
        },
      };
    },
  });
}
