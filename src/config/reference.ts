import { defined, mapMembers } from '../core/json.js';
import { ENV_VARIABLES } from './env.js';
import type { KeySchema, Leaf, SettingsSchema } from './schema.js';
import { alternatives, leavesOf, valuesOf } from './schema.js';

const VARIABLE_SCHEMA: KeySchema & { readonly pattern: string } = { type: 'string', pattern: '\\$\\{' };

/** The JSON Schema (draft 2020-12) of the configuration file, for checks and completion in editors. */
export function configSchema({ json }: SettingsSchema): Readonly<Record<string, unknown>> {
  return { ...withVariables(json), title: 'Lango configuration' };
}

/** Allows a string with a variable wherever a single value is allowed. */
function withVariables(schema: KeySchema): KeySchema {
  if (schema.properties !== undefined)
    return { ...schema, properties: mapMembers(schema.properties, withVariables) };
  const values = valuesOf(schema);
  if (values !== undefined) return { ...schema, additionalProperties: withVariables(values) };
  const { description, default: fallback, writeOnly, ...check } = schema;
  const checks = (check.anyOf ?? [check]).map((one) =>
    one.items === undefined ? one : { ...one, items: withVariables(one.items) },
  );
  return {
    ...defined({ description, default: fallback, writeOnly }),
    anyOf: checks.every(({ type }) => type === 'array') ? checks : [...checks, VARIABLE_SCHEMA],
  };
}

const INTRODUCTION = `# Configuration

<!-- Generated from the schema by \`npm run schema\`. Do not edit. -->

Every key has a default, so the server starts without a configuration file. To change a key, write it to \`config.yaml\` in
the data folder, or to the file that \`--config\` or \`LANGO_CONFIG\` names. [config.example.yaml](config.example.yaml) is an
example. With [config.schema.json](config.schema.json), editors complete and check the file.

- \`lango config check\` reports every error with file, line and column, and what a start would refuse or leave out.
  Unknown keys are errors.
- A key without a value counts as left out. Relative paths start at the folder of the file; \`~/\` is your home folder.
- A value can contain variables: \`\${NAME}\`, or \`\${NAME:-default}\` if the variable may be unset or empty. They are
  substituted after the file is parsed, so a value cannot add keys. A value that becomes empty counts as left out.
  \`$\${\` is an escaped \`\${\`.
- Command-line flags override \`LANGO_LOG_LEVEL\`, which overrides the file. Variables with secrets apply only to keys that
  the file leaves out.
- A secret may be in a file: \`LANGO_TOKEN_FILE=/run/secrets/token\` stands for \`LANGO_TOKEN\`, and the same goes for each
  variable below that holds a secret and for each \`\${NAME}\` in the value of a secret. A line break at the end of the
  file does not count. A file that other users can read is refused (\`server.allowRisks: [readableSecrets]\`).
- Secrets never appear in a log or in the output of a command.

## Environment variables

| variable | meaning |
|---|---|`;

/** The reference page, docs/reference/configuration.md. */
export function renderReference({ json, capabilities }: SettingsSchema): string {
  const ofCapabilities = capabilities.flatMap(({ variables = [] }) => variables);
  const variables = [...Object.values(ENV_VARIABLES), ...ofCapabilities].flatMap(({ name, description }) =>
    description === undefined ? [] : [`| \`${name}\` | ${description} |`],
  );
  const groups = Object.entries(json.properties ?? {}).map(([name, schema]) => groupText(name, schema));
  return [INTRODUCTION, ...variables, '', ...groups].join('\n');
}

function groupText(name: string, schema: KeySchema): string {
  const isGroup = schema.properties !== undefined;
  const leaves = isGroup ? leavesOf(schema, name) : leavesOf({ properties: { [name]: schema } });
  const head = isGroup ? [`## ${name}`, '', schema.description ?? '', ''] : [`## ${name}`, ''];
  const table = ['| key | value | default | meaning |', '|---|---|---|---|', ...leaves.map(rowText)];
  return [...head, ...table, ''].join('\n');
}

function rowText({ key, schema, required }: Leaf): string {
  const fallback = required ? 'required' : defaultText(schema);
  const cells = [`\`${key}\``, kindText(schema), fallback, schema.description ?? ''];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

const KIND_WORDS: Readonly<Record<string, string>> = {
  array: 'list',
  boolean: '`true`, `false`',
  integer: 'whole number',
  number: 'number',
  object: 'map',
  string: 'text',
};

function kindText(schema: KeySchema): string {
  if (schema.writeOnly) return 'secret';
  return alternatives(schema)
    .map(({ type, enum: words }) =>
      words ? words.map((word) => `\`${word}\``).join(', ') : (KIND_WORDS[type ?? ''] ?? ''),
    )
    .join(', or ');
}

function defaultText({ default: value }: KeySchema): string {
  if (value === undefined) return '';
  return `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;
}
