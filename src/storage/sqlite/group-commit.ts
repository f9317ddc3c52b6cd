import type Database from 'better-sqlite3';
import { errorText, isLangoError, type LangoError } from '../../core/errors.js';
import type { Logger } from '../../core/logger.js';
import type { StoredEvent } from '../rows.js';
import type { Touch } from '../task-changes.js';
import { AppendListeners } from '../append-listeners.js';
import { Checkpoints } from './checkpoints.js';
import { isFaultOfDatabase, primaryCode, storageError } from './failure.js';

/**
 * One write. It may run twice, with the first run rolled back, so it must have no effects outside of the database. If it
 * throws a `LangoError` it must have written nothing.
 */
export type Work<Result> = (touch: Touch) => Result;

/** The committed events by task, in the order of the writes. */
type Touched = Map<string, readonly StoredEvent[]>;

/** A write that was asked for, with its outcome once its transaction has run. */
class Pending {
  readonly #work: Work<unknown>;
  readonly #resolve: (result: unknown) => void;
  readonly #reject: (error: LangoError) => void;
  #result: unknown;
  #error: LangoError | undefined;

  constructor(work: Work<unknown>, resolve: (result: unknown) => void, reject: (error: LangoError) => void) {
    this.#work = work;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  /** Runs the write inside a transaction. Throws what is not an error of this write alone. */
  attempt(touch: Touch): void {
    this.#error = undefined;
    try {
      this.#result = this.#work(touch);
    } catch (error) {
      if (!isLangoError(error)) throw error;
      this.#error = error;
    }
  }

  /** Settles the promise, after the commit, or with the failure of the transaction. */
  settle(failure = this.#error): void {
    if (failure) this.#reject(failure);
    else this.#resolve(this.#result);
  }
}

/** Functions that are called around each commit. */
export interface CommitHooks {
  /** Called as the last part of each transaction, which is rolled back when it throws. */
  readonly before: () => void;
  /** Called after a commit that wrote something, before its writes settle, with the number of the commit. */
  readonly after: (commits: number) => void;
}

const NO_HOOKS: CommitHooks = { before() {}, after() {} };

/** The time that writes wait for the lock of another program, and the pause between two attempts. */
const LOCK_WAIT_MS = 2_000;
const LOCK_RETRY_MS = 50;
/** The interval at which a write is tried while the last commit failed. */
const PROBE_MS = 1_000;

/** The number of the last commit, kept in the database. Commits that change nothing are not counted. */
const COUNT = "INSERT OR IGNORE INTO meta (key, value) VALUES ('commits', '0')";
const NEXT = `UPDATE meta SET value = CAST(value AS INTEGER) + 1 WHERE key = 'commits' AND total_changes() > ?
  RETURNING CAST(value AS INTEGER) AS commits, total_changes() AS changes`;
const PROBE = "UPDATE meta SET value = value WHERE key = 'commits'";

/**
 * Runs all writes of one turn of the event loop in one transaction, in the order of the calls, and settles each of their
 * promises after the commit. Reads of the turn may share the transaction. While another program holds the lock of the
 * database, writes wait without blocking.
 */
export class GroupCommit {
  /** Its number is undefined for a transaction that changed nothing. */
  readonly #transact: (group: readonly Pending[]) => { touched: Touched; number: NumberRow | undefined };
  /** Called after each commit, once per task, with the events that the task got. */
  readonly listeners: AppendListeners<readonly StoredEvent[]>;
  readonly #logger: Logger;
  readonly #checkpoints: Checkpoints;
  readonly #hooks: CommitHooks;
  readonly #probe: Database.Statement;
  readonly #begin: Record<'read' | 'write' | 'commit' | 'rollback', Database.Statement>;
  #pending: Pending[] = [];
  /** Whether the transaction of this turn is open, with nothing written yet. */
  #isReading = false;
  /** For the next attempt of writes that wait for a lock. */
  #retry: NodeJS.Timeout | undefined;
  /** For the next probe while there is a problem. */
  #nextProbe: NodeJS.Timeout | undefined;
  #lockedSince: number | undefined;
  #problem: LangoError | undefined;
  /** SQLite's count of changed rows after the last commit. */
  #changes = 0;

  /** `database` must have the table `meta`. */
  constructor(database: Database.Database, logger: Logger, hooks = NO_HOOKS) {
    this.#logger = logger;
    this.listeners = new AppendListeners(logger);
    this.#hooks = hooks;
    this.#checkpoints = new Checkpoints(database, logger);
    database.prepare(COUNT).run();
    const next = database.prepare<[number], NumberRow>(NEXT);
    const prepare = (sql: string): Database.Statement => database.prepare(sql);
    this.#probe = prepare(PROBE);
    this.#begin = {
      ...{ read: prepare('BEGIN'), write: prepare('BEGIN IMMEDIATE') },
      ...{ commit: prepare('COMMIT'), rollback: prepare('ROLLBACK') },
    };
    this.#transact = (group) => {
      const touched: Touched = new Map();
      const touch: Touch = (taskId, events) => addTouched(touched, taskId, events);
      if (!this.#isReading) this.#begin.write.run();
      this.#isReading = false;
      try {
        for (const pending of group) pending.attempt(touch);
        const number = next.get(this.#changes);
        hooks.before();
        this.#begin.commit.run();
        return { touched, number };
      } finally {
        // Some failures have rolled the transaction back already.
        if (database.inTransaction) this.#begin.rollback.run();
      }
    };
  }

  /** Why the last commit failed; undefined after a commit. */
  get problem(): LangoError | undefined {
    return this.#problem;
  }

  run<Result>(work: Work<Result>): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      if (this.#pending.length === 0 && !this.#isReading) setImmediate(() => this.flush());
      this.#pending.push(new Pending(work, resolve as (result: unknown) => void, reject));
    });
  }

  /** Reads what is committed, at once. A transaction for each read would take and free locks of the file each time. */
  read<Result>(query: () => Result): Result {
    if (!this.#isReading) {
      this.#begin.read.run();
      this.#isReading = true;
      setImmediate(() => (this.#retry === undefined ? this.flush() : this.endReading()));
    }
    return query();
  }

  /** Ends the transaction in which this turn reads. */
  endReading(): void {
    if (this.#isReading) this.#begin.commit.run();
    this.#isReading = false;
  }

  /** Commits the pending writes now. Never throws. */
  flush(): void {
    const group = this.#pending;
    if (group.length === 0) return this.endReading();
    this.#pending = [];
    for (const [taskId, events] of this.#commit(group)) this.listeners.notify(taskId, events);
    this.#checkpoints.onCommit();
  }

  /** Commits the pending writes. Nothing may be written afterwards. */
  close(): void {
    this.#lockedSince = -Infinity;
    this.flush();
    clearTimeout(this.#retry);
    clearTimeout(this.#nextProbe);
    this.#checkpoints.close();
  }

  /** If the transaction fails, each write gets its own transaction, so that one bad write does not fail the others. */
  #commit(group: readonly Pending[]): Touched {
    try {
      const { touched, number } = this.#transact(group);
      this.#onCommitted(number);
      for (const pending of group) pending.settle();
      return touched;
    } catch (error) {
      const touched: Touched = new Map();
      if (this.#waitsForLock(group, error)) return touched;
      if (group.length > 1 && !isForAll(error)) {
        for (const pending of group)
          for (const [taskId, events] of this.#commit([pending])) addTouched(touched, taskId, events);
        return touched;
      }
      const failure = storageError(error);
      this.#onFailure(failure, error);
      for (const pending of group) pending.settle(failure);
      return touched;
    }
  }

  #onCommitted(number: NumberRow | undefined): void {
    this.#lockedSince = undefined;
    if (!number) return;
    // Plus one for the statement that counts: its own change is not in its result yet.
    this.#changes = number.changes + 1;
    try {
      this.#hooks.after(number.commits);
    } catch (error) {
      this.#onFailure(storageError(error), error);
      return;
    }
    if (this.#problem) this.#logger.info('the database can be written again');
    this.#problem = undefined;
  }

  /** Puts the writes back into the queue while another program holds the lock, for at most `LOCK_WAIT_MS`. */
  #waitsForLock(group: readonly Pending[], error: unknown): boolean {
    if (primaryCode(error) !== 'SQLITE_BUSY') return false;
    this.#lockedSince ??= performance.now();
    if (performance.now() - this.#lockedSince > LOCK_WAIT_MS) return false;
    this.#pending = [...group, ...this.#pending];
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      this.flush();
    }, LOCK_RETRY_MS);
    return true;
  }

  /** Logs a failure. When the database as a whole failed, remembers the failure and tries a write from time to time. */
  #onFailure(failure: LangoError, error: unknown): void {
    const isNew = this.#problem?.message !== failure.message;
    if (isNew) this.#logger.error('a write failed', { error: errorText(error), hint: failure.hint });
    if (!isFaultOfDatabase(error)) return;
    this.#problem = failure;
    clearTimeout(this.#nextProbe);
    this.#nextProbe = setTimeout(
      () => void this.run(() => this.#probe.run()).catch(() => undefined),
      PROBE_MS,
    ).unref();
  }
}

interface NumberRow {
  readonly commits: number;
  readonly changes: number;
}

/** Whether an error has nothing to do with the writes of the transaction, so that each alone would fail too. */
function isForAll(error: unknown): boolean {
  return isLangoError(error) || primaryCode(error) === 'SQLITE_BUSY';
}

function addTouched(touched: Touched, taskId: string, events: readonly StoredEvent[]): void {
  const earlier = touched.get(taskId);
  touched.set(taskId, earlier ? [...earlier, ...events] : events);
}
