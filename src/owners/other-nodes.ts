import { isLangoError, LangoError, type ErrorCode } from '../core/errors.js';
import type { KnownNode } from '../core/node-status.js';
import type { KeepingNode, KeptBy, OperationClient, OperationTable } from '../core/operation.js';
import type { OwnerContext, Returned } from '../core/operation.js';
import type { DataHandlers } from './data.js';
import { SERVER_OPERATIONS, type ServerOperations } from './operations.js';
import type { OwnerService, OwnerParts } from './service.js';
import { withChildrenElsewhere, type FindNode } from './trace-across-nodes.js';

export type ClientFor = <Table extends OperationTable>(
  table: Table,
  context: OwnerContext,
) => Promise<OperationClient<Table>>;

/** The most nodes that are named. */
const MAX_NODES = 100;

/** The node of a remote agent. */
interface RemoteNode {
  /** The name of the agent on this node. */
  readonly agent: string;
  readonly url: string;
  /** Makes the client of an owner's data there; undefined when requests to the node do not name the owner. */
  readonly clientFor: ClientFor | undefined;
}

export interface OtherNodes {
  /** Whether an agent of this node has tools like this one. */
  readonly hasTool: (name: string) => boolean;
  /** Finds the server that `a2a.keptAt` names for a kind of data; undefined for this one, and where it names none. */
  readonly keepingNode: (kind: string) => KeepingNode | undefined;
  /** Whether `a2a.keptAt` names a server for a kind of data, also this one. */
  readonly isPlaced: (kind: string) => boolean;
  readonly nodes: () => readonly RemoteNode[];
  /** The nodes of all remote agents, as far as this node knows them without asking. */
  readonly told: () => readonly KnownNode[];
}

/** A node whose requests name the owner. */
type AskableNode = RemoteNode & { readonly clientFor: NonNullable<RemoteNode['clientFor']> };

/**
 * The service of a node whose agents may run on other nodes. The data of an operation's `keptBy` is on the node that the
 * configuration names: what a card says places no data. `data` covers all nodes. Operations reject with `unavailable`
 * when a node does not respond, and with `not-supported` when no node is named.
 */
export function withNodes({ table, handlers, ...service }: OwnerService, others: OtherNodes): OwnerService {
  const listAskable = (): readonly AskableNode[] => [
    ...new Map(listForwarded(others).map((node) => [new URL(node.url).origin, node])).values(),
  ];
  const routed = Object.entries(table).flatMap(([name, { keptBy }]) => {
    const here = handlers[name];
    if (!keptBy || !here) return [];
    const route: typeof here = async (input, context) => {
      const node = findNode(keptBy, others);
      if (!node) return here(input, context);
      const { scope, scopes } = context;
      const caller = { ...scope, ...(scopes && { scopes }) };
      return withAdvice(`${keptBy.what.toLowerCase()} at ${node.url}`, async () =>
        (await node.clientFor(table, caller))[name]!(input),
      );
    };
    return [[name, route] as const];
  });
  const local = handlers as unknown as OwnerParts;
  const readTrace: OwnerParts['readTrace'] = async (input, context) => {
    const trace = await local.readTrace(input, context);
    const findNode: FindNode = (name) => {
      const { url = '', clientFor } = others.nodes().find(({ agent }) => agent === name) ?? {};
      return clientFor && { url, client: () => clientFor(SERVER_OPERATIONS, context) };
    };
    return withChildrenElsewhere(trace, findNode, input.levels);
  };
  const readNodes: OwnerParts['readNodes'] = async ({ levels }, context) => {
    const { nodes } = await local.readNodes({ levels }, context);
    const asked = (levels > 0 ? listAskable() : []).map(async (node): Promise<readonly KnownNode[]> => {
      try {
        const client = await node.clientFor(SERVER_OPERATIONS, context);
        const [own, ...below] = (await client.readNodes({ levels: levels - 1 })).nodes;
        if (!own) return [];
        return [{ ...own, url: new URL(node.url).origin }, ...below.map(({ id, name }) => ({ id, name }))];
      } catch (error) {
        if (isLangoError(error)) return [];
        throw error;
      }
    });
    const lists = await Promise.all(asked);
    const own = lists.flatMap(([first]) => first ?? []);
    const isAsked = new Set(own.map(({ url }) => url));
    const told = levels > 0 ? others.told().filter(({ url }) => !isAsked.has(url)) : [];
    // The first name of an id counts: what a node says of others comes after what each says of itself.
    const all = [...nodes, ...own, ...told, ...lists.flatMap((list) => list.slice(1))];
    const named = new Map(all.toReversed().map((node) => [node.id, node]));
    return { nodes: all.filter((node) => named.get(node.id) === node).slice(0, MAX_NODES) };
  };
  const readTaskRecord: OwnerParts['readTaskRecord'] = async (input, context) => {
    const [agent, ...via] = input.via.split(',');
    if (!agent) return local.readTaskRecord(input, context);
    const node = listForwarded(others).find((one) => one.agent === agent);
    if (!node) {
      const text = `The agent ${agent} is no remote agent of this node, or requests to its node do not name the owner.`;
      throw new LangoError('not-found', text, { hint: 'See: owners, in a2a.remoteAgents' });
    }
    return askData(node, context, (client) => client.readTaskRecord({ ...input, via: via.join(',') }));
  };
  const covering = {
    readTrace,
    readTaskRecord,
    readNodes,
    ...dataOf(local, listAskable),
  } as unknown as OwnerService['handlers'];
  return { ...service, table, handlers: { ...handlers, ...Object.fromEntries(routed), ...covering } };
}

function listForwarded({ nodes }: OtherNodes): readonly AskableNode[] {
  return nodes().filter((node): node is AskableNode => node.clientFor !== undefined);
}

/** Returns the node that keeps this kind of data; undefined when this node keeps it. */
function findNode({ what, kind, tools }: KeptBy, others: OtherNodes): KeepingNode | undefined {
  const node = others.keepingNode(kind);
  if (node || others.isPlaced(kind) || tools.some(others.hasTool) || others.nodes().length === 0) return node;
  const text = `${what}: no agent of this server uses them, and its configuration does not say which server keeps them.`;
  const hint = `Set a2a.keptAt.${kind} to the address of that server, or name that server: --url URL`;
  throw new LangoError('not-supported', text, { hint });
}

function dataOf(local: DataHandlers, listAskable: () => readonly AskableNode[]): DataHandlers {
  const listKinds = async (context: OwnerContext) => {
    const others = listAskable().map((node) => askData(node, context, (client) => client.listDataKinds({})));
    const own = local.listDataKinds({}, context);
    const lists = await Promise.all([own, ...others.map((list) => orElse(list, { kinds: [] }))]);
    const bounded = lists.flatMap(({ kinds }) => kinds.filter((kind) => KIND.test(kind)).slice(0, MAX_KINDS));
    return [...new Set(bounded)];
  };
  return {
    listDataKinds: async (_input, context) => ({ kinds: await listKinds(context) }),

    /**
     * Reads the pages of this node first, then those of each other node. A cursor in the pages of another node begins with
     * its name and the bytes that it sent until then, because a node may send pages without an end.
     */
    async readData({ kind, after }, context) {
      const nodes = listAskable();
      const [, name, sent = '0', inner = ''] = /^@(\S+) (?:(\d{1,15}) (.*))?$/s.exec(after) ?? [];
      const here = nodes.findIndex(({ agent }) => agent === name);
      if (name !== undefined && here < 0) {
        const text = `The agent ${name} is no remote agent of this node any more.`;
        throw new LangoError('conflict', text, { hint: 'Start again without "after".' });
      }
      const isKnown = after !== '' || nodes.length === 0 || (await listKinds(context)).includes(kind);
      const reading: Promise<Returned<ServerOperations['readData']>> =
        name === undefined
          ? local.readData({ kind, after }, context)
          : askData(nodes[here]!, context, (client) => client.readData({ kind, after: inner }));
      const { items, next } = await (isKnown && nodes.length > 0 ? orElse(reading, { items: [] }) : reading);
      if (next !== undefined && name === undefined) return { items, next };
      if (next !== undefined) {
        const all = Number(sent) + Math.max(JSON.stringify(items).length, LEAST_PAGE_BYTES);
        if (next === inner || all > MAX_NODE_BYTES) throw endless(nodes[here]!, kind);
        return { items, next: `@${name} ${all} ${next}` };
      }
      const following = nodes[here + 1];
      return { items, next: following && `@${following.agent} ` };
    },

    async forgetData(input, context) {
      const calls = [
        local.forgetData(input, context),
        ...listAskable().map((node) => askData(node, context, (client) => client.forgetData(input))),
      ];
      const results = await Promise.allSettled(calls);
      const errors = results.flatMap((one) => (one.status === 'rejected' ? [one.reason as Error] : []));
      const found = results.flatMap((one) => (one.status === 'fulfilled' ? [one.value.deleted] : []));
      const wrong = errors.find((error) => !isLangoError(error, 'not-found'));
      if (wrong || found.length === 0) throw wrong ?? errors[0]!;
      return { deleted: sum(found) };
    },

    /** Deletes the tasks of this node first, because a running task could save more data on another node. */
    async deleteData(input, context) {
      const own = await local.deleteData(input, context);
      const calls = listAskable().map((node) => askData(node, context, (client) => client.deleteData({})));
      const others = await Promise.all(calls.map((call) => orElse(call, { deleted: {} })));
      return { deleted: sum([own, ...others].map(({ deleted }) => deleted)) };
    },
  };
}

/** The names of kinds of data, and the most of one node: each is read from all nodes. */
const KIND = /^[\w.-]{1,64}$/;
const MAX_KINDS = 100;

/** The most data of one kind that is read from another node. */
const MAX_NODE_BYTES = 1024 ** 3;
/** A smaller page counts as this many bytes, so that empty pages end too. */
const LEAST_PAGE_BYTES = 64 * 1024;

function endless({ agent, url }: RemoteNode, kind: string): LangoError {
  const text = `The node of ${agent} at ${url} sends its data of the kind ${kind} without an end, or more than 1 GiB.`;
  return new LangoError('too-large', text, { hint: `Read the data of that node alone: --url ${url}` });
}

/** Errors that mean that the node failed, and not the call. */
const NODE_ERRORS = new Set<ErrorCode>(['unauthenticated', 'unavailable', 'timeout', 'too-many'])
  .add('invalid-agent-response')
  .add('internal');

/** Calls an operation of the server itself on a node, for an owner. See `withAdvice`. */
function askData<T>(
  { agent, url, clientFor }: AskableNode,
  context: OwnerContext,
  call: (client: OperationClient<ServerOperations>) => Promise<T>,
): Promise<T> {
  return withAdvice(`${agent} at ${url}`, async () => call(await clientFor(SERVER_OPERATIONS, context)));
}

/** Calls a node. Rejects with `unavailable`, naming the node, when the node fails. */
async function withAdvice<T>(node: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (!isLangoError(error) || !NODE_ERRORS.has(error.code)) throw error;
    const isRefused = error.code === 'unauthenticated';
    const hint = isRefused ? 'Name this node in its auth.nodes; its log says what is wrong.' : error.hint;
    const text = `The node of ${node} does not respond to this: ${error.message}`;
    throw new LangoError('unavailable', text, { hint, retryable: error.retryable, cause: error });
  }
}

/** Resolves with `other` when the call rejects with `not-found`: the node has no such kind of data, or no data at all. */
function orElse<T>(call: Promise<T>, other: T): Promise<T> {
  return call.catch((error: unknown) => {
    if (isLangoError(error, 'not-found')) return other;
    throw error;
  });
}

function sum(counts: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const all: Record<string, number> = {};
  for (const [kind, count] of counts.flatMap(Object.entries<number>)) all[kind] = (all[kind] ?? 0) + count;
  return all;
}
