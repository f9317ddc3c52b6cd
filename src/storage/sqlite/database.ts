import type Database from 'better-sqlite3';
import { LangoError } from '../../core/errors.js';
import type { ConnectionOptions } from './connection.js';
import { openConnection } from './connection.js';
import { storageError } from './failure.js';
import type { Touch, Work } from './group-commit.js';
import { GroupCommit } from './group-commit.js';

export interface DatabaseOptions extends ConnectionOptions {
  /** The store's clock, in milliseconds since the epoch. Default: the machine's. */
  readonly now?: () => number;
}

/**
 * One open database and the one queue of its writes, shared by every store in it. Opening throws
 * `LangoError` `storage` with advice, and leaves nothing open then.
 */
export class SqliteDatabase {
  readonly handle: Database.Database;
  /** A name for this database that stays the same over restarts. */
  readonly nodeId: string;
  readonly now: () => number;
  readonly #commits: GroupCommit;
  readonly #disconnect: () => void;
  #isOpen = true;

  constructor(options: DatabaseOptions) {
    const connection = openConnection(options);
    this.handle = connection.database;
    this.nodeId = connection.nodeId;
    this.now = options.now ?? Date.now;
    this.#commits = new GroupCommit(connection.database, options.logger);
    this.#disconnect = () => connection.close();
  }

  /** Runs in the transaction of this turn of the event loop; resolves after its commit. See `Work`. */
  async write<Result>(work: Work<Result>): Promise<Result> {
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

  /** Called after commit, once per task that writes touched, with the events it got. Returns the way to stop. */
  onTouch(listener: Touch): () => void {
    return this.#commits.onCommit(listener);
  }

  /** Commits what was asked for before, then refuses everything. Doing it again does nothing. */
  close(): void {
    if (!this.#isOpen) return;
    this.#commits.close();
    this.#isOpen = false;
    this.#disconnect();
  }

  #assertOpen(): void {
    if (!this.#isOpen) throw new LangoError('storage', 'The store is closed.');
  }
}
