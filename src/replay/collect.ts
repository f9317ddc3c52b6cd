import type { AgentLimits } from '../core/agent.js';
import { LangoError } from '../core/errors.js';
import { defined } from '../core/json.js';
import { readPages, taskOfOwner, type Journal } from '../core/journal.js';
import type { Scope, TaskEvent } from '../core/task.js';
import type { RecordedTask, TaskPage } from './task-file.js';

const EVENTS_PER_READ = 200;
/** A page ends with the read that reaches this size, in characters. */
const PAGE_SIZE = 1_000_000;
/** The most events of a task that is looked at as a whole. */
const MAX_EVENTS = 5_000;

export type ReadRecord = (scope: Scope, taskId: string, after: number) => Promise<TaskPage>;

interface RecordParts {
  readonly tasks: Pick<Journal, 'get' | 'read'>;
  readonly limits: AgentLimits;
  readonly node: RecordedTask['node'];
}

/**
 * Returns a function that reads what this node keeps of a task of an owner, some events at a time. It rejects with
 * `not-found` for a task that is not in the scope.
 */
export function createTaskRecords({ tasks, limits: all, node }: RecordParts) {
  const { cost: _, ownerCostPerDay: __, ...limits } = all;
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
  throw new LangoError('too-large', text, { hint: 'Use lango replay --current, or lango diff.' });
}

/** The contents of a reference are in the event, so the reference itself is left out. */
function toRecorded({ seq, at, author, body: given }: TaskEvent): RecordedTask['events'][number] {
  const { from: _, ...body } = given as TaskEvent['body'] & { readonly from?: unknown };
  return { seq, at, ...defined({ author }), body };
}
