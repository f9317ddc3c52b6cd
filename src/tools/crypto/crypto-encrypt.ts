import { z } from 'zod';
import { defineTool, type Tool } from '../../core/tool.js';
import { ANSWER_TIME_MS } from '../vault-fields.js';
import { encryptJwe } from './jws.js';
import type { Keys } from './keys.js';
import { keyField, textField } from './keys.js';

const encryptSchema = z.strictObject({ text: textField('What to encrypt'), key: keyField() });

export function cryptoEncryptTool(keys: Keys): Tool {
  return defineTool({
    name: 'crypto_encrypt',
    description: 'Encrypts a text with a named aes256 key. Answers with a compact JWE (dir, A256GCM).',
    schema: encryptSchema,
    effect: 'pure',
    danger: () => 'safe',
    timeoutMs: () => ANSWER_TIME_MS,
    examples: [{ text: 'encrypt {text} with the key {key}' }, { text: 'encrypt {text} with {key}' }],
    async execute({ text, key: name }, scope) {
      const { value } = await keys.requireEncrypting(scope, name);
      const ciphertext = await encryptJwe(text, { value, name });
      return { content: { key: name, format: 'JWE compact (RFC 7516), dir, A256GCM', ciphertext } };
    },
  });
}
