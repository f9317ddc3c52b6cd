import { exportTask } from '../a2a/server/task-export.js';
import { LangoError, isLangoError } from '../core/errors.js';
import type { Journal } from '../core/journal.js';
import type { Chunk, Page } from '../core/page.js';
import { pageBySize } from '../core/page.js';
import type { RetentionStore } from '../core/store.js';
import type { Scope, TaskRecord } from '../core/task.js';
import { isTerminal } from '../core/task.js';

export interface OwnedTasksParts {
  readonly retention: RetentionStore;
  readonly journal: Journal;
  readonly rootAgentName: string;
}

const REMOVED_AT_ONCE = 50;

/**
 * One page of a caller's tasks, of all agents, with what was said and made in them. A long one comes in several items,
 * which may be on several pages: see `TaskStretch`.
 */
export function readTasks(parts: OwnedTasksParts, scope: Scope, after: string): Promise<Page<unknown>> {
  return pageBySize(after, (place) => readStretch(parts, scope, place));
}

/** A place is that of a task in the list, behind the number of its entry that was told last, 0 for all of it. */
async function readStretch(parts: OwnedTasksParts, scope: Scope, place: string): Promise<Chunk> {
  const [, told, listed] = /^(\d{1,15}) (.*)$/s.exec(place) ?? [undefined, '0', place];
  const begun = told === '0' ? undefined : await parts.journal.get(scope, listed.split(' ').at(-1)!);
  if (begun) return stretchOf(parts, begun, { after: Number(told), listed: listed });
  const { items, next } = await parts.retention.listOwned(scope, listed, 1);
  const [record] = items;
  if (!record || next === undefined) return { items: [], size: 0, next: undefined };
  return stretchOf(parts, record, { after: 0, listed: next });
}

async function stretchOf(
  { journal, rootAgentName }: OwnedTasksParts,
  record: TaskRecord,
  { after, listed }: { readonly after: number; readonly listed: string },
): Promise<Chunk> {
  const { item, bytes, next = 0 } = await exportTask(journal, record, { after, rootAgentName });
  return { items: [item], size: bytes, next: `${next} ${listed}` };
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
