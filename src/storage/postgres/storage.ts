import type { PoolClient } from 'pg';
import { errorText, LangoError } from '../../core/errors.js';
import { newId } from '../../core/ids.js';
import type { Logger } from '../../core/logger.js';
import type { Storage } from '../../stores/storage.js';
import { createPushStore, purgePushes } from '../push-store.js';
import { RecentEvents } from '../recent-events.js';
import { createRetentionStore } from '../retention.js';
import { createSpendingStore } from '../spending-store.js';
import { createTaskUseStore } from '../task-use-store.js';
import { createTraceStore } from '../trace-store.js';
import { AppendListeners } from '../append-listeners.js';
import type { TaskLimits } from '../task-store.js';
import { guardSteps, stepsAfter, type CapabilityTables } from '../capability-tables.js';
import { createDriver, type ConnectionOptions, type Driver } from './connection.js';
import { BEGIN, LOCK_CLASS, PostgresDatabase } from './database.js';
import { openingError } from './failure.js';
import { Liveness } from './liveness.js';
import { MIGRATIONS, serverProblem } from './migrations.js';
import { forgetMessage } from './task-statements.js';
import { PostgresTaskStore } from './task-store.js';

interface StorageOptions extends ConnectionOptions, TaskLimits {
  /** The tables of capabilities, which are made or brought up to date. */
  readonly tables: readonly CapabilityTables[];
  readonly logger: Logger;
}

/**
 * Opens the database and brings its schema up to date. Other processes of the same node may use it meanwhile; their leases
 * stay. Rejects with `LangoError` `storage` with advice if it cannot be reached or was made by a newer version.
 */
export async function openPostgresStorage(options: StorageOptions): Promise<Storage> {
  const { pooling, logger, eventBytes, messageIdMs, tables } = options;
  const driver = await createDriver(options);
  const database = new PostgresDatabase(driver, {
    ...{ pooling, logger },
    findNewer: () => findNewer(driver.pool, tables),
  });
  const listeners = new AppendListeners(logger);
  let liveness: Liveness | undefined;
  const close = async () => {
    await database.close();
    await liveness?.close();
  };
  try {
    const nodeId = await migrate(driver, options);
    const channel = `lango_${nodeId.replaceAll('-', '_')}`;
    const hasSession = pooling === 'session';
    liveness = new Liveness({ driver, database, listeners, channel, hasSession, logger });
    await liveness.open();
    await database.write('pushes', purgePushes);
    const recent = new RecentEvents();
    const parts = { recent, listeners, processes: liveness, eventBytes, messageIdMs };
    return {
      nodeId,
      problem: () => database.problem,
      database,
      tasks: new PostgresTaskStore(database, parts),
      retention: createRetentionStore(database, { recent, counts: undefined, forgetMessage }),
      pushes: createPushStore(database, liveness),
      spending: createSpendingStore(database),
      taskUse: createTaskUseStore(database),
      traces: createTraceStore(database),
      close,
    };
  } catch (error) {
    await close();
    throw openingError(error);
  }
}

/** Brings the schema up to date, one process at a time, and resolves with the id of the node. */
export async function migrate(
  { pool }: Driver,
  { tables, logger }: Pick<StorageOptions, 'tables' | 'logger'>,
): Promise<string> {
  const client = await pool.connect();
  try {
    await client.query(`${BEGIN}; SELECT pg_advisory_xact_lock(${LOCK_CLASS}, 0)`);
    const facts = await factsOf(client);
    assertServer(facts, logger);
    const version = facts.made ? Number(await metaOf(client, 'schema')) : 0;
    assertKnown(version);
    for (const sql of MIGRATIONS.slice(version)) await client.query(sql);
    const set = 'INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key)';
    await client.query(`${set} DO UPDATE SET value = excluded.value`, ['schema', String(MIGRATIONS.length)]);
    await client.query(`${set} DO NOTHING`, ['node', newId()]);
    for (const one of tables) await migrateCapability(client, one);
    const nodeId = await metaOf(client, 'node');
    await client.query('COMMIT');
    if (version > 0 && version < MIGRATIONS.length)
      logger.info('database schema upgraded', { from: version, to: MIGRATIONS.length });
    return nodeId!;
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  } finally {
    client.release();
  }
}

const VERSIONS = `SELECT (SELECT value FROM meta WHERE key = 'schema') AS schema,
  (SELECT json_object_agg(name, version) FROM capabilities) AS capabilities`;

/**
 * Why a running process cannot use the tables any more: another one of a newer version upgraded them. The error is
 * temporary for clients and for tasks, because processes of that version go on with both.
 */
async function findNewer(
  pool: Driver['pool'],
  tables: readonly CapabilityTables[],
): Promise<LangoError | undefined> {
  const { rows } = await pool.query<{
    readonly schema: string;
    readonly capabilities: Readonly<Record<string, number>> | null;
  }>(VERSIONS);
  const { schema, capabilities } = rows[0]!;
  try {
    assertKnown(Number(schema));
    for (const { name, postgres } of tables) stepsAfter(name, capabilities?.[name] ?? 0, postgres);
    return undefined;
  } catch (error) {
    const hint = 'Replace this server by one of that version, which continues its tasks.';
    return new LangoError('storage', errorText(error), { hint, retryable: true, retryAfterMs: 2_000 });
  }
}

const OBJECTS = `SELECT relname AS name, relkind::text || ' ' || coalesce(string_agg(attname || ' ' || format_type(atttypid, atttypmod)
    || attnotnull::text, ', ' ORDER BY attnum), '') || ' ' || relhastriggers::text AS text
  FROM pg_class LEFT JOIN pg_attribute ON attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped
  WHERE relnamespace = current_schema()::regnamespace GROUP BY pg_class.oid`;

/** Brings the tables of a capability up to date, in the transaction of the caller. */
async function migrateCapability(client: PoolClient, { name, postgres, isForeign }: CapabilityTables) {
  const find = 'SELECT version FROM capabilities WHERE name = $1';
  const found = await client.query<{ readonly version: number }>(find, [name]);
  const steps = stepsAfter(name, found.rows[0]?.version ?? 0, postgres);
  if (steps.length === 0) return;
  const objects = async () => {
    const { rows } = await client.query<{ readonly name: string; readonly text: string }>(OBJECTS);
    return new Map(rows.map((row) => [row.name, row.text]));
  };
  const assertOwn = isForeign && guardSteps(name, steps, await objects());
  for (const sql of steps) await client.query(sql);
  if (assertOwn) assertOwn(await objects());
  const set = 'INSERT INTO capabilities (name, version) VALUES ($1, $2) ON CONFLICT (name)';
  await client.query(`${set} DO UPDATE SET version = excluded.version`, [name, postgres.length]);
}

/** Refuses an old server, and another encoding for new tables; for tables that are there, it is told in the log. */
function assertServer({ version, encoding, made }: Facts, logger: Logger): void {
  const problem = serverProblem(version);
  if (problem !== undefined)
    throw new LangoError('storage', problem, { hint: 'Let storage.url name a newer server.' });
  if (encoding === 'UTF8') return;
  const text = `The database of storage.url has the encoding ${encoding}, which does not hold every letter.`;
  const hint = 'Create one with: createdb --encoding=UTF8 --locale=C.UTF-8 --template=template0 NAME';
  if (!made) throw new LangoError('storage', text, { hint });
  logger.warn(text, { hint: `${hint}. Then copy this one with pg_dump.` });
}

function assertKnown(version: number): void {
  if (version <= MIGRATIONS.length) return;
  const text = Number.isNaN(version)
    ? 'The tables of this database belong to another program.'
    : `The database was made by a newer version of Lango: schema ${version} > ${MIGRATIONS.length}.`;
  throw new LangoError('storage', text, {
    hint: 'Start that version or a later one, or name another database in storage.url.',
  });
}

const FACTS = `SELECT current_setting('server_version') AS version, current_setting('server_encoding') AS encoding,
  current_setting('data_checksums', true) AS checksums, current_database() AS name, pg_is_in_recovery() AS standby,
  to_regclass('meta') IS NOT NULL AS made`;

interface Facts extends Readonly<Record<'version' | 'encoding' | 'checksums' | 'name', string>> {
  readonly standby: boolean;
  /** Whether the tables are there. */
  readonly made: boolean;
}

async function factsOf(client: Pick<PoolClient, 'query'>): Promise<Facts> {
  return (await client.query<Facts>(FACTS)).rows[0]!;
}

async function metaOf(client: Pick<PoolClient, 'query'>, key: string): Promise<string | undefined> {
  const { rows } = await client.query<{ readonly value: string }>('SELECT value FROM meta WHERE key = $1', [
    key,
  ]);
  return rows[0]?.value;
}

/**
 * Describes a database without changing it: `text` names the server and the database, without the password, and `problem` is
 * the reason why a server could not use it. Rejects with `LangoError` `storage` with advice if it cannot be reached.
 */
export async function inspectPostgres(options: ConnectionOptions) {
  const { pool } = await createDriver(options);
  try {
    const { version, checksums, name, standby, made } = await factsOf(pool);
    const schema = made ? Number(await metaOf(pool, 'schema')) : 0;
    const tables = made ? `schema ${schema}` : 'its tables are created at the first start';
    return {
      text: `PostgreSQL ${version}, database ${name}, ${tables}, page checksums ${checksums}`,
      problem: serverProblem(version) ?? problemOf(schema, standby),
    };
  } catch (error) {
    throw openingError(error);
  } finally {
    await pool.end().catch(() => undefined);
  }
}

function problemOf(schema: number, isStandby: boolean): string | undefined {
  if (isStandby) return 'It is a standby and accepts no writes. Let storage.url name the primary.';
  if (schema <= MIGRATIONS.length) return undefined;
  return `It was made by a newer version of Lango: schema ${schema} > ${MIGRATIONS.length}. Use that version or a later one.`;
}
