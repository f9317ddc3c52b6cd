import { z } from 'zod';
import { defineTool, type Tool } from '../../core/tool.js';
import { ANSWER_TIME_MS } from '../vault-fields.js';
import type { Keys } from './keys.js';

export function cryptoKeysTool(keys: Keys): Tool {
  return defineTool({
    name: 'crypto_keys',
    description:
      'Lists the keys there are, with their algorithms and public parts. Private parts are never told.',
    schema: z.strictObject({}),
    effect: 'pure',
    danger: () => 'safe',
    timeoutMs: () => ANSWER_TIME_MS,
    examples: [
      { text: 'list the keys' },
      { text: 'which keys are there' },
      { text: 'show all cryptographic keys' },
      { text: 'what keys do I have' },
    ],
    async execute(_input, scope) {
      const list = await keys.list(scope);
      return { content: list.length === 0 ? 'There are no keys.' : { keys: list } };
    },
  });
}
