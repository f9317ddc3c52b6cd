import type { Dialect, Outcome, Query, SqlDatabase, Statement } from '../../core/sql.js';
import { runNow } from '../../core/sql.js';
import type { SqliteDatabase } from './database.js';

/** The dialect of SQLite. */
const DIALECT: Dialect = {
  name: 'sqlite',
  member: (column, name) => `${column} ->> '$.${name}'`,
  items: (_type, parameter = '?') => `(SELECT value FROM json_each(${parameter}))`,
  using: (index) => `INDEXED BY ${index}`,
  orderedJoin: 'CROSS JOIN',
  forUpdate: '',
  skipLocked: '',
  nextKey: '(SELECT coalesce(max(key), 0) + 1 FROM tasks)',
  jsonList: (value, order) => `json_group_array(${value} ORDER BY ${order})`,
};

/** Runs the work of the shared stores on SQLite. It has one writer, so locks have no effect. */
export class StatementRunner implements SqlDatabase {
  readonly dialect = DIALECT;
  readonly isShared = false;
  readonly #database: SqliteDatabase;

  constructor(database: SqliteDatabase) {
    this.#database = database;
  }

  async now(): Promise<number> {
    return this.#database.now();
  }

  async read<Result>(query: () => Query<Result>): Promise<Result> {
    return this.#database.read(() => this.run(query()));
  }

  async write<Result>(_lock: string, work: (now: number) => Query<Result>): Promise<Result> {
    return this.#database.write(() => this.run(work(this.#database.now())));
  }

  /** The rows were overwritten when they were deleted (`secure_delete`), but their pages are still in the log. */
  async purge(): Promise<void> {
    this.#database.read(() => this.#database.handle.pragma('wal_checkpoint(TRUNCATE)'));
  }

  /** Runs work at once. Call it inside a read or a write. */
  run<Result>(query: Query<Result>): Result {
    return runNow(query, this.#answer);
  }

  readonly #answer = ({ sql, values }: Statement): Outcome => this.#database.prepared.outcome(sql, values);
}
