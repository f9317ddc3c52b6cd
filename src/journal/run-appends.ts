import { LangoError, isLangoError } from '../core/errors.js';
import type { Run } from '../core/run.js';
import type { EventType, NewEvent, TaskRecord } from '../core/task.js';
import { backoffMs, pause } from '../core/time.js';
import { taskOfNew, type AcceptOutcome, type Fence, type NewTask, type TaskStore } from '../stores/tasks.js';
import { Replay } from './replay.js';

/** The time for which the events of a run are kept while the database is away. Then another run begins. */
const KEPT_MS = 60_000;
const RETRY = { firstMs: 100, longestMs: 2_000 };
/** The events that others append to a task while it is leased. */
const OF_OTHERS: ReadonlySet<EventType> = new Set(['message', 'cancel-request']);

export interface RunAppendsOptions {
  readonly store: Pick<TaskStore, 'append' | 'read' | 'renew' | 'retake'>;
  /** Names this process in leases. */
  readonly worker: string;
  readonly replay: Replay;
  /** Set for a new task, which is not stored yet. */
  readonly firstAppend?: FirstAppend | undefined;
}

/**
 * Appends the events of one run. While the database is away for a short time, keeps them and appends them once it is back:
 * the results of calls that cannot be repeated are among them.
 */
export class RunAppends {
  /** Its signal aborts when nobody needs the events any more. */
  readonly #run: Pick<Run, 'task' | 'signal' | 'logger'>;
  readonly #options: RunAppendsOptions;
  #fence: Fence;
  /** The newest event of the task. */
  #head: number;
  #first: FirstAppend | undefined;

  constructor(run: Pick<Run, 'task' | 'signal' | 'logger'>, options: RunAppendsOptions) {
    this.#run = run;
    this.#options = options;
    this.#fence = { taskId: run.task.id, epoch: run.task.epoch };
    this.#head = options.replay.head;
    this.#first = options.firstAppend;
  }

  get fence(): Fence {
    return this.#fence;
  }

  /** Resolves with the new head once the events are durable. Await it before the next call. Rejects like `TaskStore.append`. */
  append(events: readonly NewEvent[]): Promise<number> {
    const first = this.#first;
    this.#first = undefined;
    return first ? first.append(events).then((head) => (this.#head = head)) : this.#append(events);
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
    const { store, worker } = this.#options;
    const taken = await store.retake(worker, this.#fence);
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

/**
 * The first append of a new task. It stores the inbox row, the task row, event 1 and the first events of the run in one
 * transaction instead of two. No client hears of the task before that commit, and whatever the run does outside of the
 * journal waits for the events that it wrote before.
 */
export class FirstAppend {
  /** Timestamps are of this machine's clock. The stored row has those of the store's clock. */
  readonly task: TaskRecord;
  /** Settles after the commit. */
  readonly outcome: Promise<AcceptOutcome>;
  readonly #store: TaskStore;
  readonly #entry: NewTask;
  readonly #worker: string;
  #isStored = false;
  #resolve!: (outcome: AcceptOutcome | PromiseLike<AcceptOutcome>) => void;

  constructor(store: TaskStore, entry: NewTask, worker: string) {
    this.#store = store;
    this.#entry = entry;
    this.#worker = worker;
    this.task = taskOfNew(entry, Date.now());
    this.outcome = new Promise((resolve) => (this.#resolve = resolve));
  }

  /** True after the commit. A store with several connections may not find the task before. */
  get isStored(): boolean {
    return this.#isStored;
  }

  /** The past of a new task: its message. */
  replay(): Replay {
    const { task } = this;
    const replay = new Replay();
    const { message, request } = this.#entry;
    const body = { type: 'message', message, ...(request && { request }) } as const;
    replay.add({ taskId: task.id, seq: task.head, at: task.createdAt, author: undefined, body });
    return replay;
  }

  /** Stores the task with the first events of its run. Call it once. Resolves with the head. */
  async append(events: readonly NewEvent[]): Promise<number> {
    let outcome: AcceptOutcome;
    try {
      outcome = await this.#accept(events);
    } catch (error) {
      // Either the message or the run's events cannot be stored. Storing the message alone tells which.
      this.#resolve(isLangoError(error, 'storage') ? Promise.reject(error) : this.#acceptAlone());
      throw error;
    }
    this.#isStored = true;
    this.#resolve(outcome);
    if (outcome.kind === 'accepted') return outcome.seq + events.length;
    throw new LangoError('fenced', 'Another process accepted the message first.');
  }

  async #acceptAlone(): Promise<AcceptOutcome> {
    const outcome = await this.#accept([]);
    this.#isStored = true;
    return outcome;
  }

  #accept(firstEvents: readonly NewEvent[]): Promise<AcceptOutcome> {
    return this.#store.accept(this.#entry, { worker: this.#worker, firstEvents });
  }
}
