import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { packageRoot } from '../../src/config/package-root.js';

/**
 * Runs test/interop with the frameworks that `.ci/frameworks FOLDER all` installed (LANGO_TEST_FRAMEWORKS=FOLDER), and
 * writes docs/reference/interop.md from the results. `npm run interop mcp` does so for the section on MCP alone.
 */

/** One line of the results: a cell of the tables. */
interface Result {
  readonly peer: string;
  readonly peerVersion: string;
  readonly role: string;
  readonly transport: string;
  readonly version: string;
  readonly operation: string;
  readonly works?: true;
  readonly why?: string;
}

const TODAY = new Date().toISOString().slice(0, 10);
const HEAD = `# Interoperability

<!-- Written by \`npm run interop\`. Do not edit. -->

The tests in \`test/interop\` run Lango against the official SDKs of other languages, and against the contracts of
a2a-proof, which are tests for agents. Each cell of these tables is a test of the run of ${TODAY}. A number means that it
does not work by a fault of the SDK, which stands [below](#what-does-not-work); an empty cell means that there is no such
operation.

- **card**, **extended card**: the client reads them; the orchestrator accepts the card
- **send**, **stream**: a message and its answer, as a whole and in pieces
- **ask**: the agent asks for input, and goes on with the answer
- **cancel**, **get**, **list**, **follow** (subscribe to a running task)
- **files**: in both directions, with name and media type where the version has them
- **errors**: an error arrives as the error that it is
- **push**: register a webhook, which then gets the end of the task and the token
- **auth**: a bearer token, sent as the card declares it; without it the call is refused
`;
const ROLES = {
  client: ['As clients of Lango', 'The SDK calls an agent of Lango.'],
  'remote agent': [
    'As remote agents of Lango',
    'The orchestrator of Lango [delegates](../guides/add-remote-agents.md) to an agent behind the SDK.',
  ],
} as const;
const FRAMEWORKS = `## Frameworks

Each has [a recipe](../guides/agents-of-other-frameworks.md), which the tests run as it stands there, with a scripted
model. An empty cell has its reason [below](#what-does-not-work).

- **send**: a request and its answer; **stream**: the answer comes in pieces; **two at once**: each gets its own answer
- **ask**: the agent asks, a person's answer goes back, and the agent goes on with it
- **approve**: as a sub-agent of Lango, a call of the agent is approved and another denied; with Lango as its sub-agent,
  a call of Lango's operator waits: the framework's agent says so with the code of the call, and the call is not made
- **follow-up**: a second request in the same conversation, which the agent remembers
- **get**, **list**: a task that has ended; **unknown task**: a task that there is not is the error that it should be
- **file in**, **file out**: to the agent and from it
- **errors**: the other side is told that the agent failed, and says so
- **auth**: Lango sends the token of its entry; the framework sends a wrong one, and says that the call failed
- **cancel**: a task of Lango that waits for the agent ends as canceled, and the next request works

LangChain4j has no recipe, as its agents call Lango from Java: its address is \`a2aBuilder(url)\`.

As a sub-agent of Lango no webhook is tried: Lango follows its sub-agents by streams and polls, and asks for none. Of
the frameworks' clients, only that of AG2 has calls for cancel and list.

These faults and forms of theirs are worked around. Lango answers the long-running calls and tool confirmations of ADK
and the interrupts of Strands in the form that each asks for. It reads the events of LangGraph's 1.0 streams and its files,
which are those of 0.3, writes files to it in that form, and shows the question of its interrupts, which comes as an
artifact. CrewAI shows its model no artifacts, for which its recipe has a setting. A client of Java's library gets the text
of a task without artifacts as one too, because LangChain4j reads nothing else. An agent that takes JSON takes the JSON
type of AG2, in which its client sends what was said before. A file goes as its text, in one
part with the request, to an agent whose card takes texts alone, as the cards of ADK (JavaScript) and VoltAgent do. Lango
reads the card of Strands (JavaScript), which says 0.2, as one of 0.3, the events of VoltAgent without \`kind\`, and its
answer, which is a status message that grows; it answers the suspended calls of Mastra in their form.
`;
const RECIPES = ['as a sub-agent of Lango', 'with Lango as its sub-agent'];
const MCP = `## MCP

@modelcontextprotocol/conformance VERSION is the conformance tool of the MCP project. It runs what each version of MCP
requires of a server and of a client, and further scenarios that it does not count. Each of them either works or does
not apply.

- As a **server**, Lango publishes agents that stand for the tools of the scenarios, at \`/mcp\` with a bearer token. What
  calls them gives each a message too, because a scenario calls its tool without arguments.
- As a **client**, a server of Lango has the scenario's server as one of its [MCP servers](../guides/use-mcp.md). A person
  signs in with \`lango mcp login\`, sets what a refusal names, and says yes to questions; an agent calls the tools.
- The **Inspector** of the MCP project, INSPECTOR, calls an agent too, over HTTP and through \`lango mcp serve\`.
`;
/** The columns of the tables, in their order. */
const OPERATIONS = [
  ...[
    'card',
    'extended card',
    'send',
    'stream',
    'two at once',
    'ask',
    'approve',
    'follow-up',
    'cancel',
    'get',
    'list',
  ],
  ...['follow', 'files', 'file in', 'file out', 'errors', 'unknown task', 'push', 'auth'],
];
const TRANSPORTS: Readonly<Record<string, string>> = { JSONRPC: 'JSON-RPC', GRPC: 'gRPC' };

const PAGE = join(packageRoot(), 'docs/reference/interop.md');
const MCP_SECTION = /^## MCP\n[^]*?(?=^## )/m;
const isMcpOnly = process.argv[2] === 'mcp';

const folder = mkdtempSync(join(tmpdir(), 'lango-interop-'));
const file = join(folder, 'results');
const jest = join(packageRoot(), 'node_modules', 'jest', 'bin', 'jest.js');
const { status } = spawnSync(
  process.execPath,
  [
    '--no-warnings',
    jest,
    ...(isMcpOnly
      ? []
      : ['test/interop/sdks', 'test/interop/recipes', 'test/interop/langchain4j', 'test/interop/a2a-proof']),
    'test/interop/mcp-',
    '--runInBand',
  ],
  { stdio: 'inherit', env: { ...process.env, LANGO_INTEROP_RESULTS: file } },
);
if (status === 0) {
  const results = readResults();
  const page = isMcpOnly
    ? readFileSync(PAGE, 'utf8').replace(MCP_SECTION, () => `${mcpOf(results)}\n`)
    : pageOf(results);
  writeFileSync(PAGE, page);
}
rmSync(folder, { recursive: true });
process.exitCode = status ?? 1;

function readResults(): readonly Result[] {
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line) as Result);
}

function pageOf(all: readonly Result[]): string {
  // Jest decides the order of the files. Within a peer, the order is that of its tests.
  const results = all
    .filter(({ peer }) => peer !== 'MCP')
    .toSorted((one, other) => one.peer.localeCompare(other.peer, 'en'));
  const faults = [...new Set(results.flatMap(({ peer, why }) => (why ? [`${peer}: ${why}`] : [])))];
  const tables = Object.entries(ROLES).map(([role, [title, text]]) => {
    const own = results.filter((result) => result.role === role);
    return `## ${title}\n\n${text}\n\n${tableOf(own, faults)}\n`;
  });
  const notes = faults.map((fault, at) => `${at + 1}. ${fault}`).join('\n');
  return [
    HEAD,
    ...tables,
    FRAMEWORKS,
    frameworksOf(results, faults),
    mcpOf(all),
    `## What does not work\n\n${notes}\n`,
  ].join('\n');
}

function frameworksOf(results: readonly Result[], faults: readonly string[]): string {
  return RECIPES.map((role) => {
    const own = results.filter((result) => result.role === role);
    return `### ${role[0]!.toUpperCase()}${role.slice(1)}\n\n${tableOf(own, faults, 'framework')}\n`;
  }).join('\n');
}

function mcpOf(results: readonly Result[]): string {
  const frameworks = readFileSync(join(packageRoot(), '.ci/frameworks'), 'utf8');
  const [conformance, inspector] = ['conformance', 'inspector'].map(
    (name) => new RegExp(`@modelcontextprotocol/${name}@(\\S+)`).exec(frameworks)?.[1] ?? '',
  );
  const parts = ['server', 'client'].map((role) => {
    const own = results.filter((result) => result.role === `conformance ${role}`);
    const versions = [...new Set(own.map(({ version }) => version))].sort();
    const whys = [...new Set(own.flatMap(({ why }) => why ?? []))];
    const rows = [...new Set(own.map(({ operation }) => operation))].sort().map((operation) => {
      const cells = versions.map((version) => {
        const cell = own.filter((one) => one.operation === operation && one.version === version);
        const without = cell.flatMap(({ why }) => (why === undefined ? [] : [letterOf(whys.indexOf(why))]));
        return [...(cell.some(({ works }) => works) ? ['yes'] : []), ...without].join(', but ');
      });
      return `| ${operation} | ${cells.join(' | ')} |`;
    });
    const table = [
      `| scenario | ${versions.join(' | ')} |`,
      `|${'---|'.repeat(versions.length + 1)}`,
      ...rows,
    ];
    const reasons = whys.map((why, at) => `- **${letterOf(at)}**: ${why}`).join('\n');
    const head = `### Conformance as a ${role}\n\nA letter says why a scenario, or a part of it, does not apply.`;
    return [head, table.join('\n'), reasons].join('\n\n');
  });
  const head = MCP.replace('VERSION', conformance!).replace('INSPECTOR', inspector!);
  return `${[head.trimEnd(), ...parts].join('\n\n')}\n`;
}

function letterOf(index: number): string {
  return String.fromCharCode('a'.charCodeAt(0) + index);
}

function tableOf(results: readonly Result[], faults: readonly string[], kind = 'SDK'): string {
  const operations = OPERATIONS.filter((name) => results.some(({ operation }) => operation === name));
  const isSdk = kind === 'SDK';
  const rowOf = ({ peer, peerVersion, transport, version }: Result): string =>
    [`${peer} ${peerVersion}`, ...(isSdk ? [TRANSPORTS[transport] ?? transport, version] : [])].join(' | ');
  const rows = [...new Set(results.map(rowOf))].map((row) => {
    const cells = operations.map((operation) => {
      const result = results.find((one) => one.operation === operation && rowOf(one) === row);
      if (!result) return '';
      return result.works ? 'yes' : String(faults.indexOf(`${result.peer}: ${result.why}`) + 1);
    });
    return `| ${row} | ${cells.join(' | ')} |`;
  });
  const columns = [kind, ...(isSdk ? ['transport', 'A2A'] : []), ...operations];
  return [`| ${columns.join(' | ')} |`, `|${'---|'.repeat(columns.length)}`, ...rows].join('\n');
}
