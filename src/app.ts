import { createDoors } from './app/doors.js';
import { createAgents } from './app/agents.js';
import { createAccess } from './app/access.js';
import { openLocks } from './app/locks.js';
import { openExtraction } from './app/extraction.js';
import { openFamilies } from './app/families.js';
import { prepareFolders } from './app/folders.js';
import { openMemory } from './app/memory.js';
import { ownerMount } from './app/owners.js';
import { openLibrary } from './app/knowledge-families.js';
import { openJournal } from './app/journal.js';
import { createModel } from './app/model.js';
import { createPeers, keepFresh, lateDirectory } from './app/peers.js';
import { createPush } from './app/push.js';
import { publish } from './app/publishing.js';
import type { ReadConfig, Reload } from './app/reload.js';
import { createReload } from './app/reload.js';
import { sweepOldTasks } from './app/retention.js';
import { seekSandbox } from './app/sandbox.js';
import { guardOf, openVaultAccess } from './app/vault.js';
import { openKeys } from './config/node-credentials.js';
import type { LoadedConfig } from './config/load.js';
import { loadPrompts } from './config/prompts.js';
import { secretValues } from './config/secrets.js';
import type { Agent } from './core/agent.js';
import { errorText } from './core/errors.js';
import type { Logger } from './core/logger.js';
import { scrubLogger } from './scrub/logger.js';
import type { ModelProvider } from './core/model.js';
import type { Run } from './core/run.js';
import { noScrubber } from './core/secrets.js';
import type { Tool, ToolFamily } from './core/tool.js';
import { openSqliteStorage } from './storage/sqlite/storage.js';

export { openHome } from './app/owners.js';

export interface AppOptions extends LoadedConfig {
  readonly logger: Logger;
  /** What the logger hides: gets the secrets of each configuration that is taken up. Default: a set of its own. */
  readonly hidden?: Set<string>;
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
  /** Undefined without gRPC. */
  readonly grpcPort: number | undefined;
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
  /**
   * Takes up another list of remote agents and reads the files of the TLS certificate again. Without `read` the list
   * stays. Resolves once new agents were looked at. Rejects with `invalid-config` when anything is wrong: then nothing
   * changes. Does nothing before `start` and after `stop`.
   */
  reload(read?: ReadConfig): Promise<void>;
  /** Tells open streams, refuses new work, gives running tasks back to the journal, closes everything. Never rejects. */
  stop(): Promise<void>;
}

/** The whole server, put together from its configuration. Nothing is opened before `start`. */
export function createApp(options: AppOptions): App {
  const closers: (() => Promise<void> | void)[] = [];
  const stopping = new AbortController();
  let reload: Reload = async () => {};
  const stop = async (): Promise<void> => {
    stopping.abort();
    for (const close of closers.splice(0).reverse()) {
      await Promise.resolve(close()).catch((error: unknown) =>
        options.logger.warn('could not stop cleanly', { error: errorText(error) }),
      );
    }
  };
  return {
    stop,
    reload: (read) => reload(read),
    async start() {
      try {
        return await open(options, {
          onStop: (close) => closers.push(close),
          onReload: (again) => {
            reload = again;
          },
          stopping: stopping.signal,
        });
      } catch (error) {
        await stop();
        throw error;
      }
    },
  };
}

interface Hooks {
  readonly onStop: (close: () => Promise<void> | void) => void;
  readonly onReload: (reload: Reload) => void;
  readonly stopping: AbortSignal;
}

async function open(options: AppOptions, { onStop, onReload, stopping }: Hooks): Promise<AppAddress> {
  const { config, secrets, hidden = new Set(secretValues(options.secrets)) } = options;
  await prepareFolders(config);
  const sandbox = seekSandbox(config);
  const locks = await openLocks({ config, secrets, hidden, logger: options.logger });
  onStop(() => locks.close());
  const { storage, nodeId, vault, library, logger } = await openStores(options, onStop);
  const opening = openFamilies({ config, storage, vault, sandbox, logger }, library);
  opening.catch(() => undefined);

  const model = options.model ?? (await createModel(config, secrets, logger));
  if (!options.model) logger.info('model chosen', { model: model.id, reason: config.model.reason });
  const { retrieval } = await library;
  const memory = await openMemory({ config, secrets, storage, retrieval, model: options.model, logger });
  const families = [...(await opening), ...memory.families];
  onStop(() => closeAll(families));
  const tools = [...families.flatMap((family) => family.tools), ...(options.tools ?? [])];
  const directory = lateDirectory(() => peers.directory);
  const { agents, subAgents, origins, root } = createAgents({
    config,
    tools,
    source: families.find(({ source }) => source)?.source,
    own: options.agents ?? [],
    model,
    peers: directory,
    nodeId,
    prompts: await loadPrompts(config.agent.promptFolder),
    secrets: guardOf(vault),
    additions: options.additions,
    remembering: memory.remembering,
    logger,
  });
  const journal = openJournal({ config, storage, vault, agents, peers: directory, logger });

  const access = createAccess(config.auth, { agents, tools });
  let origin = `${locks.tls ? 'https' : 'http'}://${config.server.host}:${config.server.port}`;
  let grpcPort: number | undefined;
  const keys = await openKeys(config.home);
  const push = createPush({ config, storage, keys, baseUrl: () => config.a2a.baseUrl ?? origin, logger });
  const published = await publish({
    agents,
    origins,
    root,
    journal,
    config,
    nodeId,
    originOf: () => origin,
    grpcPortOf: () => grpcPort,
    push: push?.configs,
    access,
    audit: locks.audit,
    keys: keys.read,
  });

  const peers = createPeers({ subAgents, published, config, secrets, logger });
  onStop(await keepFresh(peers.directory, config.a2a.refreshSeconds));

  const { host, grpc, renewTls } = await createDoors({
    config,
    locks,
    agents: published,
    root,
    keys: keys.read,
    mounts: [
      ownerMount({
        ...{ config, storage, journal, vault, families, root, model, agents },
        documents: (await library).desk,
        peers: peers.directory,
        pushes: push && storage.pushes,
      }),
    ],
    logger,
  });

  // At the same time: what runs is handed back while those who wait for it are told.
  onStop(async () => void (await Promise.all([host.stop(), grpc?.stop(), journal.stop()])));
  await journal.start();
  if (grpc) grpcPort = await grpc.start();
  const address = await host.start();
  onReload(createReload({ started: options, hidden, peers, renewTls, stopping, logger }));
  origin = address.origin;
  onStop(() => push?.deliveries.stop());
  await push?.deliveries.start();
  return { ...address, grpcPort, token: locks.token, model: model.id, agents: [...agents.keys()], root };
}

/** The database, the vault in it, and a log that no secret of the vault gets into. */
async function openStores({ config, secrets, model, logger }: AppOptions, onStop: Hooks['onStop']) {
  const storage = openSqliteStorage({
    ...config.storage.sqlite,
    eventBytes: config.tasks.eventBytes,
    logger,
  });
  onStop(() => storage.close());
  onStop(sweepOldTasks({ config, storage, logger }));
  const vault = await openVaultAccess({ config, secrets, storage, logger });
  const scrubbing = scrubLogger(logger, vault.secrets?.everywhere ?? noScrubber);
  const extractor = await openExtraction({ config, secrets, storage, model, logger: scrubbing });
  onStop(() => extractor?.close());
  const onAdded = () => extractor?.wake();
  const library = openLibrary({ config, secrets, storage, onAdded, logger: scrubbing });
  return { storage, nodeId: storage.nodeId, vault, library, logger: scrubbing };
}

async function closeAll(families: readonly ToolFamily[]): Promise<void> {
  for (const family of families) await family.close?.();
}
