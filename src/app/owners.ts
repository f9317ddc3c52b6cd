import type { RefreshingDirectory } from '../a2a/client/directory.js';
import { cardJson } from '../a2a/server/card.js';
import type { PublishedAgent } from '../a2a/server/operations.js';
import { signCard } from '../a2a/server/signing.js';
import { exportTask } from '../a2a/server/task-reading.js';
import { skillIdOf } from '../agents/capabilities.js';
import type { Config } from '../config/config.js';
import type { LoadedConfig } from '../config/load.js';
import { rootAgentName, type Agent, type Skill } from '../core/agent.js';
import { LangoError, isLangoError } from '../core/errors.js';
import type { ReadKeys } from '../core/card.js';
import type { Audit } from '../core/identity.js';
import type { Journal } from '../core/journal.js';
import type { Logger } from '../core/logger.js';
import type { ModelProvider } from '../core/model.js';
import type { OwnedKind } from '../core/page.js';
import type { PushStore } from '../stores/pushes.js';
import type { DocumentIndex } from '../capabilities/knowledge/stores/library.js';
import type { SavedSkills } from '../capabilities/skills/saved-skills.js';
import type { Storage } from '../stores/storage.js';
import { scopeKey, type Scope } from '../core/task.js';
import type { ToolFamily } from '../core/tool-family.js';
import { SIGN_INS } from '../core/vault-fields.js';
import type { Vault } from '../core/vault.js';
import type { WalletStore } from '../capabilities/payments/payment-store.js';
import { mountEndpoints, type Mount } from '../http/web-app.js';
import { createDirectClient, createOwnerClient, type OwnerClient } from '../owners/client.js';
import { createOwnedBill } from '../owners/bill.js';
import { createOwnedData, type OwnedData } from '../owners/data.js';
import { ownerEndpoints } from '../owners/endpoints.js';
import { withNodes, type OtherNodes } from '../owners/other-nodes.js';
import { createOwnerService, type OwnerContext, type OwnerParts } from '../owners/service.js';
import { createOwnedTasks } from '../owners/tasks.js';
import { primaryCode } from '../storage/sqlite/failure.js';
import { createTaskTraces } from '../telemetry/spans.js';
import { factKey } from '../capabilities/knowledge/facts/index.js';
import type { Parsers } from '../parsing/parsers.js';
import { createOwnedFiles } from '../capabilities/workspace/fs/index.js';
import { createSkills, openSavedSkills } from '../capabilities/skills/skills.js';
import type { SealedVault } from '../capabilities/secrets/vault/vault.js';
import { isOperator } from './identity.js';
import { signOut } from './mcp.js';
import type { PeerRegistry } from './peers.js';
import {
  createDisk,
  isKeptElsewhere,
  openStorage,
  openVaultAccess,
  ownedSkillsRoot,
  prepareFolders,
  type VaultAccess,
} from './stores.js';
import { openLibrary } from './knowledge.js';

export interface NodeParts {
  readonly config: Config;
  readonly storage: Storage;
  readonly journal: Journal;
  readonly vault: VaultAccess;
  readonly documents: DocumentIndex;
  readonly families: readonly ToolFamily[];
  /** The agent that answers at the root of the host. */
  readonly root: string;
  readonly model: ModelProvider;
  readonly agents: ReadonlyMap<string, Agent>;
  readonly peers: RefreshingDirectory;
  /** Undefined when no push notifications are sent. */
  readonly pushes: PushStore | undefined;
  readonly registry: PeerRegistry;
  readonly published: ReadonlyMap<string, PublishedAgent>;
  readonly keys: ReadKeys;
  readonly audit: Audit;
  readonly logger: Logger;
}

/** The routes of a running node for the data of its callers, and for the status of the node. */
export function ownerMount(parts: NodeParts): Mount {
  const { config, journal, vault, documents, families, registry } = parts;
  const { root, model, agents, peers, pushes } = parts;
  const service = createOwnerService({
    ...vaultParts(parts, () => Promise.resolve(vault)),
    skills: savedSkillsOf(parts),
    documents: async () => documents,
    data: openData(
      parts,
      journal,
      families.flatMap(({ ownedData }) => ownedData ?? []),
    ),
    bill: createOwnedBill({ ...parts.storage, tasks: journal }),
    trace: createTaskTraces({ tasks: journal }),
    status: async () => {
      await peers.ready();
      return {
        root,
        model: model.id,
        published: [...agents.keys()],
        peers: peers.states(),
        families: families.map(({ name, state, note, hint }) => ({ name, state, note, hint })),
        findings: families.flatMap(({ findings = [] }) => findings),
        push: await pushes?.counts(),
      };
    },
    card: async (name) => {
      const own = parts.published.get(name)?.card();
      const signed = own && config.a2a.signCards ? signCard(own, (await parts.keys()).current) : own;
      const card = signed ? cardJson(signed) : peers.cardOf(name);
      if (!card) throw new LangoError('not-found', `There is no card of an agent "${name}" here.`);
      const { lintCard } = await import('../a2a/client/card-lint.js');
      return { card, findings: lintCard(card, { bytes: Buffer.byteLength(JSON.stringify(card)) }) };
    },
    operators: {
      async listOwners(after, caller) {
        assertOperator(config.auth, caller);
        const owners = await parts.storage.retention.listOwners(after, OWNERS_PER_PAGE);
        const isLast = owners.length < OWNERS_PER_PAGE;
        return { owners: owners.filter((one) => scopeKey(one) !== scopeKey(caller.scope)), isLast };
      },
      async addAgent(agent, caller) {
        assertOperator(config.auth, caller);
        return { agent: await registry.add(agent) };
      },
      async removeAgent({ name }, caller) {
        assertOperator(config.auth, caller);
        await registry.remove(name);
        return { removed: name };
      },
    },
  });
  const ofAllNodes = withNodes(service, otherNodesOf(parts));
  return mountEndpoints(
    ownerEndpoints({ service: ofAllNodes, maxBytes: documents.maxBytes, audit: parts.audit }),
  );
}

const OWNERS_PER_PAGE = 100;

/** The nodes of the remote agents, and the tools that show which node keeps which kind of data. */
function otherNodesOf({ agents, peers }: NodeParts): OtherNodes {
  const isIn = (skills: readonly Skill[], tool: string) => skills.some(({ id }) => id === skillIdOf(tool));
  return {
    hasTool: (tool) => [...agents.values()].some(({ profile }) => isIn(profile.skills, tool)),
    nodes: () =>
      peers.remotes().map(({ source: { name = '', url, fetchAs }, skills }) => ({
        ...{ agent: name, url },
        hasTool: (tool) => skills && isIn(skills, tool),
        clientFor:
          fetchAs &&
          (async ({ scope, scopes }) =>
            createOwnerClient({ url, fetch: await fetchAs({ ...scope, ...(scopes && { scopes }) }) })),
      })),
  };
}

/** The data folder of a node that does not run, opened by a command. */
export interface Home {
  /** The data of the owner in this folder. */
  readonly client: OwnerClient;
  /** Rejects, with nothing changed, when the vault cannot be opened. */
  vault(): Promise<SealedVault>;
  close(): Promise<void>;
}

interface HomeOptions {
  readonly logger: Logger;
  /** The owner of the data. Default: the owner of the server's own token. */
  readonly owner?: string | undefined;
}

/** Resolves with undefined when a server has the data folder open. Opens each part when it is first used. */
export async function openHome(
  loaded: LoadedConfig,
  { logger, owner }: HomeOptions,
): Promise<Home | undefined> {
  const { config } = loaded;
  const storage = await openIfFree(loaded, logger);
  if (!storage) return undefined;
  const vault = once(() => openVaultAccess({ ...loaded, storage, logger }));
  const { Parsers } = await import('../parsing/parsers.js');
  const parsers = new Parsers(config.parsing);
  const library = once(() => openLibrary({ ...loaded, storage, parsers, logger }));
  const service = createOwnerService({
    ...vaultParts({ config, logger }, vault.open),
    skills: savedSkillsOf({ config, logger }),
    documents: async () => (await library.open()).documents,
    data: openData({ config, storage }, storedTasks(storage), ownedFiles({ config, parsers, logger })),
    bill: createOwnedBill(storage),
    trace: createTaskTraces(storage),
    card: noServer,
    status: noServer,
    operators: { addAgent: noServer, removeAgent: noServer, listOwners: noServer },
  });
  const scope: Scope = { tenant: '', owner: owner ?? (config.auth.mode === 'none' ? 'local' : 'default') };
  return {
    client: createDirectClient(service, scope),
    vault: async () => requireVault(await vault.open()).vault,
    async close() {
      parsers.close();
      await (await library.opened())?.retrieval.close();
      await storage.close();
    },
  };
}

async function noServer(): Promise<never> {
  throw new LangoError('unavailable', 'No server runs with this data folder.', {
    hint: 'Start one with: lango serve',
  });
}

/** Throws `forbidden` for a caller who is not an operator. */
function assertOperator(auth: Config['auth'], { scope, scopes }: OwnerContext): void {
  if (isOperator(auth, scope.owner, scopes)) return;
  const hint =
    auth.mode === 'jwt'
      ? `It takes a token with the scope ${auth.jwt.operatorScope}.`
      : 'List remote agents in a2a.remoteAgents of the configuration.';
  throw new LangoError('forbidden', 'This is for an operator of the server.', { hint });
}

async function openIfFree(loaded: LoadedConfig, logger: Logger): Promise<Storage | undefined> {
  const { config, secrets } = loaded;
  if (secrets.databaseUrl === undefined && config.storage.sqlite.file === ':memory:') return undefined;
  await prepareFolders(config);
  try {
    return await openStorage({ ...loaded, logger });
  } catch (error) {
    if (isLangoError(error, 'storage') && primaryCode(error.cause) === 'SQLITE_BUSY') return undefined;
    throw error;
  }
}

/** Opens a part at its first use. */
function once<Part>(open: () => Promise<Part>) {
  let part: Promise<Part> | undefined;
  return {
    open: () => (part ??= open()),
    /** Undefined when the part was never used, or could not be opened. */
    opened: async () => part?.catch(() => undefined),
  };
}

function vaultParts(
  { config, logger }: Pick<NodeParts, 'config' | 'logger'>,
  open: () => Promise<VaultAccess>,
): Pick<OwnerParts, 'secrets' | 'signInOf' | 'wallets'> {
  return {
    async signInOf(scope, name) {
      if (!name.startsWith(SIGN_INS)) return undefined;
      // A damaged entry can be deleted too.
      const entry = await requireVault(await open())
        .secrets.open(scope, name)
        .catch(() => undefined);
      return () => signOut({ config, logger }, name, entry?.value);
    },
    async secrets() {
      if (!isKeptElsewhere(config, 'secrets')) return requireVault(await open()).secrets;
      const url = config.a2a.keptAt.secrets?.url;
      const text = 'This server keeps no secrets: it uses those of another server.';
      throw new LangoError('not-supported', text, { hint: `Name that server: --url ${url}` });
    },
    wallets: async () => openWallets(requireVault(await open()).vault),
  };
}

function requireVault(access: VaultAccess): Extract<VaultAccess, { readonly problem?: undefined }> {
  if (access.problem) throw access.problem;
  return access;
}

/** Loads the library of the chain when a wallet is used, not before. */
async function openWallets(vault: Vault): Promise<WalletStore> {
  const { Wallets } = await import('../capabilities/payments/wallets.js');
  const wallets = new Wallets(vault);
  return {
    address: async (scope) => (await wallets.require(scope)).address,
    import: (scope, privateKey, options) => wallets.import(scope, privateKey, options),
  };
}

type ReadableTasks = Pick<Journal, 'get' | 'read' | 'cancel'>;

/** `otherKinds` are the kinds of data that tool families keep outside of the storage. */
function openData(
  { config, storage }: Pick<NodeParts, 'config' | 'storage'>,
  tasks: ReadableTasks,
  otherKinds: readonly OwnedKind[],
): OwnedData {
  const agentName = rootAgentName(config.agent.multiAgent);
  const owned = createOwnedTasks({
    retention: storage.retention,
    tasks,
    exportTask: (record, after) => exportTask(tasks, record, { after, rootAgentName: agentName }),
  });
  return createOwnedData({ storage, tasks: owned, otherKinds, factKey });
}

/** The tasks of a node that does not run: all can be read, none can be canceled. */
function storedTasks({ tasks }: Storage): ReadableTasks {
  return {
    get: (scope, taskId) => tasks.get(scope, taskId),
    read: (taskId, after, limit) => tasks.read(taskId, after, limit),
    async cancel(_scope, taskId) {
      const text = `Task ${taskId} has not ended, and no server runs that could cancel it.`;
      const hint = 'Start the server with "lango serve" and run the command again.';
      throw new LangoError('unavailable', text, { hint });
    },
  };
}

interface FileContext {
  readonly config: Config;
  readonly parsers: Parsers;
  readonly logger: Logger;
}

/** The skills that owners saved here. */
function savedSkillsOf({ config, logger }: Pick<NodeParts, 'config' | 'logger'>): SavedSkills {
  const owned = ownedSkillsRoot(config);
  return openSavedSkills({ ...createDisk(config), shared: [], hasWorkspaceSkills: false, owned, logger });
}

/** The files of owners: their skills, and their workspace where each owner has one. */
function ownedFiles({ config, parsers, logger }: FileContext): readonly OwnedKind[] {
  const disk = createDisk(config);
  const owned = ownedSkillsRoot(config);
  const { ownedData: ownedSkills } = createSkills({
    ...disk,
    shared: [],
    hasWorkspaceSkills: false,
    owned,
    parsers,
    logger,
  });
  return disk.folders.isApart ? [createOwnedFiles(disk), ownedSkills] : [ownedSkills];
}
