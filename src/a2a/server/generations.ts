import { readPages, type Journal } from '../../core/journal.js';
import { isTerminal, type TaskRecord } from '../../core/task.js';
import { Deadline } from '../../core/time.js';
import { Changes } from '../translate/generation.js';

/** The longest time that a client waits for a change; it then gets the task as it is, and asks again. */
const WAIT_MS = 25_000;

/** Counts the changes of a task up to and including the event `head`. */
export async function changesUpTo(journal: Journal, taskId: string, head: number): Promise<Changes> {
  const changes = new Changes();
  for await (const events of readPages(journal, taskId, { after: 0, head }))
    for (const event of events) changes.add(event);
  return changes;
}

/** Resolves once the task is beyond a generation, has ended, or has not changed for a while. */
export async function untilBeyond(
  journal: Journal,
  task: TaskRecord,
  { generation, signal }: { readonly generation: number; readonly signal: AbortSignal },
): Promise<void> {
  const changes = await changesUpTo(journal, task.id, task.head);
  if (changes.generation > generation || isTerminal(task.state)) return;
  using waiting = new Deadline(signal, { ref: false }).expect(WAIT_MS);
  for await (const batch of journal.follow(task.id, task.head, waiting.signal)) {
    for (const event of batch) changes.add(event);
    if (changes.generation > generation) return;
  }
}
