import { ENV_VARIABLES } from './env.js';
import type { KeySchema, Leaf } from './schema.js';
import { alternatives, leavesOf, rootSchema } from './schema.js';

const VARIABLE_SCHEMA: KeySchema & { readonly pattern: string } = { type: 'string', pattern: '\\$\\{' };

/** JSON Schema (draft 2020-12) of the configuration file: editors check and complete with it. */
export function configSchema(): Readonly<Record<string, unknown>> {
  return { ...withVariables(rootSchema()), title: 'Lango configuration' };
}

/** Wherever a single value may stand, a text with a variable in it may stand as well. */
function withVariables(schema: KeySchema): KeySchema {
  if (schema.properties !== undefined) {
    const properties = Object.entries(schema.properties).map(([name, child]) => [name, withVariables(child)]);
    return { ...schema, properties: Object.fromEntries(properties) as Record<string, KeySchema> };
  }
  const { description, default: fallback, writeOnly, ...check } = schema;
  const checks = (check.anyOf ?? [check]).map((one) =>
    one.items === undefined ? one : { ...one, items: withVariables(one.items) },
  );
  return {
    ...(description === undefined ? {} : { description }),
    ...(fallback === undefined ? {} : { default: fallback }),
    ...(writeOnly === undefined ? {} : { writeOnly }),
    anyOf: checks.every(({ type }) => type === 'array') ? checks : [...checks, VARIABLE_SCHEMA],
  };
}

const INTRODUCTION = `# Configuration

<!-- Generated from the schema by \`npm run schema\`. Do not edit. -->

Everything has a default: without any file the server starts. What differs is written in one YAML file, \`config.yaml\`
in the data folder, or the file that \`--config\` or \`LANGO_CONFIG\` names. [config.example.yaml](config.example.yaml)
shows one, [config.schema.json](config.schema.json) makes editors complete and check it.

- \`lango config check\` reports everything that is wrong, each with file, line and column. Unknown keys are refused.
- A key with nothing behind it counts as left out. Relative paths start at the file's folder; \`~/\` is your home.
- A value can hold variables: \`\${NAME}\`, or \`\${NAME:-default}\` where it may be unset or empty. They are put in after the file
  was parsed, so a value cannot add keys. A value that comes out empty counts as left out. \`$\${\` stands for a plain \`\${\`.
- Flags win over \`LANGO_LOG_LEVEL\`, which wins over the file; variables that hold a secret fill what the file leaves out.
- Secrets never show in a log or in the output of a command.

## Environment variables

| variable | meaning |
|---|---|`;

/** The reference page, docs/reference/configuration.md. */
export function renderReference(): string {
  const variables = Object.values(ENV_VARIABLES).map(
    ({ name, description }) => `| \`${name}\` | ${description} |`,
  );
  const groups = Object.entries(rootSchema().properties ?? {}).map(([name, schema]) =>
    groupText(name, schema),
  );
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
  const cells = [
    `\`${key}\``,
    kindText(schema),
    required ? 'required' : defaultText(schema),
    schema.description ?? '',
  ];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

const KIND_WORDS: Readonly<Record<string, string>> = {
  array: 'list',
  boolean: '`true`, `false`',
  integer: 'whole number',
  number: 'number',
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
