import { CAPABILITIES } from '../src/capabilities/index.js';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageRoot } from '../src/config/package-root.js';
import type { ModelProvider, ModelRequest } from '../src/index.js';
import { connect, createServer, textPart } from '../src/index.js';
import { createTable, PLAN, TRANSFER } from '../src/models/offline/request.js';

/**
 * Writes docs/reference/tools.md from the tools that a server with every tool switched on offers to a model. With
 * --check it writes nothing, and exits with 1 when the page differs.
 */
const page = join(packageRoot(), 'docs/reference/tools.md');

type FunctionSpec = ModelRequest['functions'][number];
interface Schema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly description?: string;
}

/** The heading of a family, the agent of the standard roster that owns it, and how the names of its tools begin. */
const FAMILIES = [
  ['Files', 'operator', 'fs_'],
  ['Commands', 'operator', 'exec'],
  ['Requests to services', 'operator', 'http_'],
  ['Browser', 'navigator', 'browser_'],
  ['Knowledge and search', 'librarian', 'save_', 'search_', 'rag_'],
  ['Knowledge graph', 'librarian', 'graph_'],
  ['Skills', 'librarian', 'create_skill', 'import_skill', 'list_skills'],
  ['Memory', 'chronicler', 'memory_', 'observe_', 'reflect_'],
  ['Secrets', 'vault', 'secrets_'],
  ['Cryptography', 'vault', 'crypto_'],
  ['Payments', 'vault', 'payment_'],
  ['Questions', 'agent that asks', 'ask_user'],
] as const;

const HEAD = `# Tools

<!-- Written by \`npm run tools\`. Do not edit. -->

This page lists the tools of the agents, with the arguments that models are offered. You do not call tools
yourself: you ask an agent in plain words. \`npx lango doctor\` says which tools are there, and what the others need.

## Calls that wait for a person

With the default \`approval.policy\` these calls wait for [approval](../concepts.md#approval):

- \`exec\`, and \`exec_background\` with the action \`start\`, when there is no sandbox or a secret in the command;
- \`http_request\` with another method than \`GET\`;
- \`fs_delete\` with \`recursive\`;
- \`secrets_delete\`, and \`secrets_store\` with \`replace\`;
- \`payment_send\`, and \`payment_x402_fetch\` with \`payTo\`.

## Sentences of the offline model

Without a vendor's key the offline model answers. It understands the sentences below each tool, and these:

${[PLAN, TRANSFER, '{tool}', 'skill_{name}'].map(sentencesOf).join('\n')}

In place of \`{word}\` you write one word or a quotation, in place of \`{words...}\` any number of words. Join sentences with
"and then". The offline model refuses every other request and says so.
`;

/** Settings that switch every tool on. The services named here are never called. */
const EVERYTHING = {
  server: { port: 0 },
  agent: { multiAgent: false },
  tools: { browser: { executable: process.execPath, searchUrl: 'https://search.example/?q={query}' } },
  embedding: { provider: 'openai', apiKey: 'none' },
  webSearch: { provider: 'searxng', baseUrl: 'https://search.example' },
  observationalMemory: { enabled: true },
  payment: { enabled: true },
} as const;

await main();

async function main(): Promise<void> {
  const text = renderPage(await offeredFunctions());
  if (!process.argv.includes('--check')) {
    await writeFile(page, text);
    console.log(`wrote ${page}`);
  } else if ((await readFile(page, 'utf8').catch(() => '')) !== text) {
    console.error('The tools differ from docs/reference/tools.md: run npm run tools.');
    process.exitCode = 1;
  }
}

/** The functions that the model of a single agent with every tool is offered. Nothing is called. */
async function offeredFunctions(): Promise<readonly FunctionSpec[]> {
  let functions: readonly FunctionSpec[] = [];
  const model: ModelProvider = {
    id: 'listener',
    async *stream(request) {
      functions = request.functions;
      const usage = { input: 0, output: 0, cached: 0 };
      yield { type: 'end', answer: { content: [{ type: 'text', text: '-' }], stopReason: 'end', usage } };
    },
  };
  const home = await mkdtemp(join(tmpdir(), 'lango-tools-'));
  const server = createServer({ home, model, settings: EVERYTHING });
  try {
    const { origin, token } = await server.start();
    const client = connect({ url: origin, ...(token ? { token } : {}) });
    const events = client.send({ parts: [textPart('-')] }, AbortSignal.timeout(30_000));
    for await (const event of events)
      if (event.type === 'end' && event.state !== 'completed') throw new Error(event.text);
  } finally {
    await server.stop();
    await rm(home, { recursive: true });
  }
  return functions;
}

function renderPage(functions: readonly FunctionSpec[]): string {
  const missing = functions.filter(({ name }) => !FAMILIES.some((family) => isOf(name, family)));
  if (missing.length > 0) throw new Error(`No heading for ${missing.map(({ name }) => name).join(', ')}.`);
  const sections = FAMILIES.map((family) => {
    const tools = functions.filter(({ name }) => isOf(name, family));
    if (tools.length === 0) throw new Error(`${family[0]}: the server offers no such tool here.`);
    const ordered = tools.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    return `## ${family[0]}\n\nOwned by the ${family[1]}.\n\n${ordered.map(toolText).join('\n')}`;
  });
  return [HEAD, ...sections].join('\n');
}

function sentencesOf(tool: string): string {
  const sentences = CAPABILITIES.flatMap((one) => one.sentences ?? []);
  return createTable(sentences)
    .rows.flatMap(([sentence, asked]) => (asked === tool ? [`- \`${sentence}\``] : []))
    .join('\n');
}

function isOf(name: string, [, , ...prefixes]: (typeof FAMILIES)[number]): boolean {
  return prefixes.some((prefix) => name.startsWith(prefix));
}

function toolText({ name, description, parameters }: FunctionSpec): string {
  const { properties = {}, required = [] } = parameters as unknown as Schema;
  const rows = Object.entries(properties).map(([key, schema]) => {
    const cells = [
      `\`${key}\``,
      kindOf(schema),
      required.includes(key) ? 'yes' : '',
      schema.description ?? '',
    ];
    return `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`;
  });
  const table = ['| argument | value | required | meaning |', '|---|---|---|---|', ...rows, ''];
  const sentences = sentencesOf(name);
  const said = sentences === '' ? [] : ['Sentences:', '', sentences, ''];
  return [`### ${name}`, '', description, '', ...(rows.length > 0 ? table : []), ...said].join('\n');
}

function kindOf(schema: Schema): string {
  if (schema.anyOf) return schema.anyOf.map(kindOf).join(' or ');
  const words = schema.enum ?? (schema.const === undefined ? undefined : [schema.const]);
  if (words) return words.map((word) => `\`${String(word)}\``).join(', ');
  if (schema.type === 'array') return `list of ${schema.items ? kindOf(schema.items) : 'values'}`;
  return (
    { string: 'text', integer: 'whole number', boolean: '`true`, `false`' }[String(schema.type)] ??
    String(schema.type)
  );
}
