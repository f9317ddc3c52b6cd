import { z } from 'zod';
import type { SecretKeeper } from '../../core/secrets.js';
import { defineTool, type Tool } from '../../core/tool.js';
import { ANSWER_TIME_MS, nameField } from '../vault-fields.js';
import { described, noSecret } from './fields.js';

const nameSchema = z.strictObject({ name: nameField('The name of the secret') });

export function secretsGetTool(keeper: SecretKeeper): Tool {
  return defineTool({
    name: 'secrets_get',
    description:
      'Tells the reference of a secret, to be put into the arguments of tools that take secrets (the environment or ' +
      'command line of a command), and where it may be used. The value is never told.',
    schema: nameSchema,
    effect: 'pure',
    danger: () => 'safe',
    timeoutMs: () => ANSWER_TIME_MS,
    examples: [
      { text: 'show the secret {name}' },
      { text: 'get the secret {name}' },
      { text: 'get the reference of the secret {name}' },
    ],
    async execute({ name }, scope) {
      const item = await keeper.get(scope, name);
      if (!item) throw noSecret(name);
      return { content: described(item) };
    },
  });
}
