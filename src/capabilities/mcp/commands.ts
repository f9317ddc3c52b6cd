import type { CommandCall, Report, Terminal } from '../../core/command.js';
import type { Diagnosis, DiagnosisContext, SettingsContext } from '../../core/capability.js';
import { LangoError } from '../../core/errors.js';
import { parseObject, type JsonObject } from '../../core/json.js';
import { counted } from '../../core/text.js';
import type { NodeFinding } from '../../core/tool-family.js';
import { VAULT_OPERATIONS } from '../../core/vault-operations.js';
import { EXIT, usageError } from '../../terminal/exit.js';
import { terminalLines } from '../../terminal/input.js';
import { safeLine } from '../../terminal/safe-text.js';
import type { CallContext } from './calls.js';
import type { CallToolResult } from './connection.js';
import { signInName } from './kept-sign-in.js';
import { openServers } from './opening.js';
import type { McpServer, OfferedTool } from './server.js';
import type { MCP_SETTINGS } from './settings.js';

export type McpCall<Flags = object> = CommandCall<SettingsContext<typeof MCP_SETTINGS>, Flags>;

const DESCRIPTION_CHARACTERS = 100;

/** `lango mcp list`: asks each server for its tools, and says which of them agents get. */
export async function listServers(call: McpCall): Promise<Report> {
  const { progress, paint, typed } = call.terminal;
  const { withOwner } = call;
  const context = await call.readSettings();
  await using mcp = openServers(context);
  progress.start('asking');
  const list = await Promise.all(
    [...mcp.servers].map(async ([name, server]) => {
      const { subject: _, ...finding } = await findingOf(server, { ...context, withOwner });
      return { name, ...finding, tools: server.offers };
    }),
  );
  progress.stop();
  const none = 'There are no MCP servers. Name them in mcp.servers; see docs/guides/use-mcp.md.';
  const lines = list.flatMap(({ name, text, hint, tools }) => [
    `${paint.bold(name)}: ${safeLine(text)}`,
    ...(hint === undefined ? [] : [`  ${typed(safeLine(hint))}`]),
    ...tools.map((tool) => lineOf(tool, call.terminal)),
  ]);
  return {
    json: { servers: list },
    lines: list.length === 0 ? [none] : lines,
    exitCode: list.every(({ state }) => state === 'ok') ? EXIT.ok : EXIT.failure,
  };
}

/** The rows of `lango doctor` about the servers. */
export async function diagnoseServers(
  context: DiagnosisContext<typeof MCP_SETTINGS>,
): Promise<readonly Diagnosis[]> {
  await using mcp = openServers(context);
  const findings = await Promise.all([...mcp.servers.values()].map((server) => findingOf(server, context)));
  return findings.map((one) => ({ ...one, replaces: 'mcp' }));
}

/** Reaches a server. Where people sign in, only says whether this person is signed in: the node uses the sign-in. */
async function findingOf(
  server: McpServer,
  { settings, withOwner }: Pick<DiagnosisContext<typeof MCP_SETTINGS>, 'settings' | 'withOwner'>,
): Promise<NodeFinding> {
  const { name } = server;
  if (!settings['mcp.servers'][name]?.login) {
    await server.start();
    return server.finding();
  }
  const subject = `mcp ${name}`;
  const { secrets } = await withOwner(VAULT_OPERATIONS, (owner) => owner.listSecrets({}));
  const kept = secrets.find((secret) => secret.name === signInName(name));
  if (!kept) {
    const hint = `Run: lango mcp login ${name}`;
    return { code: 'mcp-login', subject, state: 'warn', text: 'you are not signed in', hint };
  }
  const since = new Date(kept.updatedAt).toISOString().slice(0, 10);
  return { code: 'mcp', subject, state: 'ok', text: `you are signed in (${since})` };
}

/** `lango mcp try`: calls a tool of a server as a person, and shows its result. */
export async function tryTool(
  call: McpCall,
  name: string,
  [tool = '', given]: readonly string[],
): Promise<Report> {
  const input = readArguments(given);
  await using mcp = openServers(await call.readSettings());
  const { calls } = requireServer(mcp.servers, name);
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort(new LangoError('canceled', 'The call was given up.')));
  const progress = (text: string) => call.terminal.note(safeLine(text));
  let replied: Replied | undefined;
  for (;;) {
    const end = await calls.call(tool, input, { signal: stop.signal, progress, replied });
    if ('result' in end) return resultReport(end.result);
    const { questions, state } = end.asks;
    if (!call.terminal.canAsk) return questionsReport(questions);
    const replies = [];
    for (const question of questions) replies.push(await askFor(question, call.terminal));
    replied = { replies: replies, state };
  }
}

type Replied = NonNullable<CallContext['replied']>;

/** Shows what a server asks, and reads lines up to an empty one. Resolves with undefined when there are none. */
async function askFor(question: string, { note }: Terminal): Promise<Replied['replies'][number]> {
  question.split('\n').forEach((line) => note(safeLine(line)));
  note('An empty line ends your reply.');
  const lines: string[] = [];
  for await (const { text } of terminalLines('> ')) {
    if (text.trim() === '') break;
    lines.push(text);
  }
  return lines.length === 0 ? undefined : { decision: 'approve', text: lines.join('\n') };
}

function questionsReport(questions: readonly string[]): Report {
  const hint =
    'Run this on a terminal to reply, or ask an agent to make the call: the question then comes to you.';
  const lines = questions.flatMap((question) => question.split('\n').map((line) => safeLine(line)));
  return { json: { questions }, lines: [...lines, hint], exitCode: EXIT.failure };
}

function resultReport(result: CallToolResult): Report {
  const texts = result.content.map((block) => (block.type === 'text' ? block.text : `[${block.type}]`));
  const lines = texts.flatMap((text) => text.split('\n').map((line) => safeLine(line)));
  return { json: result, lines, exitCode: result.isError === true ? EXIT.failure : EXIT.ok };
}

/** `lango mcp accept`: accepts the changed tools of a server; a running server offers them from the next request on. */
export async function acceptTools(call: McpCall, name: string): Promise<Report> {
  await using mcp = openServers(await call.readSettings());
  const accepted = await requireServer(mcp.servers, name).accept();
  const none = `Nothing of the MCP server ${name} is held back.`;
  const done = `Accepted ${counted(accepted.length, 'tool')} of the MCP server ${name}: ${accepted.join(', ')}.`;
  return { json: { accepted }, lines: [accepted.length === 0 ? none : safeLine(done)] };
}

function requireServer(servers: ReadonlyMap<string, McpServer>, name: string): McpServer {
  const server = servers.get(name);
  if (server) return server;
  const known = [...servers.keys()].join(', ') || 'none';
  throw usageError(`There is no MCP server ${name} in the configuration.`, `There are: ${known}.`);
}

function readArguments(given = '{}'): JsonObject {
  const value = parseObject(given);
  if (value) return value;
  const hint = `As in: lango mcp try NAME TOOL '{"path": "a.txt"}'`;
  throw usageError('The arguments must be one JSON object.', hint);
}

function lineOf(
  { name, tool, state, reason, danger, description }: OfferedTool,
  { paint }: Terminal,
): string {
  const about = safeLine(description, DESCRIPTION_CHARACTERS);
  switch (state) {
    case 'offered':
      return `  ${paint.green(name)}  ${danger === 'dangerous' ? 'asks first' : 'read-only '}  ${about}`;
    case 'changed':
      return `  ${paint.yellow(name)}  changed, held back: ${about}`;
    case 'excluded':
      return paint.dim(`  ${safeLine(tool)}  excluded`);
    case 'unusable':
      return `  ${paint.red(safeLine(tool))}  left out: ${safeLine(reason ?? '')}`;
  }
}
