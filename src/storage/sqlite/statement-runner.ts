import type { Dialect, Outcome, Query, SqlDatabase, Statement } from '../../stores/sql.js';
import { runNow } from '../../stores/sql.js';
import type { SqliteDatabase } from './database.js';

/** The dialect of SQLite. The index of words is FTS5 without text: see schema.ts. */
const DIALECT: Dialect = {
  member: (column, name) => `${column} ->> '$.${name}'`,
  items: (_type, parameter = '?') => `(SELECT value FROM json_each(${parameter}))`,
  using: (index) => `INDEXED BY ${index}`,
  orderedJoin: 'CROSS JOIN',
  forUpdate: '',
  skipLocked: '',
  nextKey: '(SELECT coalesce(max(key), 0) + 1 FROM tasks)',
  jsonList: (value, order) => `json_group_array(${value} ORDER BY ${order})`,
  words: {
    term: quoted,
    prefix: (text) => `${quoted(text)} *`,
    and: (expressions) => expressions.map((each) => `(${each})`).join(' AND '),
    or: (expressions) => expressions.join(' OR '),
    add: (passages) =>
      `INSERT INTO passage_words (rowid, terms) VALUES ${Array(passages).fill('(?, ?)').join(', ')}`,
    remove: 'DELETE FROM passage_words WHERE rowid IN (SELECT value FROM json_each(?))',
    newest: 'SELECT rowid FROM passage_words WHERE passage_words MATCH ? ORDER BY rowid DESC LIMIT ?',
    countUpTo: `SELECT count(*) AS doc FROM (SELECT 1 FROM passage_words WHERE passage_words MATCH ? LIMIT ?)`,
    countTerm: 'SELECT doc FROM passage_terms WHERE term = ?',
  },
};

/** An FTS5 string literal. */
function quoted(term: string): string {
  return `"${term.replaceAll('"', '""')}"`;
}

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

  /** Runs work at once. Call it inside a read or a write. */
  run<Result>(query: Query<Result>): Result {
    return runNow(query, this.#answer);
  }

  readonly #answer = ({ sql, values }: Statement): Outcome => this.#database.prepared.outcome(sql, values);
}
