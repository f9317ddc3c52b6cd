import type { AgentLimits } from '../core/agent.js';
import { isLangoError, LangoError } from '../core/errors.js';
import { defined } from '../core/json.js';
import { readPages, taskOfOwner, type Journal } from '../core/journal.js';
import type { Scope, TaskEvent } from '../core/task.js';
import { MAX_TASKS, VERSION, type RecordedTask, type TaskFile, type TaskPage } from './task-file.js';

const EVENTS_PER_READ = 200;
/** A page ends with the read that reaches this size, in characters. */
const PAGE_SIZE = 1_000_000;
/** The most events of a task that is looked at as a whole. */
const MAX_EVENTS = 5_000;

export type ReadRecord = (scope: Scope, taskId: string, after: number) => Promise<TaskPage>;

/**
 * Returns a function that reads what this node keeps of a task of an owner, some events at a time. It rejects with
 * `not-found` for a task that is not in the scope.
 */
export function createTaskRecords(
  tasks: Pick<Journal, 'get' | 'read'>,
  { cost: _, ownerCostPerDay: __, ...limits }: AgentLimits,
  node: RecordedTask['node'],
) {
  return async (scope: Scope, taskId: string, after: number): Promise<TaskPage> => {
    const task = await taskOfOwner(tasks, scope, taskId);
    const events: RecordedTask['events'][number][] = [];
    let size = 0;
    for await (const read of readPages(tasks, taskId, { after, head: task.head, size: EVENTS_PER_READ })) {
      events.push(...read.map(toRecorded));
      size += JSON.stringify(read).length;
      if (size >= PAGE_SIZE) break;
    }
    const next = events.at(-1)?.seq ?? task.head;
    const { id, agent, contextId, parentTaskId, fork, state, createdAt } = task;
    const { scopes: ___, trace: ____, ...grant } = task.grant;
    const about = { id, agent, contextId, ...defined({ parentTaskId, fork }), grant, state };
    return {
      task: { ...about, createdAt, node, limits, events },
      ...(next < task.head && { next }),
    };
  };
}

/**
 * Reads the pages of a task. The newest one says what the task is now. Rejects with `too-large` for one of very many events:
 * by default, for one that is looked at as a whole.
 */
export async function wholeTask(
  readPage: (after: number) => Promise<TaskPage>,
  most = MAX_EVENTS,
): Promise<RecordedTask> {
  let { task, next } = await readPage(0);
  const events = [...task.events];
  while (next !== undefined && events.length <= most) {
    const page = await readPage(next);
    events.push(...page.task.events);
    task = page.task;
    // A node that repeats a page would be asked forever.
    next = page.next !== undefined && page.next > next ? page.next : undefined;
  }
  if (events.length <= most) return { ...task, events };
  const text = `Task ${task.id} has more than ${most} events, which are too many to work on here.`;
  const hint = most === MAX_EVENTS ? 'Use lango replay --current, or lango diff.' : undefined;
  throw new LangoError('too-large', text, { hint });
}

/** The contents of a reference are in the event, so the reference itself is left out. */
function toRecorded({ seq, at, author, body: given }: TaskEvent): RecordedTask['events'][number] {
  const { from: _, ...body } = given as TaskEvent['body'] & { readonly from?: unknown };
  return { seq, at, ...defined({ author }), body };
}

/** Reads a page of a task. `via`: the agents on the way to its node, each on the node before; empty for the asked node. */
type ReadPage = (about: { taskId: string; after: number; via: readonly string[] }) => Promise<TaskPage>;

type Card = Readonly<Record<string, unknown>>;

interface GatherParts {
  readonly readPage: ReadPage;
  /** Reads the card of an agent as the asked node knows it. */
  readonly readCard: (agent: string) => Promise<Card>;
}

/** The longest chain of nodes that is followed. */
const MAX_NODES = 5;
/** The most entries of one task: another node may send any number. */
const MAX_GATHERED_EVENTS = 1_000_000;

/** A task below another one, and the way to the node of that one. */
type Wanted = TaskFile['elsewhere'][number] & { readonly via: readonly string[] };

/** Gathers a task with the tasks below it, on all nodes that show them to the owner. */
export async function gatherTask(taskId: string, { readPage, readCard }: GatherParts): Promise<TaskFile> {
  const root = await readWhole(readPage, taskId, []);
  const tasks = [root];
  const elsewhere: TaskFile['elsewhere'][number][] = [];
  const seen = new Set([root.id]);
  const queue = delegationsOf(root, []);
  for (const { via, ...child } of queue) {
    if (seen.has(child.taskId) || tasks.length >= MAX_TASKS) continue;
    seen.add(child.taskId);
    const found = await findChild(readPage, { ...child, via });
    if (!found) elsewhere.push(child);
    else {
      tasks.push(found.task);
      queue.push(...delegationsOf(found.task, found.via));
    }
  }
  const agents = new Set([...tasks, ...elsewhere].map(({ agent }) => agent));
  const cards = await cardsOf([...agents], readCard);
  return { format: 'lango-task', version: VERSION, content: true, tasks, elsewhere, cards };
}

/**
 * Looks for a task first on the node of its parent, then on the node of the agent there. A node may name any task, so on
 * the parent's own node only a child of the parent counts.
 */
async function findChild(readPage: ReadPage, { taskId, agent, parentTaskId, via }: Wanted) {
  const here = await orNone(readWhole(readPage, taskId, via));
  if (here) return here.parentTaskId === parentTaskId ? { task: here, via } : undefined;
  const further = [...via, agent];
  if (further.length > MAX_NODES) return undefined;
  const there = await orNone(readWhole(readPage, taskId, further));
  return there && { task: { ...there, parentTaskId }, via: further };
}

/** Errors of a node that has no such task of the owner, or does not show it in a usable form. Others end the export. */
const NOT_SHOWN: ReadonlySet<string> = new Set(
  'not-found forbidden not-supported unavailable invalid-agent-response too-large'.split(' '),
);

function orNone<T>(reading: Promise<T>): Promise<T | undefined> {
  return reading.catch((error: unknown) => {
    if (isLangoError(error) && NOT_SHOWN.has(error.code)) return undefined;
    throw error;
  });
}

function readWhole(readPage: ReadPage, taskId: string, via: readonly string[]): Promise<RecordedTask> {
  return wholeTask((after) => readPage({ taskId, after, via }), MAX_GATHERED_EVENTS);
}

function delegationsOf({ id, events }: RecordedTask, via: readonly string[]): Wanted[] {
  const agents = new Map<string, string>();
  return events.flatMap(({ body }) => {
    if (body.type === 'delegation-start') agents.set(body.step, body.agent);
    const agent = body.type === 'delegation-task' ? agents.get(body.step) : undefined;
    if (body.type !== 'delegation-task' || agent === undefined) return [];
    return [{ taskId: body.taskId, agent, parentTaskId: id, via }];
  });
}

/** A signature is another one each time that a card is signed. */
async function cardsOf(agents: readonly string[], read: GatherParts['readCard']): Promise<TaskFile['cards']> {
  const cards: Record<string, Card> = {};
  for (const agent of agents) {
    const { signatures: _, ...card } = (await orNone(read(agent))) ?? {};
    if (Object.keys(card).length > 0) cards[agent] = card;
  }
  return cards;
}
