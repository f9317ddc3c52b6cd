import { hostname } from 'node:os';
import { OWNER_CALL_MS } from '../a2a/client/remote-sources.js';
import { cardJson } from '../a2a/server/card.js';
import { createGrant } from '../a2a/server/grant.js';
import { signCard } from '../a2a/server/signing.js';
import { exportTask } from '../a2a/server/task-reading.js';
import { skillIdOf } from '../agents/capabilities.js';
import type { OpenCapabilities } from '../capabilities/open-capabilities.js';
import type { LoadedConfig } from '../config/load.js';
import { openKeys } from '../config/node-credentials.js';
import type { PeerRegistry } from '../config/peer-registry.js';
import { rootAgentName } from '../core/agent.js';
import { LangoError } from '../core/errors.js';
import { createAddressCheck } from '../http/address-check.js';
import type { Journal } from '../core/journal.js';
import type { Logger } from '../core/logger.js';
import type { OperationClient, OperationHandlers, OperationTable } from '../core/operation.js';
import type { Services } from '../core/service.js';
import { howToOperate, isOperator, ownOwner } from '../http/identity.js';
import { mountEndpoints, type Mount } from '../http/web-app.js';
import { agentLimits, ownerTaskBytes } from '../config/config.js';
import { packageVersion } from '../config/package-root.js';
import { createTaskRecords } from '../replay/collect.js';
import { compareRequests } from '../replay/replay.js';
import { createComparison } from '../replay/comparison.js';
import { createTaskFork } from '../replay/fork.js';
import { createTaskImport } from '../replay/import.js';
import { createSentRequests } from '../replay/sent-request.js';
import { parseTaskText } from '../replay/task-file.js';
import { createAgentMap } from '../owners/agent-map.js';
import { createOwnedBill } from '../owners/bill.js';
import { createDirectClient, createOwnerClient } from '../owners/client.js';
import { createOwnedData, type DataHandlers } from '../owners/data.js';
import { ownerEndpoints } from '../owners/endpoints.js';
import { SERVER_OPERATIONS, type EvaluationOperations } from '../owners/operations.js';
import { withNodes, type ClientFor, type OtherNodes } from '../owners/other-nodes.js';
import { NEEDS_SERVER, operatorHandlers, storedTasks } from '../owners/service.js';
import type { OwnerService, OwnerParts } from '../owners/service.js';
import { createOwnedOverview } from '../owners/overview.js';
import { createOwnedTasks } from '../owners/tasks.js';
import { createTaskTraces } from '../telemetry/spans.js';
import { openCapabilities } from './capabilities.js';
import { egressOf, type Parts } from './node.js';
import { keepingNodesOf } from './peers.js';
import { openFreeStorage } from './stores.js';

interface MountParts
  extends
    Parts<
      'config' | 'schema' | 'storage' | 'journal' | 'families' | 'root' | 'model' | 'agents' | 'agentFindings'
    >,
    Parts<'peers' | 'published' | 'keys' | 'audit' | 'settings' | 'logger' | 'guard' | 'access'> {
  readonly capabilities: OpenCapabilities;
  /** Whether push notifications are sent. */
  readonly hasPush: boolean;
  readonly registry: PeerRegistry;
  /** Whether this is a server for one evaluation. */
  readonly isTrial?: true | undefined;
}

/** All operations on the data of owners, by name: those of the server, and those of its capabilities. */
export function operationsOf({ schema }: Pick<LoadedConfig, 'schema'>): OperationTable {
  const ofCapabilities = schema.capabilities.map(({ operations }) => operations);
  return Object.assign({}, SERVER_OPERATIONS, ...ofCapabilities) as OperationTable;
}

type ServiceParts = OwnerParts & Pick<MountParts, 'schema' | 'capabilities'>;

function createOwnerService({ schema, capabilities, ...own }: ServiceParts): OwnerService {
  return {
    table: operationsOf({ schema }),
    handlers: { ...capabilities.operations, ...(own as unknown as OwnerService['handlers']) },
    bodyBytes: (operation) => (TAKE_FILES.has(operation) ? FILE_BYTES : capabilities.bodyBytes(operation)),
  };
}

/** The routes of a running node for the data of its callers, and for the status of the node. */
export function ownerMount(parts: MountParts): Mount {
  const { config, schema, storage, journal, capabilities, families, registry, root, model, peers } = parts;
  const names = [...parts.agents.keys()];
  const overview = createOwnedOverview({ ...storage, tasks: journal, agents: names });
  const readEdges = createAgentMap({
    ...{ tasks: journal, agents: names, nodeId: storage.nodeId },
    hasRemotes: () => peers.remotes().length > 0,
  });
  const { guard: secrets, agents, isTrial } = parts;
  const { tasks: store, nodeId } = storage;
  const importTask = createTaskImport({
    store,
    secrets,
    agents,
    root,
    nodeId,
    isTrial,
    limits: config.tasks,
  });
  const readRequest = createSentRequests({ readRecord: recordsOf(parts, journal), agents, secrets });
  const service = createOwnerService({
    ...{ schema, capabilities },
    readMap: async ({ hours }, { scope }) => ({ edges: await readEdges(scope, hours) }),
    readNodes: nodeItself(parts),
    readOverview: ({ hours }, { scope }) => overview(scope, hours),
    ...openData(parts, journal, capabilities),
    readBill: createOwnedBill({ ...storage, tasks: journal }),
    ...readersOf(parts, journal),
    importTask: ({ content }, { scope }) => importTask(scope, parseTaskText(content.toString())),
    readRequest: ({ taskId, step }, { scope }) => readRequest(scope, taskId, step),
    forkTask: forkOf(parts),
    compareRequests: ({ content }, { scope }) =>
      compareRequests(parseTaskText(content.toString()), { agents, scope }),
    readStatus: async (_input, { scope }) => {
      await peers.ready();
      const limit = ownerTaskBytes(config);
      return {
        root,
        model: model.id,
        published: names,
        peers: peers.states(),
        families: families.map(({ name, state, note, hint }) => ({ name, state, note, hint })),
        findings: [...families.flatMap(({ findings = [] }) => findings), ...parts.agentFindings],
        dailyCost: agentLimits(config).ownerCostPerDay,
        taskUse: limit === undefined ? undefined : { bytes: await storage.taskUse.of(scope), limit },
        push: parts.hasPush ? await storage.pushes.counts() : undefined,
      };
    },
    readCard: async ({ name }) => {
      const own = parts.published.get(name)?.card();
      const signed = own && config.a2a.signCards ? signCard(own, (await parts.keys()).current) : own;
      const card = signed ? cardJson(signed) : peers.cardOf(name);
      if (!card) throw new LangoError('not-found', `There is no card of an agent "${name}" here.`);
      const { lintCard } = await import('../a2a/client/card-lint.js');
      return { card, findings: lintCard(card, { bytes: Buffer.byteLength(JSON.stringify(card)) }) };
    },
    ...operatorHandlers({
      isOperator: ({ scope, scopes, node }) => isOperator(config.auth, { owner: scope.owner, scopes, node }),
      hint: howToOperate(config.auth),
      retention: storage.retention,
      agents: registry,
      inspect: inspectorOf(parts),
      evaluations: evaluationsOf(parts, importTask),
    }),
  });
  const ofAllNodes = withNodes(service, otherNodesOf(parts));
  return mountEndpoints(ownerEndpoints(ofAllNodes, parts.audit));
}

function nodeItself({ config, storage }: Parts<'config' | 'storage'>): OwnerParts['readNodes'] {
  const here = { id: storage.nodeId, name: config.node.name ?? hostname() };
  return async () => ({ nodes: [here] });
}

/** The nodes of the remote agents, and those that keep data of owners by the configuration. */
function otherNodesOf(parts: MountParts): OtherNodes {
  const { agents, config, peers } = parts;
  const find = keepingNodesOf(parts, OWNER_CALL_MS);
  const placed = Object.entries(config.a2a.keptAt).filter(([, node]) => node !== undefined);
  const keepers = new Map(placed.map(([kind]) => [kind, find(kind)]));
  return {
    hasTool: (tool) =>
      [...agents.values()].some(({ profile }) => profile.skills.some(({ id }) => id === skillIdOf(tool))),
    keepingNode: (kind) => keepers.get(kind),
    isPlaced: (kind) => keepers.has(kind),
    told: () => peers.nodes(),
    nodes: () =>
      peers.remotes().map(({ name = '', url, fetchAs }) => ({
        ...{ agent: name, url },
        clientFor:
          fetchAs &&
          ((async (table, { scope, scopes }) => {
            const fetch = await fetchAs({ ...scope, scopes });
            return createOwnerClient(table, { url, fetch });
          }) satisfies ClientFor),
      })),
  };
}

/** The data folder of a node that does not run, opened by a command. */
interface Home extends AsyncDisposable {
  /** Makes the client of these operations on the data of the owner in this folder. */
  client<Table extends OperationTable>(table: Table): OperationClient<Table>;
  readonly services: Services;
}

/**
 * Resolves with undefined when a server has the data folder open. Capabilities open each part when it is first used.
 * Default of `owner`: the owner of the server's own token.
 */
export async function openHome(
  loaded: LoadedConfig,
  { logger, owner }: { readonly logger: Logger; readonly owner?: string | undefined },
): Promise<Home | undefined> {
  const { config, schema } = loaded;
  const storage = await openFreeStorage({ ...loaded, logger });
  if (!storage) return undefined;
  const { Parsers } = await import('../parsing/parsers.js');
  const parsers = new Parsers(config.parsing);
  const keys = async () => (await openKeys(config.home)).read();
  const capabilities = openCapabilities({ ...loaded, storage, parsers, keys, logger });
  const service = createOwnerService({
    ...{ schema, capabilities },
    ...openData({ config, storage }, storedTasks(storage.tasks), capabilities),
    readBill: createOwnedBill(storage),
    ...readersOf({ config, storage }, storage.tasks),
    ...NEEDS_SERVER,
    readNodes: nodeItself({ config, storage }),
  });
  const scope = owner === undefined ? ownOwner(config.auth) : { tenant: '', owner };
  return {
    client: (table) => createDirectClient(table, service, scope),
    services: capabilities.services,
    async [Symbol.asyncDispose]() {
      parsers.close();
      await capabilities.close();
      await storage.close();
    },
  };
}

/** The records of tasks, as this node exports them. */
export function recordsOf(
  { config, storage }: Parts<'config' | 'storage'>,
  tasks: Pick<Journal, 'get' | 'read'>,
) {
  const node = { id: storage.nodeId, version: packageVersion() };
  return createTaskRecords(tasks, agentLimits(config), node);
}

function readersOf(
  parts: Parts<'config' | 'storage'>,
  tasks: Pick<Journal, 'get' | 'read'>,
): Pick<OwnerParts, 'readTrace' | 'readTaskRecord' | 'compareTasks'> {
  const readTrace = createTaskTraces({ tasks });
  const readRecord = recordsOf(parts, tasks);
  const compare = createComparison(readRecord);
  return {
    compareTasks: ({ taskId, with: other }, { scope }) => compare(scope, taskId, other),
    readTrace: ({ taskId }, { scope }) => readTrace(scope, taskId),
    async readTaskRecord({ taskId, after }, { scope }) {
      const { task, next } = await readRecord(scope, taskId, after);
      return { task: { ...task }, ...(next !== undefined && { next }) };
    },
  };
}

function inspectorOf(parts: MountParts): Parameters<typeof operatorHandlers>[0]['inspect'] {
  return async (request, signal) => {
    const allowPrivate = parts.peers.remotes().flatMap(({ url, settings }) => {
      const { agent } = settings as { readonly agent?: { readonly allowPrivate?: boolean } };
      return agent?.allowPrivate === true ? [new URL(url).host] : [];
    });
    const addressOf = createAddressCheck([...parts.config.egress.allowPrivate, ...allowPrivate]);
    const { inspectAgent } = await import('../a2a/client/inspect.js');
    return inspectAgent(request, { createFetch: egressOf(parts), allowPrivate, addressOf, signal });
  };
}

/** The operations that take the file of a task, and its largest size. */
const TAKE_FILES: ReadonlySet<string> = new Set(['importTask', 'compareRequests']);
const FILE_BYTES = 16 * 1024 * 1024;

function evaluationsOf(
  { config, agents, root }: MountParts,
  importTask: ReturnType<typeof createTaskImport>,
) {
  const open = async () =>
    (await import('../evals/runs.js')).createEvaluationRuns(config.home, config.bill.currency);
  let opened: ReturnType<typeof open> | undefined;
  const runs = () => (opened ??= open());
  return {
    listEvaluations: async () => (await runs()).list(),
    readEvaluation: async ({ run, before }) => (await runs()).read(run, before),
    async importEvaluatedTask({ run, result }, { scope }) {
      const file = await (await runs()).readTask(run, result);
      const { agent } = file.tasks[0]!;
      const { taskId } = await importTask(scope, file);
      return { taskId, agent: agents.has(agent) ? agent : root };
    },
  } satisfies OperationHandlers<EvaluationOperations>;
}

/** A fork is a task of its own that the person begins: it has the rights that a request of theirs has now. */
function forkOf({ config, storage, journal, agents, access, isTrial }: MountParts): OwnerParts['forkTask'] {
  const fork = createTaskFork({ journal, agents, isTrial });
  const limits = agentLimits(config);
  return async (request, { scope, scopes, node }) => {
    const caller = { ...scope, scopes };
    // The server pays for the model, and an instruction may hold its rules.
    const varies = request.model !== undefined || request.instruction !== undefined;
    if (varies && !isOperator(config.auth, { owner: scope.owner, scopes, node }))
      throw new LangoError('forbidden', 'Only an operator may fork with another model or instruction.', {
        hint: 'Leave out --model and --instruction.',
      });
    const task = await fork(scope, request, (agent) => {
      const needed = access.scopeOf(agent);
      if (needed !== undefined && !scopes?.has(needed))
        throw new LangoError('forbidden', `The agent ${agent} needs the scope ${needed}.`);
      const self = `${agent}@${storage.nodeId}`;
      return createGrant({ limits, self, toolsFor: access.toolsFor })(
        { parentTaskId: undefined, grant: {} },
        caller,
      );
    });
    return { taskId: task.id, contextId: task.contextId, agent: task.agent, at: task.fork!.seq };
  };
}

function openData(
  { config, storage }: Parts<'config' | 'storage'>,
  tasks: Pick<Journal, 'get' | 'read' | 'cancel'>,
  capabilities: OpenCapabilities,
): DataHandlers {
  const agentName = rootAgentName(config.agent.multiAgent);
  const owned = createOwnedTasks({
    retention: storage.retention,
    tasks,
    exportTask: (record, after) => exportTask(tasks, record, { after, rootAgentName: agentName }),
  });
  return createOwnedData({ database: storage.database, tasks: owned, others: capabilities.ownedData });
}
