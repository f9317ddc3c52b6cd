import { z } from 'zod';
import type { SecretKeeper } from '../../core/secrets.js';
import { defineTool, type Tool } from '../../core/tool.js';
import { ANSWER_TIME_MS, nameField } from '../vault-fields.js';
import { noSecret } from './fields.js';

const nameSchema = z.strictObject({ name: nameField('The name of the secret') });

export function secretsDeleteTool(keeper: SecretKeeper): Tool {
  return defineTool({
    name: 'secrets_delete',
    description: 'Deletes a secret for good. Its value is not looked for in texts any more.',
    schema: nameSchema,
    effect: 'queryable',
    danger: () => 'dangerous',
    describe: ({ name }) => `delete the secret "${name}" for good`,
    timeoutMs: () => ANSWER_TIME_MS,
    examples: [{ text: 'delete the secret {name}' }, { text: 'forget the secret {name}' }],
    async check({ name }, scope) {
      if (!(await keeper.get(scope, name))) throw noSecret(name);
    },
    async execute({ name }, scope) {
      if (!(await keeper.delete(scope, name))) throw noSecret(name);
      return { content: { deleted: name } };
    },
    async settle({ name }, scope) {
      return (await keeper.get(scope, name)) ? undefined : { content: { deleted: name } };
    },
  });
}
