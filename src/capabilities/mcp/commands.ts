import type { CommandCall, Report, Terminal } from '../../core/command.js';
import type { SettingsContext } from '../../core/capability.js';
import { LangoError } from '../../core/errors.js';
import { parseObject, type JsonObject } from '../../core/json.js';
import { counted } from '../../core/text.js';
import { EXIT, usageError } from '../../terminal/exit.js';
import { terminalLines } from '../../terminal/input.js';
import { safeLine } from '../../terminal/safe-text.js';
import { openServers } from './opening.js';
import type { McpServer } from './server.js';
import type { MCP_SETTINGS } from './settings.js';
import { signInFinding } from './sign-in-finding.js';

export type McpCall<Flags = object> = CommandCall<SettingsContext<typeof MCP_SETTINGS>, Flags>;
type Servers = ReadonlyMap<string, McpServer>;
type Context = SettingsContext<typeof MCP_SETTINGS>;
type Tool = McpServer['offers'][number];

const DESCRIPTION_CHARACTERS = 100;

/** `lango mcp list`: asks each server for its tools, and says which of them agents get. */
export async function listServers(call: McpCall): Promise<Report> {
  return withServers(call, async (servers, { settings }) => {
    call.terminal.progress.start('asking');
    const list = await Promise.all(
      [...servers].map(async ([name, server]) => {
        if (settings['mcp.servers'][name]?.login)
          return { name, ...(await signInFinding(name, call.withOwner)), tools: [] };
        await server.start();
        return { name, ...server.finding(), tools: server.offers };
      }),
    );
    call.terminal.progress.stop();
    const isWell = list.every(({ state }) => state === 'ok');
    const none = 'There are no MCP servers. Name them in mcp.servers; see docs/guides/use-mcp.md.';
    return {
      json: { servers: list.map(({ subject: _, ...server }) => server) },
      lines:
        list.length === 0
          ? [none]
          : list.flatMap(({ name, text, hint, tools }) => [
              `${call.terminal.paint.bold(name)}: ${safeLine(text)}`,
              ...(hint === undefined ? [] : [`  ${call.terminal.typed(safeLine(hint))}`]),
              ...tools.map((tool) => lineOf(tool, call.terminal)),
            ]),
      exitCode: isWell ? EXIT.ok : EXIT.failure,
    };
  });
}

/** `lango mcp try`: calls a tool of a server as a person, and shows its answer. */
export async function tryTool(
  call: McpCall,
  name: string,
  [tool = '', given]: readonly string[],
): Promise<Report> {
  const input = readArguments(given);
  return withServers(call, async (servers) => {
    const server = requireServer(servers, name);
    const stop = new AbortController();
    process.once('SIGINT', () => stop.abort(new LangoError('canceled', 'The call was given up.')));
    const progress = (text: string) => call.terminal.note(safeLine(text));
    let answered: Answered | undefined;
    for (;;) {
      const context = { signal: stop.signal, progress, ...(answered && { answered }) };
      const end = await server.call(tool, input, context);
      if ('result' in end) return resultReport(end.result);
      const { questions, state } = end.asks;
      if (!call.terminal.canAsk) return unansweredReport(questions);
      const answers = [];
      for (const question of questions) answers.push(await askFor(question, call.terminal));
      answered = { answers, state };
    }
  });
}

type CallEnd = Awaited<ReturnType<McpServer['call']>>;
type Answered = NonNullable<Parameters<McpServer['call']>[2]['answered']>;

/** Shows what a server asks, and reads lines up to an empty one. Resolves with undefined when there are none. */
async function askFor(question: string, { note }: Terminal): Promise<Answered['answers'][number]> {
  question.split('\n').forEach((line) => note(safeLine(line)));
  note('An empty line ends your reply.');
  const lines: string[] = [];
  for await (const { text } of terminalLines('> ')) {
    if (text.trim() === '') break;
    lines.push(text);
  }
  return lines.length === 0 ? undefined : { decision: 'approve', text: lines.join('\n') };
}

function unansweredReport(questions: readonly string[]): Report {
  const hint =
    'Run this on a terminal to answer, or ask an agent to make the call: the question then comes to you.';
  const lines = questions.flatMap((question) => question.split('\n'));
  return {
    json: { questions },
    lines: [...lines.map((line) => safeLine(line)), hint],
    exitCode: EXIT.failure,
  };
}

function resultReport(result: Extract<CallEnd, { readonly result: unknown }>['result']): Report {
  const texts = result.content.map((block) => (block.type === 'text' ? block.text : `[${block.type}]`));
  return {
    json: result,
    lines: texts
      .join('\n')
      .split('\n')
      .map((line) => safeLine(line)),
    exitCode: result.isError === true ? EXIT.failure : EXIT.ok,
  };
}

/** `lango mcp accept`: accepts the changed tools of a server; a running server offers them from the next request on. */
export async function acceptTools(call: McpCall, name: string): Promise<Report> {
  return withServers(call, async (servers) => {
    const accepted = await requireServer(servers, name).accept();
    const none = `Nothing of the MCP server ${name} is held back.`;
    const done = `Accepted ${counted(accepted.length, 'tool')} of the MCP server ${name}: ${accepted.join(', ')}.`;
    return { json: { accepted }, lines: [accepted.length === 0 ? none : safeLine(done)] };
  });
}

async function withServers(
  call: McpCall,
  use: (servers: Servers, context: Context) => Promise<Report>,
): Promise<Report> {
  const context = await call.readSettings();
  const mcp = await openServers(context);
  try {
    return await use(mcp.servers, context);
  } finally {
    await mcp.close();
  }
}

function requireServer(servers: Servers, name: string): McpServer {
  const server = servers.get(name);
  if (server) return server;
  const known = [...servers.keys()].join(', ') || 'none';
  throw usageError(`There is no MCP server ${name} in the configuration.`, `There are: ${known}.`);
}

function readArguments(given = '{}'): JsonObject {
  const value = parseObject(given);
  if (value) return value;
  throw usageError(
    'The arguments must be one JSON object.',
    `As in: lango mcp try NAME TOOL '{"path": "a.txt"}'`,
  );
}

function lineOf({ name, tool, state, reason, danger, description }: Tool, { paint }: Terminal): string {
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
