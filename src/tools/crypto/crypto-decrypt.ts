import { z } from 'zod';
import type { SecretKeeper } from '../../core/secrets.js';
import { defineTool, type Tool } from '../../core/tool.js';
import { ANSWER_TIME_MS, nameField } from '../vault-fields.js';
import { decryptJwe } from './jws.js';
import type { Keys } from './keys.js';
import { keyField } from './keys.js';

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
    examples: [
      { text: 'decrypt {ciphertext} with the key {key}' },
      { text: 'decrypt {ciphertext} with the key {key} and save it as {saveAs}' },
    ],
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
