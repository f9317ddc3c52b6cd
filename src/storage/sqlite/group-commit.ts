import type Database from 'better-sqlite3';
import type { LangoError } from '../../core/errors.js';
import { errorText, isLangoError } from '../../core/errors.js';
import type { Logger } from '../../core/logger.js';
import type { EventRow } from '../rows.js';
import { Checkpoints } from './checkpoints.js';
import { storageError } from './failure.js';

/**
 * One write. It may run twice, with the first run rolled back, so it must have no effects outside of the database. If it
 * throws a `LangoError` it must have written nothing.
 */
export type Work<Result> = (touch: Touch) => Result;

/** Reports that a task got these events. */
export type Touch = (taskId: string, events: readonly EventRow[]) => void;

/** The committed events by task, in the order of the writes. */
type Touched = Map<string, readonly EventRow[]>;

interface Pending {
  readonly work: Work<unknown>;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: LangoError) => void;
}

/**
 * Runs all writes of one turn of the event loop in one transaction, in the order of the calls, and settles each of their
 * promises after the commit.
 */
export class GroupCommit {
  readonly #transact: (group: readonly Pending[], touched: Touched) => readonly (() => void)[];
  readonly #listeners = new Set<Touch>();
  readonly #logger: Logger;
  readonly #checkpoints: Checkpoints;
  #pending: Pending[] = [];

  constructor(database: Database.Database, logger: Logger) {
    this.#logger = logger;
    this.#checkpoints = new Checkpoints(database, logger);
    const transaction = database.transaction((group: readonly Pending[], touched: Touched) => {
      const touch: Touch = (taskId, events) => addTouched(touched, taskId, events);
      return group.map((pending) => attempt(pending, touch));
    });
    this.#transact = (group, touched) => transaction.immediate(group, touched);
  }

  run<Result>(work: Work<Result>): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      if (this.#pending.length === 0) setImmediate(() => this.flush());
      this.#pending.push({ work, resolve: (result) => resolve(result as Result), reject });
    });
  }

  /** Commits the pending writes now. Never throws. */
  flush(): void {
    const group = this.#pending;
    if (group.length === 0) return;
    this.#pending = [];
    const touched: Touched = new Map();
    for (const settle of this.#commit(group, touched)) settle();
    for (const [taskId, events] of touched) this.#announce(taskId, events);
    this.#checkpoints.onCommit();
  }

  /** Commits the pending writes. Nothing may be written afterwards. */
  close(): void {
    this.flush();
    this.#checkpoints.close();
  }

  /** Calls `listener` after each commit, once per task that got events. Returns the unsubscribe function. */
  onCommit(listener: Touch): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** If the transaction fails, each write gets its own transaction, so that one bad write does not fail the others. */
  #commit(group: readonly Pending[], touched: Touched): readonly (() => void)[] {
    const touchedHere: Touched = new Map();
    try {
      const settled = this.#transact(group, touchedHere);
      touchedHere.forEach((events, taskId) => addTouched(touched, taskId, events));
      return settled;
    } catch (error) {
      const [only, ...others] = group;
      if (only === undefined) return [];
      if (others.length > 0) return group.flatMap((pending) => this.#commit([pending], touched));
      this.#logger.error('a write failed', { error: errorText(error) });
      return [() => only.reject(storageError(error))];
    }
  }

  #announce(taskId: string, events: readonly EventRow[]): void {
    for (const listener of this.#listeners) {
      try {
        listener(taskId, events);
      } catch (error) {
        this.#logger.error('a listener for new events failed', { taskId, error: errorText(error) });
      }
    }
  }
}

/** Runs one write inside a transaction. The returned function settles its promise, after the commit. */
function attempt(pending: Pending, touch: Touch): () => void {
  try {
    const result = pending.work(touch);
    return () => pending.resolve(result);
  } catch (error) {
    if (!isLangoError(error)) throw error;
    return () => pending.reject(error);
  }
}

function addTouched(touched: Touched, taskId: string, events: readonly EventRow[]): void {
  const earlier = touched.get(taskId);
  touched.set(taskId, earlier ? [...earlier, ...events] : events);
}
