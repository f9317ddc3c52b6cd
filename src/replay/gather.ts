import { isLangoError } from '../core/errors.js';
import { wholeTask } from './collect.js';
import { MAX_TASKS, taskFile, type RecordedTask, type TaskFile, type TaskPage } from './task-file.js';

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
const MAX_EVENTS = 1_000_000;

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
  return taskFile({ content: true, tasks, elsewhere, cards: await cardsOf([...agents], readCard) });
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
  return wholeTask((after) => readPage({ taskId, after, via }), MAX_EVENTS);
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
