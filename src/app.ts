import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { agentSpecs } from './agents/agent-specs.js';
import { buildAgentTree } from './agents/agent-tree.js';
import { createPeerDirectory } from './a2a/client/directory.js';
import type { CardSource } from './a2a/client/load.js';
import { buildCard } from './a2a/server/card.js';
import { createGrant } from './a2a/server/grant.js';
import { createAgentHandler } from './a2a/server/handler.js';
import type { PublishedAgent } from './a2a/server/routes.js';
import { createA2aRoutes } from './a2a/server/routes.js';
import { loadCardFiles } from './config/cards.js';
import type { Config } from './config/config.js';
import { agentLimits } from './config/config.js';
import { readEnv } from './config/env.js';
import type { LoadedConfig } from './config/load.js';
import { packageRoot, packageVersion } from './config/package-root.js';
import { loadPrompts } from './config/prompts.js';
import type { Secrets } from './config/secrets.js';
import { loadOrCreateToken } from './config/secrets.js';
import type { Agent, PeerDirectory } from './core/agent.js';
import { LangoError, errorText } from './core/errors.js';
import type { Journal } from './core/journal.js';
import type { Logger } from './core/logger.js';
import type { ModelProvider } from './core/model.js';
import { rootAgentName } from './core/roster.js';
import type { Run } from './core/run.js';
import type { TaskStore } from './core/store.js';
import type { Tool } from './core/tool.js';
import { createEgress } from './http/egress.js';
import { createHost } from './http/host.js';
import { createAuthenticator } from './http/identity.js';
import { createStatusRoute } from './http/status-route.js';
import { createJournal } from './journal/journal.js';
import { createAnthropicProvider } from './models/anthropic/provider.js';
import { createOfflineProvider } from './models/offline/provider.js';
import { createOpenaiProvider } from './models/openai/provider.js';
import { openSqliteStore } from './storage/sqlite/store.js';
import { createExec, findSandbox } from './tools/exec/index.js';
import { createFsTools } from './tools/fs/index.js';

/** Where `lango agents` reads what this node runs and knows. */
export const STATUS_PATH = '/lango/agents';

export interface AppOptions extends LoadedConfig {
  readonly logger: Logger;
  /** Published besides the roster, and the orchestrator's sub-agents like these. */
  readonly agents?: readonly Agent[];
  /** Added to the shipped families; prefixes decide who owns them. */
  readonly tools?: readonly Tool[];
  /** In the place of the configured one. */
  readonly model?: ModelProvider;
  /** Text that a run's instruction gets at run time (requirement O8). */
  readonly additions?: (run: Run) => Promise<string | undefined>;
}

export interface AppAddress {
  readonly host: string;
  readonly port: number;
  /** How a client on this machine reaches the server. */
  readonly origin: string;
  /** Undefined with `auth.mode: none`. */
  readonly token: string | undefined;
  readonly model: string;
  readonly agents: readonly string[];
  /** The agent that answers at the root of the host. */
  readonly root: string;
}

export interface App {
  /** Resolves when requests are served. Rejects with a `LangoError` and leaves nothing open. Call it once. */
  start(): Promise<AppAddress>;
  /** Stops accepting, gives running tasks back to the journal, closes everything. Never rejects. */
  stop(): Promise<void>;
}

/** The whole server, put together from its configuration. Nothing is opened before `start`. */
export function createApp(options: AppOptions): App {
  const closers: (() => Promise<void> | void)[] = [];
  const stop = async (): Promise<void> => {
    for (const close of closers.splice(0).reverse()) {
      await Promise.resolve(close()).catch((error: unknown) =>
        options.logger.warn('could not stop cleanly', { error: errorText(error) }),
      );
    }
  };
  return {
    stop,
    async start() {
      try {
        return await open(options, (close) => closers.push(close));
      } catch (error) {
        await stop();
        throw error;
      }
    },
  };
}

type OnStop = (close: () => Promise<void> | void) => void;

async function open(options: AppOptions, onStop: OnStop): Promise<AppAddress> {
  const { config, secrets, logger } = options;
  await prepareFolders(config);
  const token =
    config.auth.mode === 'none' ? undefined : (secrets.token ?? (await loadOrCreateToken(config.home)));
  // Looking for a sandbox runs real commands: the rest of the start does not wait for it.
  const opening = openTools(config, logger, onStop);
  opening.catch(() => undefined);
  const store = openStore(config, logger);
  onStop(() => store.close());
  const nodeId = store.nodeId();

  const model = options.model ?? createModel(config, secrets, logger);
  const tools = [...(await opening), ...(options.tools ?? [])];
  const limits = agentLimits(config.agent);
  // It is made of agents that are made here: it is asked only once a task runs.
  const directory: PeerDirectory = { list: () => peers.list(), get: (name) => peers.get(name) };
  const tree = buildAgentTree({
    multiAgent: config.agent.multiAgent,
    roster: typeof config.agent.roster === 'string' ? agentSpecs[config.agent.roster] : config.agent.roster,
    tools,
    model,
    peers: directory,
    nodeId,
    limits,
    approval: config.approval.policy,
    prompts: await loadPrompts(config.agent.promptFolder),
    logger,
    ...(config.a2a.publish ? { publish: config.a2a.publish } : {}),
    ...(options.additions ? { additions: options.additions } : {}),
  });
  const subAgents = [...tree.subAgents, ...(options.agents ?? [])];
  const agents = byName([...(tree.root ? [tree.root] : []), ...subAgents]);
  const root = tree.root?.profile.name ?? requireFirst(agents);
  const journal = createJournal({
    store,
    agents,
    logger,
    peers: directory,
    concurrentRuns: config.server.limits.concurrentRuns,
    runSeconds: limits.seconds,
  });

  let origin = `http://${config.server.host}:${config.server.port}`;
  const published = await publish({ agents, journal, config, nodeId, originOf: () => origin });

  const { baseUrl } = config.a2a;
  const connectMs = 1_000 * config.a2a.connectSeconds;
  const peers = createPeerDirectory(cardSources({ subAgents, published, config, secrets }), {
    fetch: createEgress({ allowPrivate: privateHosts(config), timeoutMs: connectMs, logger }),
    timeoutMs: connectMs,
    cardBytes: config.a2a.cardBytes,
    logger,
  });
  await peers.refresh();
  const refreshing = setInterval(() => void peers.refresh(), 1_000 * config.a2a.refreshSeconds);
  onStop(() => clearInterval(refreshing));

  const host = createHost({
    ...config.server,
    allowedHosts: [...config.server.allowedHosts, ...(baseUrl ? [new URL(baseUrl).host] : [])],
    authenticator: createAuthenticator({ mode: config.auth.mode, ...(token ? { token } : {}), logger }),
    routes: [
      createA2aRoutes({
        agents: published,
        root,
        limits: config.server.limits,
        ...(baseUrl ? { baseUrl } : {}),
      }),
      createStatusRoute({
        path: STATUS_PATH,
        read: () => ({ root, model: model.id, published: [...agents.keys()], peers: peers.states() }),
      }),
    ],
    health: () => ({ ready: true }),
    logger,
  });

  await journal.start();
  onStop(() => journal.stop());
  const address = await host.start();
  onStop(() => host.stop());
  origin = address.origin;
  return { ...address, token, model: model.id, agents: [...agents.keys()], root };
}

interface Publication {
  readonly agents: ReadonlyMap<string, Agent>;
  readonly journal: Journal;
  readonly config: Config;
  readonly nodeId: string;
  /** Where the server can be reached from this machine, once it is known. */
  readonly originOf: () => string;
}

/** Each agent with its own card and its own handler (requirement X1). */
async function publish(options: Publication): Promise<ReadonlyMap<string, PublishedAgent>> {
  const { agents, journal, config, nodeId, originOf } = options;
  const files = await loadCardFiles(path.join(packageRoot(), 'agent-cards'));
  const version = packageVersion();
  const limits = agentLimits(config.agent);
  const published = [...agents].map(([name, { profile }]): [string, PublishedAgent] => {
    const card: PublishedAgent['card'] = (baseUrl = config.a2a.baseUrl ?? originOf()) =>
      buildCard({ file: files.get(name), profile, version, baseUrl, auth: config.auth.mode });
    const handler = createAgentHandler({
      agent: profile,
      journal,
      card,
      rootAgentName: rootAgentName(config.agent.multiAgent),
      grant: createGrant({ limits, self: `${name}@${nodeId}` }),
    });
    return [name, { handler, card }];
  });
  return new Map(published);
}

async function prepareFolders(config: Config): Promise<void> {
  for (const folder of [config.home, ...config.workspace]) {
    try {
      await mkdir(folder, { recursive: true });
    } catch (error) {
      throw new LangoError('storage', `The folder ${folder} cannot be made: ${errorText(error)}.`, {
        hint: 'Set LANGO_HOME, or workspace in the configuration, to a folder that you can write to.',
        cause: error,
      });
    }
  }
}

function openStore({ storage }: Config, logger: Logger): TaskStore {
  const { file, synchronous } = storage.sqlite;
  return openSqliteStore({ file, synchronous, logger });
}

function createModel({ model, egress }: Config, { modelApiKey }: Secrets, logger: Logger): ModelProvider {
  if (model.provider === 'offline') return createOfflineProvider();
  const timeoutMs = 1_000 * model.timeoutSeconds;
  const allowPrivate = [...egress.allowPrivate, ...(model.baseUrl ? [new URL(model.baseUrl).host] : [])];
  const options = {
    model: model.name ?? '',
    maxRetries: model.maxRetries,
    timeoutMs,
    fetch: createEgress({ allowPrivate, timeoutMs, logger }),
    logger,
    ...(model.baseUrl ? { baseUrl: model.baseUrl } : {}),
  };
  return model.provider === 'anthropic'
    ? createAnthropicProvider({ ...options, apiKey: modelApiKey ?? '' })
    : createOpenaiProvider({ ...options, ...(modelApiKey ? { apiKey: modelApiKey } : {}) });
}

async function openTools(
  { tools, workspace }: Config,
  logger: Logger,
  onStop: OnStop,
): Promise<readonly Tool[]> {
  const fs = tools.fs.enabled ? createFsTools({ roots: workspace, ...tools.fs }) : [];
  if (!tools.exec.enabled) return fs;
  const { sandbox, reason } = await findSandbox({ mode: tools.exec.sandbox, roots: workspace });
  if (!sandbox) logger.warn(`commands run without a sandbox, so each one waits for approval: ${reason}`);
  const exec = createExec({
    roots: workspace,
    sandbox,
    network: tools.exec.network,
    environment: readEnv().variables,
    envAllow: tools.exec.envAllow,
    limits: tools.exec,
    logger,
  });
  onStop(() => exec.close());
  return [...fs, ...exec.tools];
}

interface Sources {
  readonly subAgents: readonly Agent[];
  readonly published: ReadonlyMap<string, PublishedAgent>;
  readonly config: Config;
  readonly secrets: Secrets;
}

/** Local and remote agents in one list: they load through one path (requirement X2). */
function cardSources({ subAgents, published, config, secrets }: Sources): readonly CardSource[] {
  const local = subAgents.map(({ profile: { name } }): CardSource => {
    return { kind: 'local', name, handler: published.get(name)!.handler };
  });
  const remote = (config.a2a.enabled ? config.a2a.remoteAgents : []).map(({ name, url }): CardSource => {
    const token = secrets.remoteTokens.get(name);
    return { kind: 'remote', name, url, ...(token ? { token } : {}) };
  });
  return [...local, ...remote];
}

function privateHosts({ a2a, egress }: Config): readonly string[] {
  const peers = a2a.remoteAgents.filter(({ allowPrivate }) => allowPrivate);
  return [...egress.allowPrivate, ...peers.map(({ url }) => new URL(url).host)];
}

function byName(agents: readonly Agent[]): ReadonlyMap<string, Agent> {
  const map = new Map<string, Agent>();
  for (const agent of agents) {
    const { name } = agent.profile;
    if (map.has(name)) throw new LangoError('invalid-config', `There are two agents named ${name}.`);
    map.set(name, agent);
  }
  return map;
}

function requireFirst(agents: ReadonlyMap<string, Agent>): string {
  const [name] = agents.keys();
  if (name === undefined) {
    throw new LangoError('invalid-config', 'This node would run no agent at all.', {
      hint: 'Name agents in a2a.publish that have tools, or leave it out.',
    });
  }
  return name;
}
