import { z } from 'zod';
import { LangoError } from '../../core/errors.js';
import type { JsonObject } from '../../core/json.js';
import { SECRET_PLACES } from '../../core/secrets.js';
import { exactField } from '../../core/tool-fields.js';
import type { SecretItem, SecretStore } from '../../core/vault.js';
import { defineTool, type Tool } from '../../core/tool.js';
import { nameField } from '../../core/vault-fields.js';

const VALUE_MAX_LENGTH = 16 * 1024;
const HOSTS_MAX = 50;

const storeSchema = z.strictObject({
  name: nameField('The name of the secret, such as "github"'),
  value: exactField('The value of the secret, exactly as the person gave it', VALUE_MAX_LENGTH),
  for: z
    .array(z.enum(SECRET_PLACES))
    .max(SECRET_PLACES.length)
    .optional()
    .describe(
      'Where the secret may be used, as the person said: http for requests to its hosts; exec gives commands the value itself. Nowhere by default',
    ),
  hosts: z
    .array(z.string().min(1).max(253))
    .max(HOSTS_MAX)
    .optional()
    .describe('The hosts that the secret may be sent to, as the person said. None by default'),
  replace: z.boolean().optional().describe('Replace an existing secret of this name; refused by default'),
});

const nameSchema = z.strictObject({ name: nameField('The name of the secret') });

/** The tools that manage secrets. None of their results contains a value. */
export function createSecretsTools(secrets: SecretStore): readonly Tool[] {
  return [
    defineTool({
      name: 'secrets_store',
      description:
        'Stores a secret that the person gave, encrypted. From then on the value is removed from all texts and its ' +
        'reference stands in its place. Never invent a value.',
      schema: storeSchema,
      effect: 'keyed',
      // Replacing a secret loses its old value.
      danger: ({ replace }) => (replace ? 'dangerous' : 'moderate'),
      describe: ({ name, replace }) => `${replace ? 'replace' : 'store'} the secret "${name}"`,
      async execute({ name, value, for: places = [], hosts = [], replace = false }, { key, ...scope }) {
        const item = await secrets.store(scope, { name, value, places, hosts, replace, key });
        const note = 'The stored request still contains the value; from now on it is removed everywhere.';
        const advice = `To keep a value out of conversations entirely: lango secrets set ${name}`;
        return { content: { stored: described(item), note: `${note} ${advice}` } };
      },
    }),
    defineTool({
      name: 'secrets_get',
      description:
        'Returns the reference of a secret, for the arguments of tools that accept secrets (such as the headers of a ' +
        'request), and where it may be used. The value is never returned.',
      schema: nameSchema,
      effect: 'pure',
      async execute({ name }, scope) {
        const item = await secrets.get(scope, name);
        if (!item) throw noSecret(name);
        return { content: described(item) };
      },
    }),
    defineTool({
      name: 'secrets_list',
      description: 'Lists the secrets by name and reference, without their values.',
      schema: z.strictObject({}),
      effect: 'pure',
      async execute(_input, scope) {
        const items = await secrets.list(scope);
        return { content: items.length === 0 ? 'There are no secrets.' : { secrets: items.map(described) } };
      },
    }),
    defineTool({
      name: 'secrets_delete',
      description: 'Deletes a secret permanently. Its value is no longer removed from texts.',
      schema: nameSchema,
      effect: 'queryable',
      describe: ({ name }) => `delete the secret "${name}" permanently`,
      async check({ name }, scope) {
        if (!(await secrets.get(scope, name))) throw noSecret(name);
      },
      async execute({ name }, scope) {
        if (!(await secrets.delete(scope, name))) throw noSecret(name);
        return { content: { deleted: name } };
      },
      async settle({ name }, scope) {
        return (await secrets.get(scope, name)) ? undefined : { content: { deleted: name } };
      },
    }),
  ];
}

/** Describes a secret for a model. */
function described(item: SecretItem): JsonObject {
  const { name, reference, places, hosts, version, updatedAt, isDamaged } = item;
  return {
    name,
    reference,
    allowed: places.length === 0 ? 'nowhere yet' : places.join(', '),
    ...(hosts.length === 0 ? {} : { hosts }),
    version,
    updatedAt: new Date(updatedAt).toISOString(),
    ...(isDamaged ? { damaged: 'its value cannot be read any more; store it again' } : {}),
  };
}

function noSecret(name: string): LangoError {
  return new LangoError('not-found', `name: there is no secret "${name}". secrets_list lists the secrets.`);
}
