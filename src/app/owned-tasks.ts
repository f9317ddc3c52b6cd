import { exportTask } from '../a2a/server/task-export.js';
import { LangoError, isLangoError } from '../core/errors.js';
import type { Journal } from '../core/journal.js';
import type { RetentionStore } from '../core/retention.js';
import type { Scope, TaskRecord } from '../core/task.js';
import { isTerminal } from '../core/task.js';

export interface OwnedTasksParts {
  readonly retention: RetentionStore;
  readonly journal: Journal;
  readonly rootAgentName: string;
}

const EXPORTED_AT_ONCE = 20;
const REMOVED_AT_ONCE = 50;

/** One page of a caller's tasks, of all agents, with what was said and made in them. */
export async function readTasks(
  { retention, journal, rootAgentName }: OwnedTasksParts,
  scope: Scope,
  after: string,
) {
  const { items, next } = await retention.listOwned(scope, after, EXPORTED_AT_ONCE);
  const tasks = [];
  for (const record of items) tasks.push(await exportTask(journal, record, rootAgentName));
  return { items: tasks, next };
}

/** Ends what has not ended, then takes all of them away. Throws `unavailable` when some did not stop in time. */
export function removeTasks(parts: OwnedTasksParts, scope: Scope): Promise<number> {
  const { retention } = parts;
  return removeListed(parts, async () => (await retention.listOwned(scope, '', REMOVED_AT_ONCE)).items);
}

/** The same with those of one context. */
export function removeContextTasks(parts: OwnedTasksParts, scope: Scope, contextId: string): Promise<number> {
  return removeListed(parts, () => parts.retention.listContext(scope, contextId, REMOVED_AT_ONCE));
}

async function removeListed(
  { retention, journal }: OwnedTasksParts,
  list: () => Promise<readonly TaskRecord[]>,
): Promise<number> {
  let removed = 0;
  for (;;) {
    const items = await list();
    if (items.length === 0) return removed;
    await Promise.all(items.map((task) => end(journal, task)));
    const gone = await retention.remove(items.map(({ id }) => id));
    if (gone.length === 0) throw stillRunning();
    removed += gone.length;
  }
}

async function end(journal: Journal, task: TaskRecord): Promise<void> {
  if (isTerminal(task.state)) return;
  try {
    await journal.cancel(task, task.id);
  } catch (error) {
    if (!isLangoError(error, 'not-cancelable')) throw error;
  }
}

function stillRunning(): LangoError {
  return new LangoError('unavailable', 'Some tasks did not stop in time.', {
    hint: 'Ask again in a moment.',
    retryable: true,
  });
}
