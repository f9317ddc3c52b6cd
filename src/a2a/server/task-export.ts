import { Task } from '@a2a-js/sdk';
import type { Journal } from '../../core/journal.js';
import type { TaskRecord } from '../../core/task.js';
import { TaskFold } from '../translate/task.js';

/** A part of a task, small enough to be sent in one piece. */
export interface TaskStretch {
  /**
   * As GetTask tells it, with all messages and artifacts of this stretch, and whose task it was. `continues` names the
   * artifacts that go on from the stretch before; any other that was there already stands in the place of that one.
   */
  readonly item: object;
  /** Of the entries that it was made of, as JSON. */
  readonly bytes: number;
  /** The last entry, when there are more. */
  readonly next: number | undefined;
}

const STRETCH_BYTES = 500_000;
/** What one look reads: each entry has `tasks.eventBytes` at most. */
const ENTRIES_AT_ONCE = 16;

/** The task from behind this entry on (0: from the first); all of it, unless it is long. */
export async function exportTask(
  journal: Pick<Journal, 'read'>,
  record: TaskRecord,
  { after, rootAgentName }: { readonly after: number; readonly rootAgentName: string },
): Promise<TaskStretch> {
  const fold = new TaskFold();
  let head = after;
  let bytes = 0;
  while (head < record.head && bytes < STRETCH_BYTES) {
    const events = await journal.read(record.id, head, Math.min(ENTRIES_AT_ONCE, record.head - head));
    if (events.length === 0) break;
    for (const event of events) fold.add(event, event.author ?? rootAgentName);
    head = events.at(-1)!.seq;
    bytes += Buffer.byteLength(JSON.stringify(events));
  }
  const task = fold.toTask({ ...record, head }, { historyLength: undefined, includeArtifacts: true });
  const continues = after === 0 ? [] : fold.continued();
  return {
    item: {
      agent: record.agent,
      ...(Task.toJSON(task) as object),
      ...(continues.length > 0 ? { continues } : {}),
    },
    bytes,
    next: head < record.head && head > after ? head : undefined,
  };
}
