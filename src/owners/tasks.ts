import { LangoError, isLangoError } from '../core/errors.js';
import type { Journal } from '../core/journal.js';
import { type Page, type SizedPage, pageBySize } from '../core/page.js';
import type { RetentionStore } from '../stores/tasks.js';
import { isTerminal, type Scope, type TaskRecord } from '../core/task.js';

export type OwnedTasks = ReturnType<typeof createOwnedTasks>;

/** A part of a task, small enough for one page. */
interface TaskSegment {
  readonly item: object;
  readonly bytes: number;
  /** The last entry of this part; undefined when it is the end of the task. */
  readonly next: number | undefined;
}

interface OwnedTasksParts {
  readonly retention: RetentionStore;
  readonly tasks: Pick<Journal, 'get' | 'cancel'>;
  /** Reads a part of the task, from the entry after number `after`; 0 reads from the beginning. */
  readonly exportTask: (record: TaskRecord, after: number) => Promise<TaskSegment>;
}

const REMOVE_BATCH = 50;

/** An owner's tasks of all agents. */
export function createOwnedTasks({ retention, tasks, exportTask }: OwnedTasksParts) {
  /** A cursor holds the number of the last entry that was read, or 0, the task, and its position in the list of tasks. */
  const readSegment = async (scope: Scope, cursor: string): Promise<SizedPage> => {
    const [, entry, id, listed] = /^(\d{1,15}) (\S+) (.*)$/.exec(cursor) ?? [undefined, '0', '', cursor];
    const partlyRead = entry === '0' ? undefined : await tasks.get(scope, id);
    if (partlyRead) return toPage(partlyRead, Number(entry), listed);
    const { items, next } = await retention.listOwned(scope, listed, 1);
    const [record] = items;
    if (!record || next === undefined) return { items: [], size: 0, next: undefined };
    return toPage(record, 0, next);
  };
  const toPage = async (record: TaskRecord, after: number, listed: string): Promise<SizedPage> => {
    const { item, bytes, next = 0 } = await exportTask(record, after);
    return { items: [item], size: bytes, next: `${next} ${record.id} ${listed}` };
  };
  const remove = async (list: () => Promise<readonly TaskRecord[]>, forked = false): Promise<number> => {
    for (let removed = 0; ;) {
      const items = await list();
      if (items.length === 0) return removed;
      await Promise.all(items.map((task) => cancel(tasks, task)));
      const gone = await retention.remove(
        items.map(({ id }) => id),
        forked,
      );
      // None are removed when another call removed them meanwhile.
      if (gone.length === 0 && (await tasks.get(items[0]!, items[0]!.id))) {
        const hint = 'Run the command again in a moment.';
        throw new LangoError('unavailable', 'Some tasks did not stop in time.', { hint, retryable: true });
      }
      removed += gone.length;
    }
  };
  return {
    /** Reads one page of tasks with their messages and artifacts. A long task is several items, also across pages. */
    read: (scope: Scope, after: string): Promise<Page<unknown>> =>
      pageBySize(after, (cursor) => readSegment(scope, cursor)),
    /** Cancels the tasks that have not ended, then deletes all. Rejects with `unavailable` when some did not stop in time. */
    removeAll: (scope: Scope) =>
      remove(async () => (await retention.listOwned(scope, '', REMOVE_BATCH)).items, true),
    /** Cancels and deletes the tasks of one context and of its forks, like `removeAll`. */
    removeContext: (scope: Scope, contextId: string) =>
      remove(() => retention.listContext(scope, contextId, REMOVE_BATCH)),
  };
}

async function cancel(tasks: Pick<Journal, 'cancel'>, task: TaskRecord): Promise<void> {
  if (isTerminal(task.state)) return;
  try {
    await tasks.cancel(task, task.id);
  } catch (error) {
    // Not found: another call removed it meanwhile.
    if (!isLangoError(error, 'not-cancelable') && !isLangoError(error, 'not-found')) throw error;
  }
}
