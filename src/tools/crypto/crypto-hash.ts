import { hash } from 'node:crypto';
import { z } from 'zod';
import { LangoError } from '../../core/errors.js';
import { BASE64 } from '../../core/message.js';
import { defineTool, type Tool } from '../../core/tool.js';
import { ANSWER_TIME_MS } from '../vault-fields.js';
import { textField } from './keys.js';

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
    examples: [
      { text: 'hash {text} with {algorithm}' },
      { text: 'compute the {algorithm} hash of {text}' },
      { text: 'what is the {algorithm} hash of {text}' },
      { text: 'hash {text}' },
    ],
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
