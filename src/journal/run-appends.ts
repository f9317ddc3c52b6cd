import { LangoError, isLangoError } from '../core/errors.js';
import type { Run } from '../core/run.js';
import type { EventType, NewEvent } from '../core/task.js';
import { backoffMs, pause } from '../core/time.js';
import type { Fence, TaskStore } from '../stores/tasks.js';

/** The time for which the events of a run are kept while the database is away. Then another run begins. */
const KEPT_MS = 60_000;
const RETRY = { firstMs: 100, longestMs: 2_000 };
/** The events that others append to a task while it is leased. */
const OF_OTHERS: ReadonlySet<EventType> = new Set(['message', 'cancel-request']);

interface RunAppendsOptions {
  readonly store: Pick<TaskStore, 'append' | 'read'>;
  readonly fence: Fence;
  /** The newest event of the task. */
  readonly head: number;
  /** Stores the task with its first events; undefined for a task that is stored. */
  readonly first: ((events: readonly NewEvent[]) => Promise<number>) | undefined;
  /** Takes the lease again, with the next epoch: see `TaskStore.retake`. */
  readonly retake: (fence: Fence) => Promise<Fence | undefined>;
}

/**
 * Appends the events of one run. While the database is away for a short time, keeps them and appends them once it is back:
 * the results of calls that cannot be repeated are among them.
 */
export class RunAppends {
  /** Its signal aborts when nobody needs the events any more. */
  readonly #run: Pick<Run, 'signal' | 'logger'>;
  readonly #options: RunAppendsOptions;
  #fence: Fence;
  #head: number;
  #first: RunAppendsOptions['first'];

  constructor(run: Pick<Run, 'signal' | 'logger'>, options: RunAppendsOptions) {
    this.#run = run;
    this.#options = options;
    this.#fence = options.fence;
    this.#head = options.head;
    this.#first = options.first;
  }

  get fence(): Fence {
    return this.#fence;
  }

  /** Resolves with the new head once the events are durable. Await it before the next call. Rejects like `TaskStore.append`. */
  append(events: readonly NewEvent[]): Promise<number> {
    const first = this.#first;
    this.#first = undefined;
    return first ? first(events).then((head) => (this.#head = head)) : this.#append(events);
  }

  async #append(events: readonly NewEvent[]): Promise<number> {
    try {
      this.#head = await this.#options.store.append(this.#fence, events);
    } catch (error) {
      if (!isOutage(error)) throw error;
      this.#run.logger.warn('the events of a run are kept until the database is back', {
        error: error.message,
      });
      this.#head = await this.#appendLater(events, error);
    }
    return this.#head;
  }

  async #appendLater(events: readonly NewEvent[], outage: LangoError): Promise<number> {
    const { store } = this.#options;
    const { signal } = this.#run;
    const until = performance.now() + KEPT_MS;
    let last = outage;
    for (let failures = 1; performance.now() < until; failures += 1) {
      if (!(await pause(backoffMs(failures, RETRY), { signal, ref: false }))) break;
      try {
        await this.#retake();
        return (await this.#stored(events)) ?? (await store.append(this.#fence, events));
      } catch (error) {
        if (!isOutage(error)) throw error;
        last = error;
      }
    }
    throw last;
  }

  /** From here on, the database refuses the append that failed if it should still arrive. */
  async #retake(): Promise<void> {
    const taken = await this.#options.retake(this.#fence);
    if (!taken) throw new LangoError('fenced', 'Another process took the task over.');
    this.#fence = taken;
  }

  /** Returns the head if the append that failed was committed nevertheless. */
  async #stored(events: readonly NewEvent[]): Promise<number | undefined> {
    for (let after = this.#head; ;) {
      const page = await this.#options.store.read(this.#fence.taskId, after, events.length + 1);
      const own = page.find(({ body }) => !OF_OTHERS.has(body.type));
      if (own) return own.seq + events.length - 1;
      const last = page.at(-1);
      if (!last) return undefined;
      after = last.seq;
    }
  }
}

/** Whether the database is away, perhaps for a short time. */
export function isOutage(error: unknown): error is LangoError {
  return isLangoError(error, 'storage') && error.retryable;
}
