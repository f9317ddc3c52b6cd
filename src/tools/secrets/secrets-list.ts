import { z } from 'zod';
import type { SecretKeeper } from '../../core/secrets.js';
import { defineTool, type Tool } from '../../core/tool.js';
import { ANSWER_TIME_MS } from '../vault-fields.js';
import { described } from './fields.js';

export function secretsListTool(keeper: SecretKeeper): Tool {
  return defineTool({
    name: 'secrets_list',
    description: 'Lists the secrets there are, by name and reference, without their values.',
    schema: z.strictObject({}),
    effect: 'pure',
    danger: () => 'safe',
    timeoutMs: () => ANSWER_TIME_MS,
    examples: [
      { text: 'list the secrets' },
      { text: 'which secrets are there' },
      { text: 'show the secrets' },
      { text: 'what secrets do I have' },
    ],
    async execute(_input, scope) {
      const items = await keeper.list(scope);
      return { content: items.length === 0 ? 'There are no secrets.' : { secrets: items.map(described) } };
    },
  });
}
