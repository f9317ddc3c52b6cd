import { addUsage, NO_USAGE, type Usage } from '../core/model.js';
import type { Journal } from '../core/journal.js';
import { isTerminal, type TaskRecord } from '../core/task.js';
import type { SpendingStore } from '../stores/spending.js';
import type { RetentionStore } from '../stores/tasks.js';
import type { OwnerParts } from './service.js';

interface OwnedBillParts {
  readonly retention: Pick<RetentionStore, 'listOwned'>;
  readonly spending: Pick<SpendingStore, 'readBackground'>;
  readonly tasks: Pick<Journal, 'read'>;
  /** The name of this node in chains of delegation. */
  readonly nodeId: string;
}

const TASKS_PER_PAGE = 100;
const EVENTS_PER_READ = 200;

/**
 * Reads what the tasks of an owner cost, some tasks at a time. Rows of one day are on several pages. A task that this node
 * delegated, also by way of other nodes, is a part of the bill of the task that delegated it.
 */
export function createOwnedBill(parts: OwnedBillParts): OwnerParts['readBill'] {
  const { retention, spending, tasks, nodeId } = parts;
  return async ({ after }, { scope }) => {
    const page = await retention.listOwned(scope, after, TASKS_PER_PAGE);
    const days = new Map<string, Usage>();
    for (const task of page.items.filter((one) => !isDelegatedBy(nodeId, one))) {
      const day = new Date(task.statusAt).toISOString().slice(0, 'yyyy-mm-dd'.length);
      days.set(day, addUsage(days.get(day) ?? NO_USAGE, await usageOf(tasks, task)));
    }
    const rows = [...days].flatMap(([day, { rows: own = [] }]) => own.map((row) => ({ day, ...row })));
    if (page.next !== undefined) return { rows, next: page.next };
    const background = await spending.readBackground(scope);
    return { rows: [...rows, ...background.map((row) => ({ node: nodeId, ...row }))] };
  };
}

/** Whether an agent of a node delegated the task, also by way of other nodes. */
export function isDelegatedBy(nodeId: string, { grant }: TaskRecord): boolean {
  return grant.chain.some((link) => link.endsWith(`@${nodeId}`));
}

/** The last entry of an ended task has its usage, unless something other than its agent ended it. */
export async function usageOf(tasks: OwnedBillParts['tasks'], task: TaskRecord): Promise<Usage> {
  if (isTerminal(task.state)) {
    const [last] = await tasks.read(task.id, task.head - 1, 1);
    if (last?.body.type === 'run-end' && last.body.usage.rows) return last.body.usage;
  }
  let usage: Usage = NO_USAGE;
  for (let seq = 0; seq < task.head; seq += EVENTS_PER_READ) {
    for (const { body } of await tasks.read(task.id, seq, EVENTS_PER_READ)) {
      if (body.type === 'turn-end' || body.type === 'delegation-end') usage = addUsage(usage, body.usage);
    }
  }
  return usage;
}
