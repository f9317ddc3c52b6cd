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

/** One of two servers that run the same executor and get the same requests. */
export interface Side {
  readonly puppet: Puppet;
  readonly cards: CardReader;
  /** A second process that serves the same tasks. Our database admits one process, so on our side it is this one. */
  readonly elsewhere: Side;
  /** The folder of the server's data files; empty when the server keeps its data in memory. */
  readonly folder: string;
  readonly origin: string;
  /** Host and port of the server's gRPC binding. */
  readonly grpcAddress: string;
  /** The tenant in the declaration of the gRPC interface. */
  readonly tenant: string;
  http(path: string, options?: Ask): Promise<Reply>;
  rpc(method: string, params?: object, options?: Ask): Promise<Reply>;
  grpc(method: GrpcMethod, params?: object, options?: Ask): Promise<GrpcReply>;
  /** A token of the caller with this name, on a server whose callers have names. */
  tokenOf(name: string): Promise<string>;
  /** Whether the server's log contains `words`. */
  hasLogged(words: string): boolean;
  /** The number of characters of JSON that the server has written to the store for a task so far. */
  written(taskId: string): Promise<number>;
  /** Makes the next two changes of a task race: both read the task before either writes it. */
  letTwoMeet(): void;
  /** Replaces the process by another one over the same store. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

export interface SideOptions {
  /** Whether the agent sends push notifications. Default: true. */
  readonly push?: boolean;
  /** Limits of the server, as settings of ours. */
  readonly limits?: object;
  /** Whether the stock server keeps its tasks in a database. Default: false, in memory. */
  readonly database?: boolean;
  /** Whether the first read of the stock server's store of push configs takes longer than the later ones. */
  readonly lateStore?: boolean;
  /** Whether callers have names. Default: false, all share one token. */
  readonly named?: boolean;
}

const PROFILE = { name: 'puppet', description: 'Does as it is told.', skills: [] };
const PLENTY = 1_000_000;
const SOON = { retrySeconds: 0.05, maxRetrySeconds: 0.2, textSeconds: 0.01 };

/** Our server with its ordinary settings. Its webhooks may be on this machine. */
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

/** The number of characters in the stored log of a task in our database. */
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

/** The stock server as its documentation builds one: express, gRPC, the default handler and the SDK's stores. */
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

/** A server at an address, which may change. Without a second process, the server stands for it. */
function asked({ origin, grpc, tenant = '' }: Place, { elsewhere, ...inside }: Inside): Side {
  const http: Side['http'] = (where, options = {}) =>
    ask({ origin: origin() }, where, {
      ...options,
      // Each request has a connection of its own: a kept-alive one may be closed just as it is used again.
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

/** The parameters of a send. */
export function message(text: string, more: object = {}, configuration?: object): { message: object } {
  return {
    message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...more },
    ...(configuration ? { configuration } : {}),
  };
}

export const AT_ONCE = { returnImmediately: true };

/** The task that a message began, from a send that returns immediately. */
export async function begin(side: Side, text = 'begin'): Promise<WireTask> {
  return (await side.rpc('SendMessage', message(text, {}, AT_ONCE))).json.result.task;
}

export async function get(side: Side, id: string): Promise<WireTask> {
  return (await side.rpc('GetTask', { id })).json.result as unknown as WireTask;
}

/** Resolves with the task once it is in one of these states ("COMPLETED"). */
export async function untilIn(side: Side, id: string, ...states: readonly string[]): Promise<WireTask> {
  for (;;) {
    const task = await get(side, id);
    if (states.some((state) => task.status.state === `TASK_STATE_${state}`)) return task;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

export const ENDED = ['COMPLETED', 'FAILED', 'CANCELED', 'REJECTED'];

/** The joined text of all artifacts. */
export function textOf(task: WireTask): string {
  return (task.artifacts ?? []).flatMap(({ parts }) => parts.map(({ text }) => text)).join('');
}

/** Resolves with `answer`, or with 'silence' when `answer` takes longer than `ms`. */
export async function orSilence<Result>(answer: Promise<Result>, ms: number): Promise<Result | 'silence'> {
  answer.catch(() => {});
  const { promise, resolve } = Promise.withResolvers<'silence'>();
  const timer = setTimeout(() => resolve('silence'), ms);
  return Promise.race([answer, promise]).finally(() => clearTimeout(timer));
}
