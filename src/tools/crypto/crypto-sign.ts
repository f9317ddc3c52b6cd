import { z } from 'zod';
import { defineTool, type Tool } from '../../core/tool.js';
import { ANSWER_TIME_MS } from '../vault-fields.js';
import { privateKeyOf, signBytes } from './algorithms.js';
import { signJws } from './jws.js';
import type { Keys } from './keys.js';
import { keyField, textField } from './keys.js';

const signSchema = z.strictObject({
  text: textField('What to sign'),
  key: keyField(),
  format: z
    .enum(['detached', 'jws'])
    .default('detached')
    .describe('detached (default): the signature alone, in base64; jws: text and signature as a compact JWS'),
});

const FORMATS = {
  ed25519: 'Ed25519 (RFC 8032), 64 bytes in base64',
  p256: 'ECDSA P-256 with SHA-256, DER in base64',
};

export function cryptoSignTool(keys: Keys): Tool {
  return defineTool({
    name: 'crypto_sign',
    description: 'Signs a text with a named key (ed25519 or p256).',
    schema: signSchema,
    // A second signature is as good as the first, and nothing is changed by it.
    effect: 'pure',
    danger: () => 'moderate',
    timeoutMs: () => ANSWER_TIME_MS,
    examples: [
      { text: 'sign {text} with the key {key}' },
      { text: 'sign {text} with {key}' },
      { text: 'sign {text} with the key {key} as a jws', arguments: { format: 'jws' } },
    ],
    async execute({ text, key: name, format }, scope) {
      const { algorithm, value } = await keys.requireSigning(scope, name);
      const key = privateKeyOf(value);
      const data = Buffer.from(text, 'utf8');
      if (format === 'jws') {
        const jws = await signJws(key, { algorithm, data, kid: name });
        return { content: { key: name, algorithm, format: 'JWS compact (RFC 7515)', signature: jws } };
      }
      const signature = signBytes(key, { algorithm, data, isJose: false }).toString('base64');
      return { content: { key: name, algorithm, format: FORMATS[algorithm], signature } };
    },
  });
}
