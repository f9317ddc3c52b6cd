import process from 'node:process';
import { isShipped } from '../capabilities/index.js';
import { prepareFolders } from '../config/folders.js';
import { isServedElsewhere } from '../config/running-server.js';
import { requireDatabaseUrl } from '../config/secrets.js';
import type { Capability } from '../core/capability.js';
import { pause } from '../core/time.js';
import { startSweeping } from '../journal/sweeper.js';
import type { CapabilityTables } from '../storage/capability-tables.js';
import type { Moved } from '../storage/moving.js';
import { restore as restoreFiles } from '../storage/sqlite/backup.js';
import { inUse, isInUse } from '../storage/sqlite/failure.js';
import { openSqliteStorage } from '../storage/sqlite/storage.js';
import type { Storage } from '../stores/storage.js';
import type { OnStop, Parts } from './node.js';

export { backUp } from '../storage/sqlite/backup.js';
export { DATABASE_MARKS } from '../storage/sqlite/connection.js';
export { verifyDatabase } from '../storage/sqlite/verify.js';

const HOUR_MS = 60 * 60 * 1_000;
const DAY_MS = 24 * HOUR_MS;

/** The interval at which a start tries to open a database that another server uses. */
const RETRY_MS = 250;

/** `acceptDamage`: see `AppOptions`. */
type StorageSources = Parts<'config' | 'secrets' | 'schema' | 'logger'> & { readonly acceptDamage?: boolean };

/** Opens the database, and starts to remove tasks that are older than `tasks.retentionDays`. */
export async function openStores(options: StorageSources & Parts<'stopping'>, onStop: OnStop) {
  const { retentionDays } = options.config.tasks;
  const storage = await openOnceFree(options);
  onStop(() => storage.close());
  // The error is named without its text, because clients read why their task failed.
  const noteCrash = (error: unknown) =>
    storage.tasks.noteCrash(`an uncaught ${error instanceof Error ? error.name : typeof error}`);
  process.on('uncaughtExceptionMonitor', noteCrash);
  onStop(() => void process.off('uncaughtExceptionMonitor', noteCrash));
  if (retentionDays > 0) {
    const { logger } = options;
    onStop(startSweeping({ retention: storage.retention, ageMs: retentionDays * DAY_MS, logger }));
  }
  return storage;
}

/** Opens the database. Waits for another server that still uses it, for at most `storage.sqlite.waitSeconds`. */
async function openOnceFree(options: Parameters<typeof openStores>[0]): Promise<Storage> {
  const { waitSeconds } = options.config.storage.sqlite;
  const until = performance.now() + 1_000 * waitSeconds;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await openStorage(options);
    } catch (error) {
      if (!isInUse(error) || performance.now() >= until) throw error;
      if (attempt === 1) options.logger.info('waiting: another process uses the database', { waitSeconds });
      if (!(await pause(RETRY_MS, { signal: options.stopping }))) throw error;
    }
  }
}

/** The tables of all capabilities, also of those that are off: their data stays, and owners can export and delete it. */
function tablesOf(capabilities: readonly Capability[]): readonly CapabilityTables[] {
  return capabilities.flatMap((one) => {
    const { name, tables } = one;
    return tables ? [{ ...tables, name, isForeign: !isShipped(one) }] : [];
  });
}

/** Opens the database of the configuration: the embedded one, unless `storage.url` names another. */
async function openStorage(sources: StorageSources): Promise<Storage> {
  const { acceptDamage, logger } = sources;
  const { messageIdHours, eventBytes } = sources.config.tasks;
  const tables = tablesOf(sources.schema.capabilities);
  const options = { eventBytes, messageIdMs: messageIdHours * HOUR_MS, tables, logger };
  const { sqlite, ...server } = sources.config.storage;
  const { databaseUrl: url } = sources.secrets;
  if (url === undefined) {
    await assertNotServed(sources.config.home, sqlite.file);
    return openSqliteStorage({ ...sqlite, ...options, acceptDamage });
  }
  const { openPostgresStorage } = await import('../storage/postgres/storage.js');
  return openPostgresStorage({ ...server, ...options, url });
}

/** Rejects while a server has the database open, also when somebody deleted its lock. */
async function assertNotServed(home: string, file: string): Promise<void> {
  if (await isServedElsewhere(home, file)) throw inUse();
}

/** Puts a backup in place of the embedded database of a data folder: see `restore` of `storage/sqlite/backup.ts`. */
export async function restore(home: string, files: { readonly from: string; readonly to: string }) {
  await assertNotServed(home, files.to);
  return restoreFiles(files.from, files.to);
}

/** Moves an embedded database into the empty one of the configuration. After a rejection nothing was moved. */
export async function moveDatabase(
  { config, secrets, schema, logger }: StorageSources,
  { file, onTable }: { readonly file: string; readonly onTable: (name: string) => void },
): Promise<Moved> {
  const { sqlite, ...server } = config.storage;
  const url = requireDatabaseUrl(secrets);
  const { openMoveSource } = await import('../storage/sqlite/move.js');
  const { moveIntoPostgres } = await import('../storage/postgres/move.js');
  const tables = tablesOf(schema.capabilities);
  await assertNotServed(config.home, file);
  const source = await openMoveSource({ ...sqlite, file, tables, logger });
  try {
    return await moveIntoPostgres({ ...server, url, tables, onTable, logger }, source);
  } finally {
    source.close();
  }
}

/** Makes or upgrades the tables in the PostgreSQL database. Rejects with `invalid-config` or `storage`. */
export async function upgradeDatabase(sources: StorageSources): Promise<void> {
  requireDatabaseUrl(sources.secrets);
  await (await openStorage(sources)).close();
}

/** Describes the PostgreSQL database of the configuration. Rejects with `invalid-config` or `storage`. */
export async function inspectServer({ config, secrets }: Parts<'config' | 'secrets'>) {
  const { inspectPostgres } = await import('../storage/postgres/storage.js');
  return inspectPostgres({ ...config.storage, url: requireDatabaseUrl(secrets) });
}

/** Opens the data folder of a node that does not run; undefined when a server has it open, or it is in memory. */
export async function openFreeStorage(sources: StorageSources): Promise<Storage | undefined> {
  const { config, secrets } = sources;
  if (secrets.databaseUrl === undefined && config.storage.sqlite.file === ':memory:') return undefined;
  await prepareFolders(config);
  try {
    return await openStorage(sources);
  } catch (error) {
    if (isInUse(error)) return undefined;
    throw error;
  }
}
