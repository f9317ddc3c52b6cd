import { randomBytes } from 'node:crypto';
import type { AgentCard } from '@a2a-js/sdk';
import type { A2ARequestHandler } from '@a2a-js/sdk/server';
import type { LocalAgent } from '../../src/a2a/translate/task-calls.js';
import type { CardParts } from '../../src/a2a/server/card.js';
import { buildCard, buildExtendedCard, grpcAddress } from '../../src/a2a/server/card.js';
import { createGrant } from '../../src/a2a/server/grant.js';
import { createGrpcServer } from '../../src/a2a/server/grpc/server.js';
import { createAgentHandler } from '../../src/a2a/server/handler.js';
import { PushConfigs } from '../../src/a2a/server/push-configs.js';
import { createA2aRoutes, createDiscoveryRoutes } from '../../src/a2a/server/routes.js';
import type { StreamLimits } from '../../src/a2a/server/stream-slots.js';
import { StreamSlots } from '../../src/a2a/server/stream-slots.js';
import type { Agent } from '../../src/core/agent.js';
import { BytesInFlight } from '../../src/core/bytes-in-flight.js';
import type { Logger } from '../../src/core/logger.js';
import { silentLogger } from '../../src/core/logger.js';
import type { Storage } from '../../src/stores/storage.js';
import type { TaskStore } from '../../src/stores/tasks.js';
import { Host } from '../../src/http/host.js';
import { createAuthenticator } from '../../src/http/identity.js';
import { RunningJournal } from '../../src/journal/journal.js';
import { createTargetCheck } from '../../src/http/address-check.js';
import { createSealer } from '../../src/core/sealing.js';
import { openSqliteStorage } from '../../src/storage/sqlite/storage.js';

export const TOKEN = 'a-token-for-tests-4c19e7';

const HOST_LIMITS = {
  bodyBytes: 1024 * 1024,
  jsonDepth: 64,
  jsonKeys: 1_000,
  bodySeconds: 5,
  headerBytes: 16 * 1024,
  headerSeconds: 5,
  keepAliveSeconds: 5,
  drainSeconds: 5,
  connections: 1_000,
  callsPerConnection: 100,
  answerBytesPerConnection: 1024 * 1024,
};

const STREAM_LIMITS: StreamLimits = {
  streams: 100,
  streamsPerCaller: 100,
  streamBufferBytes: 256 * 1024,
  heartbeatSeconds: 15,
};

export interface A2aNode {
  readonly origin: string;
  /** Host and port of the gRPC binding; empty without it. */
  readonly grpc: string;
  readonly journal: RunningJournal;
  readonly storage: Storage;
  readonly store: TaskStore;
  readonly handlers: ReadonlyMap<string, A2ARequestHandler & LocalAgent>;
  stop(): Promise<void>;
}

export interface A2aNodeOptions {
  /** The agents; the first one is the root. */
  readonly agents: readonly Agent[];
  readonly rootAgentName?: string;
  readonly streams?: Partial<StreamLimits>;
  readonly logger?: Logger;
  /** The address on the cards, in place of the called one. */
  readonly baseUrl?: string;
  readonly auth?: 'token' | 'none';
  readonly grpc?: boolean;
  /** Accepts push configs; nothing is delivered. */
  readonly push?: boolean;
}

/** A node over loopback with real HTTP, journal and database; only the agents are scripted. */
export async function startA2aNode(options: A2aNodeOptions): Promise<A2aNode> {
  const { agents, logger = silentLogger, auth = 'token' } = options;
  const storage = openSqliteStorage({ file: ':memory:', synchronous: 'normal', logger });
  const store = storage.tasks;
  const journal = new RunningJournal({
    store,
    agents: new Map(agents.map((agent) => [agent.profile.name, agent])),
    peers: { get: () => undefined },
    logger,
    concurrentRuns: 64,
    queuedTasks: 1_000,
    eventsPerTask: 100_000,
    runSeconds: 60,
  });
  const root = agents[0]!.profile.name;
  let grpcPort: number | undefined;
  const push = options.push === true ? keptPushes(storage) : undefined;
  const published = new Map(
    agents.map((agent) => [
      agent.profile.name,
      publish(agent, { ...options, push, journal, auth, root, grpcPortOf: () => grpcPort }),
    ]),
  );
  const streams = { ...STREAM_LIMITS, ...options.streams };
  const slots = new StreamSlots(streams);
  const authenticator = createAuthenticator({ mode: auth, token: TOKEN, logger });
  const bytesInFlight = new BytesInFlight(2 ** 28);
  const grpc = createGrpcServer({
    bytesInFlight,
    host: '127.0.0.1',
    port: 0,
    agents: published,
    root,
    authenticator,
    limits: { ...HOST_LIMITS, ...streams },
    slots,
    logger,
  });
  const host = new Host({
    bytesInFlight,
    host: '127.0.0.1',
    port: 0,
    trustProxy: false,
    allowedHosts: [],
    allowedOrigins: [],
    limits: HOST_LIMITS,
    authenticator,
    routes: [
      createA2aRoutes({
        agents: published,
        root,
        limits: streams,
        slots,
        ...(options.baseUrl === undefined ? {} : { baseUrl: options.baseUrl }),
      }),
    ],
    mounts: [
      createDiscoveryRoutes({
        agents: published,
        keys: () => Promise.reject(new Error('this node signs nothing')),
        ...(options.baseUrl === undefined ? {} : { baseUrl: options.baseUrl }),
      }),
    ],
    problem: () => undefined,
    logger,
  });
  await journal.start();
  if (options.grpc === true) grpcPort = await grpc.start();
  const { port } = await host.start();
  return {
    origin: `http://127.0.0.1:${port}`,
    grpc: grpcPort === undefined ? '' : `127.0.0.1:${grpcPort}`,
    journal,
    storage,
    store,
    handlers: new Map([...published].map(([name, { handler }]) => [name, handler])),
    async stop() {
      await Promise.all([host.stop(), grpc.stop()]);
      await journal.stop();
      await storage.close();
    },
  };
}

const HERE = 'http://localhost';

interface Publishing extends Omit<A2aNodeOptions, 'grpc' | 'push'> {
  readonly push: PushConfigs | undefined;
  readonly journal: RunningJournal;
  readonly auth: 'token' | 'none';
  readonly root: string;
  readonly grpcPortOf: () => number | undefined;
}

function publish(agent: Agent, options: Publishing) {
  const { profile } = agent;
  const partsFor = (baseUrl: string): CardParts => {
    const port = options.grpcPortOf();
    const grpc = port === undefined ? undefined : grpcAddress(baseUrl, port);
    return {
      file: undefined,
      profile,
      version: '1.2.3',
      baseUrl,
      grpc,
      isRoot: profile.name === options.root,
      auth: options.auth,
      push: options.push !== undefined,
    };
  };
  const card = (baseUrl = HERE): AgentCard => buildCard(partsFor(baseUrl));
  const extendedCard = async (): Promise<AgentCard> => buildExtendedCard(partsFor(HERE));
  const handler = createAgentHandler({
    agent: profile,
    journal: options.journal,
    push: options.push,
    card,
    extendedCard: options.auth === 'none' ? undefined : extendedCard,
    rootAgentName: options.rootAgentName ?? options.root,
    grant: createGrant({ limits: { depth: 5, tokens: 1_000 }, self: `${profile.name}@here` }),
  });
  return { name: profile.name, handler, card, audit: () => {} };
}

function keptPushes({ pushes }: Storage): PushConfigs {
  return new PushConfigs({
    store: pushes,
    caps: { perTask: 4, perOwner: 1_000 },
    sealer: createSealer(randomBytes(32)),
    assertTarget: createTargetCheck([]),
    wake: () => {},
  });
}
