import { createPublicKey } from 'node:crypto';
import { z } from 'zod';
import { LangoError } from '../../core/errors.js';
import type { Scope } from '../../core/task.js';
import { defineTool, type Tool } from '../../core/tool.js';
import { ANSWER_TIME_MS } from '../vault-fields.js';
import { privateKeyOf, readPublicKey, verifyBytes } from './algorithms.js';
import { isJws, verifyJws } from './jws.js';
import type { Keys } from './keys.js';
import { keyField, textField } from './keys.js';

const PUBLIC_KEY_MAX_LENGTH = 2_000;
const SIGNATURE_MAX_LENGTH = 400_000;

const verifySchema = z.strictObject({
  signature: z
    .string()
    .min(1)
    .max(SIGNATURE_MAX_LENGTH)
    .describe('The signature in base64 as crypto_sign gives it, or a compact JWS'),
  text: textField('What was signed; may be left out for a JWS, which holds it').optional(),
  key: keyField().optional(),
  publicKey: z
    .string()
    .max(PUBLIC_KEY_MAX_LENGTH)
    .optional()
    .describe("Somebody else's public key, as PEM or JWK, in the place of a key of the vault"),
});

type VerifyInput = z.infer<typeof verifySchema>;

export function cryptoVerifyTool(keys: Keys): Tool {
  return defineTool({
    name: 'crypto_verify',
    description:
      'Checks a signature with a named key or a given public key. Answers with valid: true or false.',
    schema: verifySchema,
    effect: 'pure',
    danger: () => 'safe',
    timeoutMs: () => ANSWER_TIME_MS,
    examples: [
      { text: 'verify the signature {signature} of {text} with the key {key}' },
      { text: 'verify the signature {signature} with the key {key}' },
    ],
    async execute(input, scope) {
      const { key, algorithm } = await publicKeyOf(input, keys, scope);
      const { signature, text } = input;
      if (isJws(signature)) {
        const signed = await verifyJws(signature, { key, algorithm });
        if (signed === undefined) return { content: { valid: false, algorithm } };
        const isSame = text === undefined || text === signed;
        return {
          content: { valid: isSame, algorithm, ...(isSame ? { text: signed } : { note: 'other text' }) },
        };
      }
      if (text === undefined) {
        throw new LangoError('invalid-input', 'text: it is needed, because the signature does not hold it.');
      }
      const data = Buffer.from(text, 'utf8');
      const valid = verifyBytes(key, { algorithm, data, signature: Buffer.from(signature, 'base64') });
      return { content: { valid, algorithm } };
    },
  });
}

async function publicKeyOf({ key: name, publicKey }: VerifyInput, keys: Keys, scope: Scope) {
  if (publicKey !== undefined && name === undefined) return readPublicKey(publicKey);
  if (name === undefined || publicKey !== undefined) {
    throw new LangoError('invalid-input', 'key, publicKey: give the one or the other.');
  }
  const { algorithm, value } = await keys.requireSigning(scope, name);
  return { key: createPublicKey(privateKeyOf(value)), algorithm };
}
