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
import type { Issuer } from '../../support/issuer.js';
import { AUDIENCE, startIssuer } from '../../support/issuer.js';
import { startServer } from '../../support/server.js';
import type { GrpcMethod, GrpcReply } from '../../support/grpc-asked.js';
import { askGrpc } from '../../support/grpc-asked.js';
import { saidToConsole } from './console.js';
import { Puppet } from './puppet.js';
import type { CardReader } from './signing.js';
import { ourCards, stockSigning } from './signing.js';
import { startStockProcess } from './stock-process.js';
import { databaseStores, lateAtFirst, memoryStores } from './stock-stores.js';
import { WatchedStore } from './watched-store.js';

/** One of two servers that run the same executor and are asked the same. */
export interface Side {
  readonly puppet: Puppet;
  readonly cards: CardReader;
  /** The same tasks in a second process. Ours lets no second one at its database: there it is the same again. */
  readonly elsewhere: Side;
  /** Where the files of its data are; empty when it keeps them in memory. */
  readonly folder: string;
  readonly origin: string;
  /** Host and port of its gRPC binding. */
  readonly grpcAddress: string;
  /** What its interface for gRPC is declared with. */
  readonly tenant: string;
  http(path: string, options?: Ask): Promise<Reply>;
  rpc(method: string, params?: object, options?: Ask): Promise<Reply>;
  grpc(method: GrpcMethod, params?: object, options?: Ask): Promise<GrpcReply>;
  /** A token of a caller of this name, where callers have names. */
  tokenOf(name: string): Promise<string>;
  /** Whether words stand in what it logged. */
  hasLogged(words: string): boolean;
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
  /** What is bounded, in our settings. */
  readonly limits?: object;
  /** Whether the stock server keeps its tasks in a database; else it has them in memory. */
  readonly database?: boolean;
  /** Whether the first look into the stock server's store of push configs takes longer than those after it. */
  readonly lateStore?: boolean;
  /** Whether callers have names; else there is one token. */
  readonly named?: boolean;
}

const PROFILE = { name: 'puppet', description: 'Does as it is told.', skills: [] };
const PLENTY = 1_000_000;
const SOON = { retrySeconds: 0.05, maxRetrySeconds: 0.2, textSeconds: 0.01 };

/** Our server, as anybody starts it; its webhooks may be on this machine. */
export async function openOurs({ push = true, limits, named = false }: SideOptions): Promise<Side> {
  const home = await mkdtemp(path.join(tmpdir(), 'lango-beside-'));
  const puppet = new Puppet();
  const issuer = named ? await startIssuer() : undefined;
  const options: ServerOptions = {
    home,
    agents: [fromAgentExecutor({ executor: puppet, profile: PROFILE })],
    settings: {
      server: {
        port: 0,
        grpc: { enabled: true, port: 0 },
        limits: { requestsPerSecond: PLENTY, requestBurst: PLENTY, ...limits },
      },
      auth: issuer ? namedBy(issuer) : { token: TOKEN },
      egress: { allowPrivate: ['127.0.0.1'] },
      a2a: { push: { enabled: push, ...SOON } },
    },
  };
  let server = await startServer(options);
  const place: Place = {
    origin: () => `${server.address.origin}/agents/${PROFILE.name}`,
    grpc: () => `127.0.0.1:${server.address.grpcPort}`,
    tenant: PROFILE.name,
  };
  return asked(place, {
    puppet,
    cards: ourCards(() => server.address.origin),
    folder: home,
    tokenOf: async (name) => issuer!.token({ sub: name }),
    hasLogged: (words) => server.log.lines.some((line) => line.includes(words)),
    written: async (taskId) => storedLength(path.join(home, 'lango.db'), taskId),
    letTwoMeet: () => {},
    async restart() {
      await server.stop();
      server = await startServer(options);
    },
    async close() {
      await server.stop();
      await issuer?.close();
      await rm(home, { recursive: true });
    },
  });
}

function namedBy({ url }: Issuer) {
  return { mode: 'jwt' as const, jwt: { issuer: url, audience: [AUDIENCE] } };
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

/** The stock server as its documentation builds one: express, gRPC, the default handler, its own stores. */
export async function openStock({ push = true, ...options }: SideOptions): Promise<Side> {
  const puppet = new Puppet();
  const { reader: cards, sign } = stockSigning();
  const stores = options.database ? await databaseStores() : memoryStores();
  const tasks = new WatchedStore(stores.tasks);
  const pushes = options.lateStore ? lateAtFirst(stores.pushes) : stores.pushes;
  const start = () => startStockProcess({ puppet, tasks, pushes, push, sign });
  let first = await start();
  const second = await start();
  const shared: Inside = {
    puppet,
    cards,
    folder: stores.folder,
    tokenOf: async (name) => `name:${name}`,
    hasLogged: (words) => saidToConsole().some((said) => said.includes(words)),
    written: async (taskId) => tasks.written.get(taskId) ?? 0,
    letTwoMeet: () => tasks.letTwoMeet(),
    async restart() {
      await first.close();
      first = await start();
    },
    async close() {
      await Promise.all([first.close(), second.close()]);
      await stores.close();
    },
  };
  const elsewhere = asked({ origin: () => second.origin, grpc: () => second.grpc }, shared);
  return asked({ origin: () => first.origin, grpc: () => first.grpc }, { ...shared, elsewhere });
}

interface Place {
  readonly origin: () => string;
  readonly grpc: () => string;
  readonly tenant?: string;
}

type Asked = 'origin' | 'grpcAddress' | 'tenant' | 'http' | 'rpc' | 'grpc' | 'elsewhere';
type Inside = Omit<Side, Asked> & { readonly elsewhere?: Side };

/** A server at an address, which may change; without another process it is its own. */
function asked({ origin, grpc, tenant = '' }: Place, { elsewhere, ...inside }: Inside): Side {
  const http: Side['http'] = (where, options = {}) =>
    ask({ origin: origin() }, where, {
      ...options,
      // A connection of its own for each: one that was left may be closed just as it is used again.
      headers: { 'A2A-Version': '1.0', 'A2A-Extensions': '', Connection: 'close', ...options.headers },
    });
  return {
    ...inside,
    tenant,
    get origin() {
      return origin();
    },
    get grpcAddress() {
      return grpc();
    },
    http,
    rpc: (method, params = {}, options = {}) =>
      http('/', { ...options, body: { jsonrpc: '2.0', id: 1, method, params } }),
    grpc: (method, params = {}, options = {}) =>
      askGrpc(grpc(), { ...options, method, params: { tenant, ...params } }),
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
