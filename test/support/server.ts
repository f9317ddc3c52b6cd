import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TaskView } from '../../src/a2a/client/client.js';
import { newId } from '../../src/core/ids.js';
import { isTerminal } from '../../src/core/task.js';
import type {
  AgentClient,
  Reply,
  AppAddress,
  ClientEvent,
  SendRequest,
  ServerOptions,
} from '../../src/index.js';
import { replyPart, connect, createServer, textPart } from '../../src/index.js';
import { putDatabase } from './made-database.js';
import { RecordingLogger } from './recording-logger.js';

/** A whole server, created by `createServer`, on a free port and in a folder of its own. */
export interface TestServer {
  readonly address: AppAddress;
  readonly client: AgentClient;
  readonly home: string;
  readonly log: RecordingLogger;
  /** The server's response to a request with its token. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
  /** Reloads as SIGHUP does; the settings are completed as at the start. */
  reload(settings?: Settings): Promise<void>;
  stop(): Promise<void>;
}

type Settings = NonNullable<ServerOptions['settings']>;

const BARE: Settings = {
  server: { port: 0 },
  tools: {
    fs: { enabled: false },
    exec: { enabled: false },
    browser: { enabled: false },
    http: { enabled: false },
    secrets: { enabled: false },
    crypto: { enabled: false },
    knowledge: { enabled: false },
    search: { enabled: false },
    skills: { enabled: false },
    memory: { enabled: false },
  },
  graph: { enabled: false },
};

interface StartOptions extends ServerOptions {
  /**
   * Whether the start waits until the cards of the remote agents were requested. Default: true, as a busy machine is
   * slow.
   */
  readonly waitsForPeers?: boolean;
}

export async function startServer({
  waitsForPeers = true,
  ...options
}: StartOptions = {}): Promise<TestServer> {
  const home = options.home ?? (await makeHome(options));
  const log = new RecordingLogger();
  const server = createServer({ ...options, home, settings: withoutTools(options.settings), logger: log });
  const address = await server.start();
  const { enabled, remoteAgents = [] } = options.settings?.a2a ?? {};
  if (enabled && waitsForPeers)
    await log.sayingTimes(/"info"[^}]*agent joined|agent skipped/, remoteAgents.length);
  const { origin, token } = address;
  return {
    address,
    home,
    log,
    client: connect({ url: origin, ...(token ? { token } : {}) }),
    fetch: (where, init = {}) =>
      fetch(`${origin}${where}`, {
        ...init,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...init.headers },
      }),
    reload: (settings) => server.reload(settings && withoutTools(settings)),
    async stop() {
      await server.stop();
      if (!options.home) await rm(home, { recursive: true, force: true });
    },
  };
}

async function makeHome(options: ServerOptions): Promise<string> {
  const home = await mkdtemp(path.join(placeOfHome(options), 'lango-test-'));
  if (!options.settings?.storage) await putDatabase(home);
  return home;
}

/** The sandbox of commands, browsers and MCP servers takes no folder of the system, such as one in memory. */
function placeOfHome({ settings: { tools = {}, mcp } = {} }: ServerOptions): string {
  const mayUseSandbox = tools.exec ?? tools.browser ?? mcp;
  return (!mayUseSandbox && process.env['LANGO_TEST_HOMES']) || tmpdir();
}

/** Settings without shipped tools and without a sandbox, except for those that the test asks for. */
export function withoutTools(settings: Settings = {}): Settings {
  return { ...BARE, ...settings, tools: { ...BARE.tools, ...settings.tools } };
}

/** Starts a server for one test and stops it afterwards. */
export async function withServer(
  options: ServerOptions,
  use: (server: TestServer) => Promise<void>,
): Promise<void> {
  const server = await startServer(options);
  try {
    await use(server);
  } finally {
    await server.stop();
  }
}

export interface Outcome {
  readonly events: readonly ClientEvent[];
  readonly end: Extract<ClientEvent, { readonly type: 'end' }>;
  readonly taskId: string;
}

export interface Sending {
  readonly agent?: string;
  readonly contextId?: string;
  readonly taskId?: string;
}

/** Sends a text over HTTP and collects the events until the end. */
export async function sendText(server: TestServer, text: string, sending: Sending = {}): Promise<Outcome> {
  return sendParts(server, { parts: [textPart(text)], ...sending });
}

/** Replies to the first question of a waiting task with a decision. */
export async function decide(
  server: TestServer,
  asked: Outcome,
  { agent, ...word }: Omit<Reply, 'hash'> & Pick<Sending, 'agent'>,
): Promise<Outcome> {
  const { hash } = asked.end.questions[0]!;
  const parts = [replyPart({ hash, ...word })];
  return sendParts(server, { parts, taskId: asked.taskId, ...(agent && { agent }) });
}

/** Sends a message over HTTP and collects the events until the end. */
export async function sendParts(server: TestServer, request: SendRequest): Promise<Outcome> {
  const events: ClientEvent[] = [];
  for await (const event of server.client.send(request, AbortSignal.timeout(100_000))) events.push(event);
  const end = events.at(-1);
  const task = events.find((event) => event.type === 'task');
  if (end?.type !== 'end') throw new Error('the stream had no end');
  return { events, end, taskId: task?.taskId ?? request.taskId ?? '' };
}

/** Begins a task that nobody waits for. Returns its id. */
export async function beginTask(server: TestServer, text: string): Promise<string> {
  const body = {
    message: { messageId: newId(), role: 'ROLE_USER', parts: [{ text }] },
    configuration: { returnImmediately: true },
  };
  const answer = await server.fetch('/message:send', { method: 'POST', body: JSON.stringify(body) });
  return ((await answer.json()) as { task: { id: string } }).task.id;
}

/** Resolves with a task once it has ended, without a client that follows it. */
export async function untilEnded(server: TestServer, taskId: string): Promise<TaskView> {
  for (let round = 0; round < 1_000; round += 1) {
    const task = await server.client.get({ taskId });
    if (isTerminal(task.state)) return task;
    await sleep(100);
  }
  throw new Error(`task ${taskId} did not end`);
}

/** The visible activities of agents, as "author: type detail". */
export function doings({ events }: Outcome): readonly string[] {
  return events.flatMap((event) => {
    if (event.type !== 'activity' || event.activity.type === 'turn-start') return [];
    const { activity } = event;
    const detail =
      'tool' in activity
        ? activity.tool
        : 'agent' in activity
          ? activity.agent
          : JSON.stringify(activity.text);
    return [`${event.author}: ${activity.type} ${detail}`];
  });
}
