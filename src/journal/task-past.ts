import { errorText, isLangoError } from '../core/errors.js';
import type { Logger } from '../core/logger.js';
import { textPart } from '../core/message.js';
import { NO_USAGE } from '../core/model.js';
import { BoundedCache } from '../core/bounded-cache.js';
import type { TaskRecord } from '../core/task.js';
import type { TaskStore } from '../stores/tasks.js';
import { Replay } from './replay.js';

const READ_PAGE = 1_000;
/** The most characters of events in all cached replays together. */
const KEPT_CHARACTERS = 8 * 1024 * 1024;

/** Reads the past of tasks from the journal. What was read of a task is kept, so that its next run reads only later events. */
export class TaskPast {
  readonly #store: Pick<TaskStore, 'read' | 'endDamaged'>;
  readonly #replays = new BoundedCache<string, Replay>(KEPT_CHARACTERS);

  constructor(store: Pick<TaskStore, 'read' | 'endDamaged'>) {
    this.#store = store;
  }

  /** Resolves with a replay that belongs to the caller alone. Rejects when the journal of the task cannot be read. */
  async read(taskId: string): Promise<Replay> {
    const replay = this.#replays.take(taskId) ?? new Replay();
    for (let isLast = false; !isLast;) {
      const page = await this.#store.read(taskId, replay.head, READ_PAGE);
      for (const event of page) {
        replay.add(event);
        replay.size += JSON.stringify(event.body).length;
      }
      isLast = page.length < READ_PAGE;
    }
    this.#replays.set(taskId, replay, replay.size);
    return replay.copy();
  }

  /** Drops what is kept of a task that runs no more. */
  forget(taskId: string): void {
    this.#replays.take(taskId);
  }

  /** Fails a task whose journal is damaged: it would be claimed forever. Leaves one that may be read later. Never rejects. */
  async endUnreadable({ id, epoch, agent }: TaskRecord, error: unknown, logger: Logger): Promise<void> {
    const text = errorText(error);
    logger.error('the journal of a task could not be read', { error: text });
    if (!isLangoError(error, 'storage') || error.retryable) return;
    const parts = [textPart(`${text} The task cannot go on: what follows that entry is lost.`)];
    const message = { id: `${id}:end:damaged`, role: 'agent', parts } as const;
    const body = { type: 'run-end', state: 'failed', reason: 'damaged', message, usage: NO_USAGE } as const;
    try {
      const first = await this.#store.endDamaged({ taskId: id, epoch }, { author: agent, body });
      if (first !== undefined) logger.warn('the damaged task was ended as failed', { first });
    } catch (failure) {
      logger.error('the damaged task could not be ended', { error: errorText(failure) });
    }
  }
}
