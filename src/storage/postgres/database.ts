import { crc32 } from 'node:zlib';
import type { PoolClient } from 'pg';
import { LangoError, errorText } from '../../core/errors.js';
import { KeyedMutex } from '../../core/keyed-mutex.js';
import type { Logger } from '../../core/logger.js';
import type { Dialect, Outcome, Query, SqlDatabase, Statement } from '../../core/sql.js';
import { runLater } from '../../core/sql.js';
import { CHAINED_TYPE } from '../deflated.js';
import { query, type ConnectionOptions, type Driver } from './connection.js';
import { isWriteRefused, isFaultOfDatabase, mayRepeat, storageError } from './failure.js';

/** The text of a row of `events`, as `eventsIn` reads it. See ../deflated.ts. */
export const EVENT_TEXT = `body, deflated, CASE WHEN deflated IS NOT NULL AND body LIKE '% %' THEN (
    SELECT array_agg(above.deflated ORDER BY above.seq) FROM (
      SELECT seq, deflated FROM events AS one
      WHERE one.task = events.task AND one.seq < events.seq AND type = '${CHAINED_TYPE}' AND deflated IS NOT NULL
      ORDER BY seq DESC LIMIT split_part(events.body, ' ', 2)::bigint
    ) AS above
  ) END AS earlier`;

/** The dialect of PostgreSQL. The index of words is a column of lexemes, found by GIN. */
const DIALECT: Dialect = {
  name: 'postgres',
  member: (column, name) => `${column} ->> '${name}'`,
  items,
  list: (parameter) => `json_array_elements(${parameter}::json) AS item(value)`,
  using: () => '',
  orderedJoin: 'JOIN',
  forUpdate: ' FOR UPDATE',
  skipLocked: ' FOR UPDATE SKIP LOCKED',
  nextKey: '(SELECT last_value + 1 FROM tasks_key_seq)',
  eventText: EVENT_TEXT,
  eventBytes: "CASE WHEN deflated IS NULL THEN octet_length(body) ELSE split_part(body, ' ', 1)::bigint END",
  jsonList: (value, order) => `json_agg(${value} ORDER BY ${order})`,
};

function items(type: 'text' | 'number', parameter = '?'): string {
  const value = type === 'number' ? 'value::bigint' : 'value';
  return `(SELECT ${value} FROM json_array_elements_text(${parameter}::json) AS item(value))`;
}

/** The class of this program's advisory locks: "LNGO". */
export const LOCK_CLASS = 0x4c4e474f;
/**
 * Begins a transaction whose statements see what others committed before each of them. At a stricter level, which may be the
 * default of a database, they would not see what was committed while the transaction waited for its lock.
 */
export const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED';
const REPEATS = 5;
/** The interval at which a database that failed is tried again. */
const PROBE_MS = 500;
const NOW = 'SELECT lango_now() AS now';
/** Changes nothing, but succeeds only where the database accepts writes. */
const TRY_WRITE = 'UPDATE meta SET value = value WHERE false';

interface DatabaseOptions extends Pick<ConnectionOptions, 'pooling'> {
  readonly logger: Logger;
  /** Resolves with why this program cannot use the tables any more; undefined while it can. */
  readonly findNewer: () => Promise<LangoError | undefined>;
}

/** One database with its pool of connections. All stores of this process share it. */
export class PostgresDatabase implements SqlDatabase {
  readonly dialect = DIALECT;
  readonly isShared = true;
  readonly #driver: Driver;
  readonly #options: DatabaseOptions;
  readonly #isPrepared: boolean;
  /** Writes under one lock wait here, so that each does not hold a connection while it waits. */
  readonly #locks = new KeyedMutex();
  readonly #active = new Set<Promise<unknown>>();
  #isOpen = true;
  #problem: LangoError | undefined;
  /** Set for good once a newer version of the program changed the tables, so that a statement failed. */
  #newer: LangoError | undefined;
  #probe: NodeJS.Timeout | undefined;

  constructor(driver: Driver, options: DatabaseOptions) {
    this.#driver = driver;
    this.#options = options;
    this.#isPrepared = options.pooling === 'session';
    driver.pool.on('error', (error) => this.#onFailure(error));
  }

  /** Why the database cannot be used; undefined while it can. */
  get problem(): LangoError | undefined {
    return this.#newer ?? this.#problem;
  }

  async now(): Promise<number> {
    return ((await this.one({ sql: NOW, values: [] })).rows[0] as { readonly now: number }).now;
  }

  /** Runs one statement in a transaction of its own. */
  one(statement: Statement): Promise<Outcome> {
    return this.during((ask) => ask(statement));
  }

  /** Runs work that asks statements, each in a transaction of its own. The database closes after it. */
  during<Result>(
    work: (ask: (statement: Statement) => Promise<Outcome>) => Promise<Result>,
  ): Promise<Result> {
    return this.#watched(() =>
      work((statement) => repeat(() => query(this.#driver.pool, statement, this.#isPrepared))),
    );
  }

  /** PostgreSQL keeps deleted rows until a vacuum. */
  async purge(): Promise<void> {
    await this.one({ sql: 'VACUUM', values: [] });
  }

  /** Throws `LangoError` `storage` after `close`, and once the tables are too new. */
  assertOpen(): void {
    if (!this.#isOpen)
      throw new LangoError('storage', 'The store is closed: the server is stopping or has stopped.');
    if (this.#newer) throw this.#newer;
  }

  read<Result>(work: () => Query<Result>): Promise<Result> {
    return this.#watched(() =>
      runLater(work(), (statement) => query(this.#driver.pool, statement, this.#isPrepared)),
    );
  }

  /** An empty `lock` takes no lock: the work selects its rows with `forUpdate` instead. */
  write<Result>(lock: string, work: (now: number) => Query<Result>): Promise<Result> {
    const transact = () => repeat(() => this.#transact(lock, work));
    return this.#watched(() => (lock === '' ? transact() : this.#locks.run(lock, transact)));
  }

  /** Waits for the active work, and closes all connections. */
  async close(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    clearTimeout(this.#probe);
    await Promise.allSettled(this.#active);
    await this.#driver.pool.end().catch(() => undefined);
  }

  async #transact<Result>(lock: string, work: (now: number) => Query<Result>): Promise<Result> {
    const client: PoolClient = await this.#driver.pool.connect();
    let failure: unknown;
    try {
      // One message takes one round trip. Only numbers are put into its text, so nothing can be injected.
      const locking = lock === '' ? '' : `SELECT pg_advisory_xact_lock(${LOCK_CLASS}, ${crc32(lock) | 0});`;
      const begun = (await client.query(`${BEGIN}; ${locking} ${NOW}`)) as never as readonly {
        readonly rows: readonly { readonly now: number }[];
      }[];
      const result = await runLater(work(begun.at(-1)!.rows[0]!.now), (statement) =>
        query(client, statement, this.#isPrepared),
      );
      await client.query('COMMIT');
      return result;
    } catch (error) {
      failure = error;
      await client.query('ROLLBACK').catch(() => undefined);
      throw error;
    } finally {
      client.release(isFaultOfDatabase(failure));
    }
  }

  /** Counts the work as active, wraps its errors, and notes whether the database works. */
  async #watched<Result>(work: () => Promise<Result>): Promise<Result> {
    this.assertOpen();
    const active = work();
    this.#active.add(active);
    try {
      const result = await active;
      // Reads work on a server that accepts no writes.
      if (!isWriteRefused(this.#problem?.cause)) this.#onSuccess();
      return result;
    } catch (error) {
      if (error instanceof LangoError) throw error;
      if (await this.#meetsNewer(error)) throw this.#newer!;
      this.#onFailure(error);
      throw storageError(error);
    } finally {
      this.#active.delete(active);
    }
  }

  /** Whether a statement failed because a newer version changed the tables. Later work then rejects at once. */
  async #meetsNewer(error: unknown): Promise<boolean> {
    if (this.#newer || isFaultOfDatabase(error) || mayRepeat(error)) return this.#newer !== undefined;
    const found = await this.#options.findNewer().catch(() => undefined);
    if (found && !this.#newer) {
      this.#newer = found;
      this.#options.logger.error(found.message, { error: errorText(error), hint: found.hint });
    }
    return found !== undefined;
  }

  #onSuccess(): void {
    if (!this.#problem) return;
    this.#problem = undefined;
    clearTimeout(this.#probe);
    this.#probe = undefined;
    this.#options.logger.info('the database can be used again');
  }

  /** Logs an error. When the database as a whole fails, notes that and tries it from time to time. */
  #onFailure(error: unknown): void {
    const failure = storageError(error);
    const isNew = this.#problem?.message !== failure.message;
    if (isNew)
      this.#options.logger.error('the database failed', { error: errorText(error), hint: failure.hint });
    if (!isFaultOfDatabase(error) || !this.#isOpen) return;
    this.#problem = failure;
    this.#probe ??= setTimeout(() => {
      this.#probe = undefined;
      this.one({ sql: TRY_WRITE, values: [] }).then(
        () => this.#onSuccess(),
        () => undefined,
      );
    }, PROBE_MS).unref();
  }
}

/** Runs a transaction again that lost against others. */
async function repeat<Result>(transact: () => Promise<Result>): Promise<Result> {
  for (let left = REPEATS; ; left -= 1) {
    try {
      return await transact();
    } catch (error) {
      if (left === 0 || !mayRepeat(error)) throw error;
    }
  }
}
