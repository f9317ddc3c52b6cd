interface Schema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

const INTRODUCTION = `# Cases of evaluations

<!-- Generated from the schema by \`npm run schema\`. Do not edit. -->

\`lango eval PATH\` reads files of cases: one YAML file, or all below a folder ([the guide](../guides/evaluate.md)). With
[evaluations.schema.json](evaluations.schema.json), editors complete and check them. Paths in a file are relative to it.

`;

/** Writes the page about files of cases: a table of the keys of the file, of a case and of an expectation. */
export function renderCaseReference(given: object): string {
  const file = given as Schema;
  const one = file.properties!['cases']!.items!;
  const tables = [
    ['The file', file],
    ['A case', one],
    ['An expectation', one.properties!['expect']!.items!],
  ] as const;
  return INTRODUCTION + tables.map(([title, schema]) => tableOf(title, schema)).join('\n');
}

function tableOf(title: string, { properties = {}, required = [] }: Schema): string {
  const rows = Object.entries(properties).map(([name, schema]) => {
    const must = required.includes(name) ? ' **Required.**' : '';
    return `| \`${name}\` | ${typeOf(schema)} | ${schema.description ?? ''}${must} |`;
  });
  return [`## ${title}`, '', '| key | value | meaning |', '|---|---|---|', ...rows, ''].join('\n');
}

function typeOf(schema: Schema): string {
  if (schema.enum) return schema.enum.map((each) => `\`${String(each)}\``).join(', ');
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(' or ');
  if (schema.type === 'array') return `list of ${typeOf(schema.items ?? {})}`;
  return WORDS[String(schema.type)] ?? String(schema.type);
}

const WORDS: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'whole number',
  boolean: '`true` or `false`',
  object: 'keys',
};
