import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fromAgentExecutor } from '../../../src/a2a/server/executor-adapter.js';
import type { ServerOptions } from '../../../src/index.js';
import { TOKEN } from '../../support/a2a-node.js';
import type { Ask, Reply, WireTask } from '../../support/a2a-requests.js';
import { ask } from '../../support/a2a-requests.js';
import { startServer } from '../../support/server.js';
import { Puppet } from './puppet.js';
import type { CardReader } from './signing.js';
import { ourCards, stockSigning } from './signing.js';
import { MeetingStore, startStockProcess } from './stock-process.js';

/** One of two servers that run the same executor and are asked the same. */
export interface Side {
  readonly puppet: Puppet;
  readonly cards: CardReader;
  /** The same tasks in a second process. Ours lets no second one at its database: there it is the same again. */
  readonly elsewhere: Side;
  http(path: string, options?: Ask): Promise<Reply>;
  rpc(method: string, params?: object, options?: Ask): Promise<Reply>;
  /** How much was written to the store so far for a task, in characters of JSON. */
  written(taskId: string): Promise<number>;
  /** From here on the next two to change a task have both read it before either writes it. */
  letTwoMeet(): void;
  /** Another process takes the place of the one there was, over the same store. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

export interface SideOptions {
  /** Whether the agent sends push notifications; it does unless told otherwise. */
  readonly push?: boolean;
  /** Pause after which our streams say that they live. */
  readonly heartbeatSeconds?: number;
}

const PROFILE = { name: 'puppet', description: 'Does as it is told.', skills: [] };
const PLENTY = 1_000_000;
const SOON = { retrySeconds: 0.05, maxRetrySeconds: 0.2, textSeconds: 0.01 };

/** Our server, as anybody starts it; its webhooks may be on this machine. */
export async function openOurs({ push = true, heartbeatSeconds = 15 }: SideOptions): Promise<Side> {
  const home = await mkdtemp(path.join(tmpdir(), 'lango-beside-'));
  const puppet = new Puppet();
  const limits = { requestsPerSecond: PLENTY, requestBurst: PLENTY, heartbeatSeconds };
  const options: ServerOptions = {
    home,
    agents: [fromAgentExecutor({ executor: puppet, profile: PROFILE })],
    settings: {
      server: { port: 0, limits },
      auth: { token: TOKEN },
      egress: { allowPrivate: ['127.0.0.1'] },
      a2a: { push: { enabled: push, ...SOON } },
    },
  };
  let server = await startServer(options);
  return asked(() => `${server.address.origin}/agents/${PROFILE.name}`, {
    puppet,
    cards: ourCards(() => server.address.origin),
    written: async (taskId) => storedLength(path.join(home, 'lango.db'), taskId),
    letTwoMeet: () => {},
    async restart() {
      await server.stop();
      server = await startServer(options);
    },
    async close() {
      await server.stop();
      await rm(home, { recursive: true });
    },
  });
}

/** What the log of a task takes in our database. */
function storedLength(file: string, taskId: string): number {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const sum =
      'SELECT sum(length(body)) AS length FROM events JOIN tasks ON events.task = tasks.key WHERE id = ?';
    return Number(database.prepare(sum).get(taskId)!['length']);
  } finally {
    database.close();
  }
}

/** The stock server as its documentation builds one: express, the default handler, tasks in memory. */
export async function openStock({ push = true }: SideOptions): Promise<Side> {
  const puppet = new Puppet();
  const { reader: cards, sign } = stockSigning();
  const store = new MeetingStore();
  const start = () => startStockProcess({ puppet, store, push, sign });
  let first = await start();
  const second = await start();
  const shared: Inside = {
    puppet,
    cards,
    written: async (taskId) => store.written.get(taskId) ?? 0,
    letTwoMeet: () => store.letTwoMeet(),
    async restart() {
      await first.close();
      first = await start();
    },
    close: async () => void (await Promise.all([first.close(), second.close()])),
  };
  const elsewhere = asked(() => second.origin, shared);
  return asked(() => first.origin, { ...shared, elsewhere });
}

type Inside = Omit<Side, 'http' | 'rpc' | 'elsewhere'> & { readonly elsewhere?: Side };

/** A server at an address; without another process it is its own. */
function asked(originOf: () => string, { elsewhere, ...inside }: Inside): Side {
  const http: Side['http'] = (where, options = {}) =>
    ask({ origin: originOf() }, where, { ...options, headers: { 'A2A-Version': '1.0', ...options.headers } });
  return {
    ...inside,
    http,
    rpc: (method, params = {}, options = {}) =>
      http('/', { ...options, body: { jsonrpc: '2.0', id: 1, method, params } }),
    get elsewhere() {
      return elsewhere ?? this;
    },
  };
}

/** Parameters of a send. */
export function message(text: string, more: object = {}, configuration?: object): { message: object } {
  return {
    message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...more },
    ...(configuration ? { configuration } : {}),
  };
}

export const AT_ONCE = { returnImmediately: true };

/** The task that a message began, as it was answered at once. */
export async function begin(side: Side, text = 'begin'): Promise<WireTask> {
  return (await side.rpc('SendMessage', message(text, {}, AT_ONCE))).json.result.task;
}

export async function get(side: Side, id: string): Promise<WireTask> {
  return (await side.rpc('GetTask', { id })).json.result as unknown as WireTask;
}

/** The task once it is in one of these states ("COMPLETED"). */
export async function untilIn(side: Side, id: string, ...states: readonly string[]): Promise<WireTask> {
  for (;;) {
    const task = await get(side, id);
    if (states.some((state) => task.status.state === `TASK_STATE_${state}`)) return task;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

export const ENDED = ['COMPLETED', 'FAILED', 'CANCELED', 'REJECTED'];

/** The text of all artifacts. */
export function textOf(task: WireTask): string {
  return (task.artifacts ?? []).flatMap(({ parts }) => parts.map(({ text }) => text)).join('');
}

/** What comes of it, or that nothing does for so long. */
export async function orSilence<Result>(answer: Promise<Result>, ms: number): Promise<Result | 'silence'> {
  answer.catch(() => {});
  const { promise, resolve } = Promise.withResolvers<'silence'>();
  const timer = setTimeout(() => resolve('silence'), ms);
  return Promise.race([answer, promise]).finally(() => clearTimeout(timer));
}
