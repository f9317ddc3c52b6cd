import { LangoError, isLangoError } from '../../core/errors.js';
import { readPages, type Accepted, type Journal, type Submission } from '../../core/journal.js';
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

/**
 * Submits a message to a task that must have a generation, and throws `generation-mismatch` when it has another one. A
 * repeated message gets the response to its first send whatever the generation is now.
 */
export async function submitAt(
  journal: Journal,
  generation: number,
  { submission, find }: { readonly submission: Submission; readonly find: () => Promise<TaskRecord> },
): Promise<Accepted> {
  for (;;) {
    const task = await find();
    const { expected } = await changesUpTo(journal, task.id, task.head);
    try {
      return await journal.submit({ ...submission, ifHead: expected === generation ? task.head : -1 });
    } catch (error) {
      // The task has moved on since it was read: look again.
      if (!isLangoError(error, 'fenced')) throw error;
      if (expected === generation) continue;
      const text = `The task is at generation ${expected}, not at ${generation}.`;
      const hint = 'Get the task, and send the message again if it still fits.';
      throw new LangoError('generation-mismatch', text, { hint });
    }
  }
}
