import { LangoError } from '../../core/errors.js';
import { newId } from '../../core/ids.js';
import type { Logger } from '../../core/logger.js';
import type { Storage } from '../../stores/storage.js';
import { SqlExtractionStore } from '../../capabilities/knowledge/sql/extraction.js';
import { SqlGraphStore } from '../../capabilities/knowledge/sql/graph.js';
import { SqlKnowledgeStore } from '../../capabilities/knowledge/sql/knowledge.js';
import { SqlLibraryStore } from '../../capabilities/knowledge/sql/library.js';
import { SqlMemoryStore } from '../../capabilities/memory/sql-memory-store.js';
import { SqlPaymentStore } from '../../capabilities/payments/sql-payment-store.js';
import { purgePushes, SqlPushStore } from '../push-store.js';
import { RecentEvents } from '../recent-events.js';
import type { RemovedTask } from '../retention.js';
import { SqlRetentionStore } from '../retention.js';
import type { Query } from '../../stores/sql.js';
import { run } from '../../stores/sql.js';
import { SqlSpendingStore } from '../spending-store.js';
import { SqlTraceStore } from '../trace-store.js';
import { SqlVaultStore } from '../../capabilities/secrets/vault/sql-vault-store.js';
import { AppendListeners } from './append-listeners.js';
import type { ConnectionOptions, Driver } from './connection.js';
import { createDriver } from './connection.js';
import { BEGIN, LOCK_CLASS, PostgresDatabase } from './database.js';
import { storageError } from './failure.js';
import { Liveness } from './liveness.js';
import { MIGRATIONS } from './migrations.js';
import { inboxKey } from './task-statements.js';
import { PostgresTaskStore } from './task-store.js';

interface StorageOptions extends ConnectionOptions {
  /** The largest event of a task, in bytes. Default: 256 KiB. */
  readonly eventBytes?: number | undefined;
  /** How long the id of a message without a context is known, in milliseconds. Default: a day. */
  readonly messageIdMs?: number | undefined;
  readonly logger: Logger;
}

/**
 * Opens the database and brings its schema up to date. Other processes of the same node may use it meanwhile; their leases
 * stay. Rejects with `LangoError` `storage` with advice if it cannot be reached or was made by a newer version.
 */
export async function openPostgresStorage(options: StorageOptions): Promise<Storage> {
  const { pooling, logger, eventBytes, messageIdMs } = options;
  const driver = await createDriver(options);
  const database = new PostgresDatabase(driver, { pooling, logger });
  const listeners = new AppendListeners(logger);
  let liveness: Liveness | undefined;
  const close = async () => {
    await database.close();
    await liveness?.close();
  };
  try {
    const nodeId = await migrate(driver, logger);
    const channel = `lango_${nodeId.replaceAll('-', '_')}`;
    const hasSession = pooling === 'session';
    liveness = new Liveness({ driver, database, listeners, channel, hasSession, logger });
    await liveness.open();
    await database.write('pushes', purgePushes);
    const pushes = new SqlPushStore(database, liveness);
    const recent = new RecentEvents();
    const graph = new SqlGraphStore(database);
    const library = new SqlLibraryStore(database, graph);
    const parts = { pushes, recent, listeners, liveness, eventBytes, messageIdMs };
    return {
      nodeId,
      problem: () => database.problem,
      payments: new SqlPaymentStore(database),
      graph,
      extraction: new SqlExtractionStore(database, graph),
      vault: new SqlVaultStore(database),
      memory: new SqlMemoryStore(database),
      tasks: new PostgresTaskStore(database, parts),
      retention: new SqlRetentionStore(database, { recent, counts: undefined, forgetMessage }),
      pushes,
      spending: new SqlSpendingStore(database),
      traces: new SqlTraceStore(database),
      knowledge: new SqlKnowledgeStore(database, library),
      library,
      purge: () => purge(database),
      close,
    };
  } catch (error) {
    await close();
    throw storageError(error);
  }
}

/** Brings the schema up to date, one process at a time, and resolves with the id of the node. */
export async function migrate({ pool }: Driver, logger: Logger): Promise<string> {
  const client = await pool.connect();
  try {
    await client.query(`${BEGIN}; SELECT pg_advisory_xact_lock(${LOCK_CLASS}, 0)`);
    const { rows } = await client.query<{ readonly found: boolean }>(
      "SELECT to_regclass('meta') IS NOT NULL AS found",
    );
    const isEmpty = !rows[0]!.found;
    const meta = async (key: string) => {
      const sql = 'SELECT value FROM meta WHERE key = $1';
      return (await client.query<{ readonly value: string }>(sql, [key])).rows[0]?.value;
    };
    const version = isEmpty ? 0 : Number(await meta('schema'));
    assertKnown(version);
    for (const sql of MIGRATIONS.slice(version)) await client.query(sql);
    const set = 'INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key)';
    await client.query(`${set} DO UPDATE SET value = excluded.value`, ['schema', String(MIGRATIONS.length)]);
    await client.query(`${set} DO NOTHING`, ['node', newId()]);
    const nodeId = await meta('node');
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

function assertKnown(version: number): void {
  if (version <= MIGRATIONS.length) return;
  const { length } = MIGRATIONS;
  const text = Number.isNaN(version)
    ? 'The tables of this database belong to another program.'
    : `The database was made by a newer version of Lango: schema ${version} > ${length}.`;
  throw new LangoError('storage', text, {
    hint: 'Start that version or a later one, or name another database in storage.url.',
  });
}

function* forgetMessage(task: RemovedTask, messageId: string): Query<void> {
  for (const context of ['', task.context]) {
    const key = inboxKey({ ...task, context, messageId });
    yield* run('DELETE FROM inbox WHERE key = ? AND task = ?', key, task.id);
  }
}

/** Removes the remains of deleted rows, which PostgreSQL keeps until a vacuum. */
async function purge(database: PostgresDatabase): Promise<void> {
  await database.one({ sql: 'VACUUM', values: [] });
}
