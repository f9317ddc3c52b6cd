import { createAccess } from './a2a/server/access.js';
import { NodeAddress } from './a2a/server/node-address.js';
import { skillIdOf } from './agents/capabilities.js';
import { createAgents, namingFindings, openModels, type ProgramParts } from './app/agents.js';
import { openCapabilities } from './app/capabilities.js';
import { startDrift } from './app/drift.js';
import { createListeners } from './app/listeners.js';
import type { Listeners, MountedHandler } from './app/listeners.js';
import type { OnStop, Parts } from './app/node.js';
import { operationsOf, ownerMount } from './app/owners.js';
import { createDirectory, localSources, openRemoteSources } from './app/peers.js';
import { createPush, type Push, openMetricsOf, publish, startTraceExportOf } from './app/publishing.js';
import { openStores } from './app/stores.js';
import { logFindings } from './capabilities/open-capabilities.js';
import { agentLimits, assertMountable, ownerTaskBytes } from './config/config.js';
import { folderFindings, prepareFolders, warnOfWritable } from './config/folders.js';
import type { LoadedConfig } from './config/load.js';
import { openKeys, openToken, tokenFindings } from './config/node-credentials.js';
import { PeerRegistry } from './config/peer-registry.js';
import { loadPrompts } from './config/prompts.js';
import { createReload, type ReadConfig } from './config/reload.js';
import { recordRunningServer } from './config/running-server.js';
import { secretValues } from './config/secrets.js';
import { LangoError, errorText } from './core/errors.js';
import { IN_MEMORY } from './core/fields.js';
import { findingOfError, type Finding } from './core/findings.js';
import type { Logger } from './core/logger.js';
import type { ModelProvider } from './core/model.js';
import { noSecrets, SECRETS, type Scrubber } from './core/secrets.js';
import { keyFileFindings } from './http/authentication.js';
import { sendError } from './http/errors.js';
import { readTls, tlsFindings } from './http/tls.js';
import { RunningJournal } from './journal/journal.js';
import { TaskDisk } from './journal/task-disk.js';
import { openAudit } from './logging.js';
import { rightForPath } from './owners/endpoints.js';
import { Parsers } from './parsing/parsers.js';
import { scrubLogger } from './scrub/data.js';
import { alsoHiding, both, scrubberOf } from './scrub/scrubber.js';

/** Finds what a start with this configuration would refuse or leave out, for `config check`. Changes nothing. */
export async function startFindings(loaded: LoadedConfig): Promise<readonly Finding[]> {
  const { agent, auth, server } = loaded.config;
  const promptKey = () => ['agent', agent.houseRulesFile === undefined ? 'promptFolder' : 'houseRulesFile'];
  const findings = await Promise.all([
    tlsFindings(server.tls),
    tokenFindings(loaded),
    keyFileFindings(auth),
    folderFindings(loaded.config),
    findingOfError(loadPrompts(agent), promptKey),
  ]);
  return [namingFindings(loaded), ...findings].flat();
}

export { createModel } from './app/agents.js';
export { settingsContext, settingsServices } from './app/capabilities.js';
export type { ReadConfig } from './config/reload.js';
export { openHome } from './app/owners.js';
export { knownModelNames, priceOf, PRICES_READ, windowTokensOf } from './models/prices.js';
export { backUp, inspectServer, moveDatabase, restore, upgradeDatabase } from './app/stores.js';
export { DATABASE_MARKS, verifyDatabase } from './app/stores.js';

export interface AppOptions extends LoadedConfig, ProgramParts {
  /** Reads the configuration again. Without it no remote agents can be added while the node runs. */
  readonly read?: ReadConfig;
  readonly logger: Logger;
  /** The values that `logger` hides. Each reload adds the secrets of the new configuration. Default: an own set. */
  readonly hidden?: Set<string>;
  /** Starts although acknowledged data is missing in the database. Default: refuses, and says what is missing. */
  readonly acceptDamage?: boolean | undefined;
  /** Ends a wait for the database at the start (`storage.sqlite.waitSeconds`), which then fails. `stop` does too. */
  readonly interrupted?: AbortSignal;
  /** Whether this is a server for one evaluation: imported tasks can be forked. */
  readonly isTrial?: true;
  /** Replaces the configured model. */
  readonly model?: ModelProvider | undefined;
}

/** The facts about a node that has started. */
export interface MountedAddress {
  /** Undefined with `auth.mode: none`. */
  readonly token: string | undefined;
  readonly model: string;
  readonly agents: readonly string[];
  /** The name of the agent at the root of the host. */
  readonly root: string;
}

export interface AppAddress extends MountedAddress {
  readonly host: string;
  readonly port: number;
  /** The address for clients on this machine. */
  readonly origin: string;
  /** Undefined without gRPC. */
  readonly grpcPort: number | undefined;
}

export interface MountOptions {
  /** Opens no port: `router()` handles requests inside another app. */
  readonly listen: false;
}

export function createApp(options: AppOptions): App {
  return new App(options);
}

/** The whole server, put together from its configuration. Opens nothing before `start`. */
class App {
  readonly #options: AppOptions;
  readonly #closers: (() => Promise<void> | void)[] = [];
  readonly #stopping = new AbortController();
  #node: Awaited<ReturnType<typeof openNode>> | undefined;

  constructor(options: AppOptions) {
    this.#options = options;
  }

  /** Resolves once the node serves requests. Rejects with a `LangoError` and leaves nothing open. Call it once. */
  start(): Promise<AppAddress>;
  /** Rejects with `invalid-config` when the configuration asks for gRPC, which needs a port of its own. */
  start(options: MountOptions): Promise<MountedAddress>;
  async start(options?: MountOptions): Promise<MountedAddress> {
    try {
      const onStop: OnStop = (close) => void this.#closers.push(close);
      const context = { onStop, stopping: this.#stopping.signal, listen: options === undefined };
      this.#node = await openNode(this.#options, context);
      return this.#node.address;
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /**
   * Applies a new list of remote agents and reads the files of the TLS certificate again. Without `read` the list stays.
   * Resolves once the cards of new agents were loaded. Rejects with `invalid-config` when anything is wrong, and then
   * changes nothing. Does nothing before `start` and after `stop`.
   */
  async reload(read?: ReadConfig): Promise<void> {
    await this.#node?.reload(read);
  }

  /**
   * Makes a handler for `app.use(path, …)` of express. It handles the node's paths below that path, with 503 before the
   * start and after the stop, and leaves all other paths to the app.
   */
  router(): MountedHandler {
    const hint = 'Await start({ listen: false }) before the app listens.';
    return (request, response, next) => {
      if (this.#node) return this.#node.handleMounted(request, response, next);
      const error = new LangoError('unavailable', 'Lango has not started.', { hint, retryable: true });
      sendError({ request, response }, error, this.#options.logger);
    };
  }

  /** Ends open streams, refuses new work, gives running tasks back to the journal and closes everything. Never rejects. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    for (const close of this.#closers.splice(0).reverse()) {
      await Promise.resolve(close()).catch((error: unknown) =>
        this.#options.logger.warn('could not stop cleanly', { error: errorText(error) }),
      );
    }
  }
}

interface Opening {
  readonly onStop: OnStop;
  /** Aborts when the node stops. */
  readonly stopping: AbortSignal;
  readonly listen: boolean;
}

/** Opens the parts of a node in order. Each part gets the parts before it, and registers with `onStop` how it is closed. */
async function openNode(options: AppOptions, { onStop, stopping, listen }: Opening) {
  const { config } = options;
  if (!listen) assertMountable(config);
  const base = await openBase(options, stopping, onStop);
  const able = { ...base, ...(await openAbilities(base, onStop)) };
  const thinking = { ...able, ...(await openModels(options.model, able)), peers: createDirectory(able) };
  const agents = createAgents(thinking, { ...options, prompts: await loadPrompts(config.agent) });
  const journal = openJournal({ ...thinking, ...agents });
  const address = new NodeAddress(config, base.tls !== undefined);
  const acting = { ...thinking, ...agents, journal, address };

  const push = createPush(acting);
  const hasPush = push !== undefined;
  const tools = acting.tools.map(({ name }) => name);
  const access = createAccess({ ...acting, tools, auth: config.auth, skillOf: skillIdOf });
  const node = { ...acting, access, published: await publish({ ...acting, access }, push?.configs) };
  const replacePeers = await joinPeers(node, options);
  // Each scrape of the metrics reads these figures anew.
  node.metrics?.addSources({
    openTasks: () => node.storage.retention.countOpen(),
    peers: () => node.peers.states(),
    pushes: async () => (hasPush ? { ...(await node.storage.pushes.counts()) } : undefined),
  });

  const readNewTls = async () => {
    const material = await readTls(config.server.tls);
    return material && (() => listeners.renewTls(material));
  };
  const reload = createReload({ ...node, replacePeers, readTls: readNewTls });
  const registry = new PeerRegistry({ ...node, home: config.home, reload });
  onStop(registry.keepFresh(config.a2a.refreshSeconds));
  const operations = operationsOf(options);
  const listeners = await createListeners(node, {
    rightFor: (path) => rightForPath(operations, path),
    problem: () => node.storage.problem(),
    mounts: [ownerMount({ ...node, hasPush, registry, isTrial: options.isTrial })],
  });
  const bound = await startServing({ ...node, listeners, push }, onStop, listen);
  onStop(startDrift(node));
  const { token, model, root } = node;
  return {
    /** An `AppAddress` when the node listens. */
    address: { ...bound, token, model: model.id, agents: [...node.agents.keys()], root },
    reload,
    handleMounted: listeners.handleMounted,
  };
}

/** Opens what the node keeps and what it is known by: folders, credentials, logs, keys and the database. */
async function openBase(options: AppOptions, stopping: AbortSignal, onStop: OnStop) {
  const { config, hidden = new Set(secretValues(options.secrets)) } = options;
  await prepareFolders(config);
  warnOfWritable(config, options.logger);
  const token = await openToken(options);
  const tls = await readTls(config.server.tls);
  const observers = await openObservers(options, hidden, onStop);
  const { read: keys, seal } = await openKeys(config.home);
  const { interrupted = stopping } = options;
  const ending = AbortSignal.any([stopping, interrupted]);
  const storage = await openStores({ ...options, stopping: ending }, onStop);
  return { ...options, token, tls, ...observers, hidden, keys, seal, storage, stopping };
}

/**
 * Makes the sub-agents and the remote agents peers. Returns the function that replaces the remote ones by those of
 * another configuration.
 */
async function joinPeers(
  node: Parameters<typeof localSources>[0] & Parameters<typeof openRemoteSources>[1] & Parts<'peers'>,
  options: AppOptions,
) {
  const local = localSources(node);
  await node.peers.replace(local);
  const replacePeers = (list: LoadedConfig) =>
    node.peers.replace([...local, ...openRemoteSources(list, node)]);
  // Not awaited: a remote agent whose card hangs delays neither recovery nor readiness.
  void replacePeers(options);
  return replacePeers;
}

type ServingParts = Parts<'config' | 'secrets' | 'journal' | 'storage' | 'logger'> &
  Readonly<{ listeners: Listeners; push: Push | undefined }>;

/** Starts the parts that work by themselves, and opens the ports last. Returns no ports inside another app. */
async function startServing(node: ServingParts, onStop: OnStop, listen: boolean) {
  const { journal, listeners, push } = node;
  // At the same time: the journal takes its runs back, and stores new tasks for others, while the listeners still serve.
  onStop(async () => void (await Promise.all([listeners.stop(), journal.stop()])));
  await journal.start();
  const bound = listen ? await listeners.start() : undefined;
  const { file } = node.config.storage.sqlite;
  const database = node.secrets.databaseUrl === undefined && file !== IN_MEMORY ? file : undefined;
  if (bound) onStop(await recordRunningServer(node.config.home, { port: bound.port, database }));
  onStop(() => push?.deliveries.stop());
  await push?.deliveries.start();
  onStop((await startTraceExportOf(node)) ?? (() => undefined));
  return bound;
}

function openJournal(
  node: Parts<'config' | 'storage' | 'metrics' | 'agents' | 'peers' | 'guard' | 'logger'>,
): RunningJournal {
  const { config, storage, metrics, agents, peers, guard: secrets, logger } = node;
  const { concurrentRuns, runsPerCaller, queuedTasks, drainSeconds } = config.server.limits;
  const limit = ownerTaskBytes(config);
  return new RunningJournal({
    disk: limit === undefined ? undefined : new TaskDisk({ use: storage.taskUse, limit, logger }),
    ...{ agents, peers, secrets, logger, concurrentRuns, runsPerCaller, queuedTasks, drainSeconds },
    store: metrics?.observeStore(storage.tasks) ?? storage.tasks,
    eventsPerTask: config.tasks.events,
    runSeconds: agentLimits(config).seconds,
  });
}

/** Opens the audit log, and the metrics, which count its entries. Without `metrics.enabled` there are none. */
async function openObservers(options: AppOptions, secrets: Set<string>, onStop: OnStop) {
  const { config, logger } = options;
  const { audit, close } = await openAudit({ file: config.logging.auditFile, secrets, logger });
  onStop(close);
  const metrics = await openMetricsOf(options);
  return { audit: metrics?.observeAudit(audit) ?? audit, metrics };
}

/**
 * Opens the capabilities with their tools, and the access to secrets that one of them may offer. The `logger` of the
 * result writes no value of a secret.
 */
async function openAbilities(options: AppOptions & Parts<'storage' | 'keys'>, onStop: OnStop) {
  const parsers = new Parsers(options.config.parsing);
  onStop(() => parsers.close());
  const inAddresses = scrubberOf(options.secrets.inAddresses);
  let everywhere: Scrubber = inAddresses;
  const logger = scrubLogger(options.logger, () => everywhere);
  const capabilities = openCapabilities({ ...options, parsers, logger });
  onStop(() => capabilities.close());
  const access = await capabilities.services.find(SECRETS)?.();
  if (access) everywhere = both(access.everywhere, inAddresses);
  const families = await capabilities.openFamilies();
  logFindings(families, logger);
  const guard = alsoHiding(access?.guard ?? noSecrets, inAddresses);
  return { capabilities, families, parsers, guard, logger };
}
