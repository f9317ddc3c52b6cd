import { z } from 'zod';
import type { SecretKeeper } from '../../core/secrets.js';
import { SECRET_PLACES } from '../../core/secret-reference.js';
import { defineTool, type Tool } from '../../core/tool.js';
import { ANSWER_TIME_MS, nameField } from '../vault-fields.js';
import { described } from './fields.js';

const VALUE_MAX_LENGTH = 16 * 1024;
const HOSTS_MAX = 50;

const storeSchema = z.strictObject({
  name: nameField('The name to keep it under, such as "github"'),
  value: z.string().min(1).max(VALUE_MAX_LENGTH).describe('The secret itself, exactly as it was given'),
  for: z
    .array(z.enum(SECRET_PLACES))
    .max(SECRET_PLACES.length)
    .optional()
    .describe('Where it may be used, as the person said: exec for commands. Nowhere by default'),
  hosts: z
    .array(z.string().min(1).max(253))
    .max(HOSTS_MAX)
    .optional()
    .describe('The hosts it may be sent to, as the person said. None by default'),
  replace: z.boolean().optional().describe('Replace one of this name; refused by default'),
});

export function secretsStoreTool(keeper: SecretKeeper): Tool {
  return defineTool({
    name: 'secrets_store',
    description:
      'Keeps a secret that the person gave, encrypted. From then on its value is taken out of everything and the ' +
      'reference stands for it. Never make up a value.',
    schema: storeSchema,
    effect: 'keyed',
    // What was kept before would be lost.
    danger: ({ replace }) => (replace ? 'dangerous' : 'moderate'),
    describe: ({ name, replace }) => `${replace ? 'replace' : 'store'} the secret "${name}"`,
    timeoutMs: () => ANSWER_TIME_MS,
    examples: [
      { text: 'store the secret {value} as {name}' },
      { text: 'store secret {value} under the name {name}' },
      { text: 'store the secret {value} as {name} for commands', arguments: { for: ['exec'] } },
      { text: 'remember the secret {value} as {name}' },
    ],
    async execute({ name, value, for: places = [], hosts = [], replace = false }, { key, ...scope }) {
      const item = await keeper.store(scope, { name, value, places, hosts, replace, key });
      return {
        content: {
          stored: described(item),
          note:
            'Its value stands in the request that brought it, which is kept; from now on it is taken out everywhere. ' +
            `To keep a value out of conversations from the start: lango secrets set ${name}`,
        },
      };
    },
  });
}
