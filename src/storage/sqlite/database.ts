import type Database from 'better-sqlite3';
import { LangoError } from '../../core/errors.js';
import {
  runNow,
  type Dialect,
  type Outcome,
  type Query,
  type SqlDatabase,
  type Statement,
} from '../../core/sql.js';
import type { Touch } from '../task-changes.js';
import { openConnection, type ConnectionOptions } from './connection.js';
import { storageError } from './failure.js';
import { GroupCommit, type Work } from './group-commit.js';

const DIALECT: Dialect = {
  name: 'sqlite',
  member: (column, name) => `${column} ->> '$.${name}'`,
  items: (_type, parameter = '?') => `(SELECT value FROM json_each(${parameter}))`,
  list: (parameter) => `(SELECT value FROM json_each(${parameter})) AS item`,
  using: (index) => `INDEXED BY ${index}`,
  orderedJoin: 'CROSS JOIN',
  forUpdate: '',
  skipLocked: '',
  nextKey: '(SELECT coalesce(max(key), 0) + 1 FROM tasks)',
  eventText: 'body',
  eventBytes: 'octet_length(body)',
  jsonList: (value, order) => `json_group_array(${value} ORDER BY ${order})`,
};

/**
 * One open database with its queue of writes. All stores share it. Opening throws `LangoError` `storage` with advice, and
 * then leaves nothing open. The database has one writer, so locks have no effect.
 */
export class SqliteDatabase implements SqlDatabase {
  readonly dialect = DIALECT;
  readonly isShared = false;
  readonly handle: Database.Database;
  /** The name of this database. It stays the same over restarts. */
  readonly nodeId: string;
  readonly clock: () => number;
  /** By SQL text. The texts are few: constants, or built from few parts. */
  readonly #statements = new Map<string, Database.Statement<unknown[]>>();
  readonly #commits: GroupCommit;
  readonly #disconnect: () => void;
  #isOpen = true;

  constructor(options: ConnectionOptions) {
    const { database, nodeId, hooks, close } = openConnection(options);
    this.handle = database;
    this.nodeId = nodeId;
    this.clock = options.now ?? Date.now;
    this.#commits = new GroupCommit(database, options.logger, hooks);
    this.#disconnect = close;
  }

  /** Why the last commit failed; undefined after a commit. */
  get problem(): LangoError | undefined {
    return this.#commits.problem;
  }

  async now(): Promise<number> {
    return this.clock();
  }

  async read<Result>(query: () => Query<Result>): Promise<Result> {
    return this.readNow(() => this.run(query()));
  }

  async write<Result>(_lock: string, work: (now: number) => Query<Result>): Promise<Result> {
    return this.commit(() => this.run(work(this.clock())));
  }

  /** The rows were overwritten when they were deleted (`secure_delete`), but their pages are still in the log. */
  async purge(): Promise<void> {
    this.readNow(() => {
      this.#commits.endReading();
      this.handle.pragma('wal_checkpoint(TRUNCATE)');
    });
  }

  /** Runs work at once. Call it inside a read or a commit. */
  run<Result>(query: Query<Result>): Result {
    return runNow(query, this.#execute);
  }

  /** Runs `work` in the transaction of this turn of the event loop. Resolves after its commit. Throws when closed. See `Work`. */
  commit<Result>(work: Work<Result>): Promise<Result> {
    this.#assertOpen();
    return this.#commits.run(work);
  }

  readNow<Result>(query: () => Result): Result {
    this.#assertOpen();
    try {
      return query();
    } catch (error) {
      throw storageError(error);
    }
  }

  /** Like `readNow`, and cheaper when the same turn of the event loop writes. */
  readBeforeCommit<Result>(query: () => Result): Result {
    return this.readNow(() => this.#commits.read(query));
  }

  /** Writes in a transaction of its own, without waiting for its turn. */
  writeNow(query: Query<unknown>): void {
    this.#commits.endReading();
    this.run(query);
  }

  /** Calls `listener` after each commit, once per task, with the events that the task got. Returns the unsubscribe function. */
  onTouch(listener: Touch): () => void {
    return this.#commits.listeners.add(listener);
  }

  /** Commits the pending writes. Every later call of the database throws. Closing twice has no effect. */
  close(): void {
    if (!this.#isOpen) return;
    this.#commits.close();
    this.#isOpen = false;
    this.#disconnect();
  }

  readonly #execute = ({ sql, values }: Statement): Outcome => {
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.handle.prepare<unknown[]>(sql);
      this.#statements.set(sql, statement);
    }
    if (!statement.reader) return { rows: [], changes: statement.run(...values).changes };
    const rows = statement.all(...values);
    return { rows, changes: rows.length };
  };

  #assertOpen(): void {
    if (!this.#isOpen)
      throw new LangoError('storage', 'The store is closed: the server is stopping or has stopped.');
  }
}
