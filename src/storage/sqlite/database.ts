import type Database from 'better-sqlite3';
import { LangoError } from '../../core/errors.js';
import { openConnection, type ConnectionOptions } from './connection.js';
import { storageError } from './failure.js';
import type { Touch } from '../task-changes.js';
import { GroupCommit, type Work } from './group-commit.js';
import { Prepared } from './prepared.js';

export interface DatabaseOptions extends ConnectionOptions {
  /** The store's clock, in milliseconds since the epoch. Default: the machine's. */
  readonly now?: () => number;
}

/**
 * One open database with its queue of writes. All stores share it. Opening throws `LangoError` `storage` with
 * advice, and then leaves nothing open.
 */
export class SqliteDatabase {
  readonly handle: Database.Database;
  readonly prepared: Prepared;
  /** The name of this database. It stays the same over restarts. */
  readonly nodeId: string;
  readonly now: () => number;
  readonly #commits: GroupCommit;
  readonly #disconnect: () => void;
  #isOpen = true;

  constructor(options: DatabaseOptions) {
    const connection = openConnection(options);
    this.handle = connection.database;
    this.prepared = new Prepared(connection.database);
    this.nodeId = connection.nodeId;
    this.now = options.now ?? Date.now;
    this.#commits = new GroupCommit(connection.database, options.logger, connection.hooks);
    this.#disconnect = () => connection.close();
  }

  /** Why the last commit failed; undefined after a commit. */
  get problem(): LangoError | undefined {
    return this.#commits.problem;
  }

  /** Runs `work` in the transaction of this turn of the event loop. Resolves after its commit. Throws when closed. See `Work`. */
  write<Result>(work: Work<Result>): Promise<Result> {
    this.#assertOpen();
    return this.#commits.run(work);
  }

  read<Result>(query: () => Result): Result {
    this.#assertOpen();
    try {
      return query();
    } catch (error) {
      throw storageError(error);
    }
  }

  /** Calls `listener` after each commit, once per task, with the events that the task got. Returns the unsubscribe function. */
  onTouch(listener: Touch): () => void {
    return this.#commits.onCommit(listener);
  }

  /** Commits the pending writes. Every later call of the database throws. Closing twice has no effect. */
  close(): void {
    if (!this.#isOpen) return;
    this.#commits.close();
    this.#isOpen = false;
    this.#disconnect();
  }

  #assertOpen(): void {
    if (!this.#isOpen)
      throw new LangoError('storage', 'The store is closed: the server is stopping or has stopped.');
  }
}
