import { readPages, type Journal } from '../core/journal.js';
import type { MapEdge } from '../core/node-status.js';
import { isInterrupted, isTerminal, type Scope, type TaskRecord } from '../core/task.js';
import { inTurns, percentilesOf, readOnce } from './overview.js';

interface MapParts {
  readonly tasks: Pick<Journal, 'list' | 'read'>;
  readonly agents: readonly string[];
  readonly nodeId: string;
  /** Whether there are remote agents: their tasks are on other nodes, and here only in the entries of those who asked. */
  readonly hasRemotes: () => boolean;
  readonly now?: () => number;
}

/** `ms`: undefined while it works. */
type Call = ReturnType<typeof callOf>;

const HOUR_MS = 60 * 60 * 1_000;
/** The newest tasks of each agent that are read. */
const MAX_TASKS = 200;
/** Delegations of a task beyond these entries are not counted. */
const MAX_ENTRIES = 400;
const MAX_KNOWN = 2_000;

/** Returns a function that reads who asked whom in an owner's tasks of the last hours. */
export function createAgentMap({ tasks, agents, nodeId, hasRemotes, now = Date.now }: MapParts) {
  const read = readOnce(MAX_KNOWN, (task) => readDelegations(tasks, task));
  const delegationsOf = async (task: TaskRecord): Promise<readonly Call[]> =>
    (await read(task)).filter(({ to }) => !agents.includes(to));
  return async (scope: Scope, hours: number): Promise<readonly MapEdge[]> => {
    const query = { statusFrom: now() - hours * HOUR_MS, pageSize: MAX_TASKS };
    const pages = await Promise.all(agents.map((agent) => tasks.list(scope, { agent, ...query })));
    const found = pages.flatMap((page) => page.tasks);
    const elsewhere = hasRemotes() ? await inTurns(found, delegationsOf) : [];
    const calls = [...found.map((task) => callOf(task, nodeId)), ...elsewhere.flat()];
    const edgeOf = ({ from, fromNode = '', to }: Call) => JSON.stringify([from, fromNode, to]);
    return [...Map.groupBy(calls, edgeOf).values()].map(sumUp);
  };
}

function callOf({ grant, agent, state, createdAt, statusAt }: TaskRecord, nodeId: string) {
  const [, from = '', fromNode = nodeId] = /^(.*)@([^@]*)$/.exec(grant.chain.at(-1) ?? '') ?? [];
  return {
    ...{ from, to: agent, failed: hasFailed(state) },
    ...(fromNode !== nodeId && { fromNode }),
    ms: isTerminal(state) ? statusAt - createdAt : undefined,
  };
}

const hasFailed = (state: string) => state === 'failed' || state === 'rejected';

async function readDelegations(tasks: Pick<Journal, 'read'>, task: TaskRecord): Promise<readonly Call[]> {
  const begun = new Map<string, number>();
  const calls: Call[] = [];
  const head = Math.min(task.head, MAX_ENTRIES);
  for await (const events of readPages(tasks, task.id, { after: 0, head })) {
    for (const { at, body } of events) {
      if (body.type === 'delegation-start') begun.set(body.step, at);
      if (body.type !== 'delegation-end' || isInterrupted(body.state)) continue;
      const ms = at - (begun.get(body.step) ?? at);
      calls.push({ from: task.agent, to: body.agent, failed: hasFailed(body.state), ms });
    }
  }
  return calls;
}

function sumUp(calls: readonly Call[]): MapEdge {
  const [{ from, fromNode, to }] = calls as [Call];
  const time = percentilesOf(calls.flatMap(({ ms }) => ms ?? []));
  return {
    ...{ from, ...(fromNode !== undefined && { fromNode }), to, calls: calls.length },
    ...{ failed: calls.filter(({ failed }) => failed).length, ...(time && { time }) },
  };
}
