import { LangoError } from '../core/errors.js';
import type { AcceptOutcome, NewTask, TaskStore } from '../core/store.js';
import { taskOfNew } from '../core/store.js';
import type { NewEvent, TaskRecord } from '../core/task.js';
import { Replay } from './replay.js';

/**
 * A task that is stored with the first thing its run writes: one transaction instead of two. Until then nobody else can
 * know of it, and what a run does outside of the journal waits for what it wrote before.
 */
export class Opening {
  /** By the clock of this machine; what is stored goes by the store's. */
  readonly task: TaskRecord;
  /** What has become of the message. */
  readonly outcome: Promise<AcceptOutcome>;
  readonly #store: TaskStore;
  readonly #entry: NewTask;
  readonly #worker: string;
  #tell!: (outcome: AcceptOutcome | PromiseLike<AcceptOutcome>) => void;
  #isWritten = false;

  constructor(store: TaskStore, entry: NewTask, worker: string) {
    this.#store = store;
    this.#entry = entry;
    this.#worker = worker;
    this.task = taskOfNew(entry, Date.now());
    this.outcome = new Promise((resolve) => (this.#tell = resolve));
  }

  /** The store was asked to keep the task: what it is asked from now on finds it. */
  get isWritten(): boolean {
    return this.#isWritten;
  }

  /** The past of the run: the message. */
  replay(): Replay {
    const { task } = this;
    const replay = new Replay();
    const body = { type: 'message', message: this.#entry.message } as const;
    replay.add({ taskId: task.id, seq: task.head, at: task.createdAt, author: undefined, body });
    return replay;
  }

  /** Writes of the run, in order. See `TaskStore.append`. */
  append(events: readonly NewEvent[]): Promise<number> {
    const { id, epoch } = this.task;
    if (this.#isWritten) return this.#store.append({ taskId: id, epoch }, events);
    this.#isWritten = true;
    return this.#begin(events);
  }

  async #begin(events: readonly NewEvent[]): Promise<number> {
    let outcome: AcceptOutcome;
    try {
      outcome = await this.#store.accept(this.#entry, { worker: this.#worker, opening: events });
    } catch (error) {
      // Is the run at fault, or the message? Without what the run wrote it is stored, or is refused itself.
      this.#tell(this.#store.accept(this.#entry, { worker: this.#worker, opening: [] }));
      throw error;
    }
    this.#tell(outcome);
    if (outcome.kind === 'accepted') return outcome.seq + events.length;
    throw new LangoError('fenced', 'The message came to another process before.');
  }
}
