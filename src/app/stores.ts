import process from 'node:process';
import { type Config, hasSeveralOwners } from '../config/config.js';
import type { LoadedConfig } from '../config/load.js';
import { CAPABILITIES } from '../capabilities/index.js';
import type { Capability } from '../core/capability.js';
import { LangoError, errorText } from '../core/errors.js';
import { finding, type Finding, type Path } from '../core/findings.js';
import { DiskBudget } from '../disk/disk-budget.js';
import { ownerFolder, ownersFolder, type Disk } from '../disk/disk.js';
import { folderProblem, makeFolder } from '../disk/private-file.js';
import { WorkFolders } from '../disk/work-folders.js';
import type { Storage } from '../stores/storage.js';
import type { Health } from '../http/web-app.js';
import { startSweeping } from '../journal/sweeper.js';
import type { CapabilityTables } from '../storage/capability-tables.js';
import type { Moved } from '../storage/moving.js';
import type { OnStop, Parts } from './node.js';
import { openSqliteStorage } from '../storage/sqlite/storage.js';

export { backUp, restore } from '../storage/sqlite/backup.js';
export { verifyDatabase } from '../storage/sqlite/verify.js';

const HOUR_MS = 60 * 60 * 1_000;
const DAY_MS = 24 * HOUR_MS;

/** `acceptDamage`: see `AppOptions`. */
type StorageSources = Parts<'config' | 'secrets' | 'schema' | 'logger'> & { readonly acceptDamage?: boolean };

/** Opens the database, and starts to remove tasks that are older than `tasks.retentionDays`. */
export async function openStores(options: StorageSources, onStop: OnStop): Promise<Storage> {
  const { retentionDays } = options.config.tasks;
  const storage = await openStorage(options);
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

/** Whether a capability comes with Lango. One from outside sees its own tables only. */
export function isShipped(capability: Capability): boolean {
  return CAPABILITIES.includes(capability);
}

/** The tables of all capabilities, also of those that are off: their data stays, and owners can export and delete it. */
function tablesOf(capabilities: readonly Capability[]): readonly CapabilityTables[] {
  return capabilities.flatMap((one) => {
    const { name, tables } = one;
    return tables ? [{ ...tables, name, isForeign: !isShipped(one) }] : [];
  });
}

/** Opens the database of the configuration: the embedded one, unless `storage.url` names another. */
export async function openStorage(sources: StorageSources): Promise<Storage> {
  const { acceptDamage, logger } = sources;
  const { messageIdHours, eventBytes } = sources.config.tasks;
  const tables = tablesOf(sources.schema.capabilities);
  const options = { eventBytes, messageIdMs: messageIdHours * HOUR_MS, tables, logger };
  const { sqlite, ...server } = sources.config.storage;
  const { databaseUrl: url } = sources.secrets;
  if (url === undefined) return openSqliteStorage({ ...sqlite, ...options, acceptDamage });
  const { openPostgresStorage } = await import('../storage/postgres/storage.js');
  return openPostgresStorage({ ...server, ...options, url });
}

/** Moves an embedded database into the empty one of the configuration. After a rejection nothing was moved. */
export async function moveDatabase(
  { config, secrets, schema, logger }: StorageSources,
  { file, onTable }: { readonly file: string; readonly onTable: (name: string) => void },
): Promise<Moved> {
  const { sqlite, ...server } = config.storage;
  const url = requireUrl(secrets);
  const { openMoveSource } = await import('../storage/sqlite/move.js');
  const { moveIntoPostgres } = await import('../storage/postgres/move.js');
  const tables = tablesOf(schema.capabilities);
  const source = await openMoveSource({ ...sqlite, file, tables, logger });
  try {
    return await moveIntoPostgres({ ...server, url, tables, onTable, logger }, source);
  } finally {
    source.close();
  }
}

/** Makes or upgrades the tables in the PostgreSQL database. Rejects with `invalid-config` or `storage`. */
export async function upgradeDatabase(sources: StorageSources): Promise<void> {
  requireUrl(sources.secrets);
  await (await openStorage(sources)).close();
}

function requireUrl({ databaseUrl }: LoadedConfig['secrets']): string {
  if (databaseUrl !== undefined) return databaseUrl;
  const hint = 'Set LANGO_DATABASE_URL, or storage.url.';
  throw new LangoError('invalid-config', 'The configuration names no PostgreSQL database.', { hint });
}

/** Describes the PostgreSQL database of the configuration; undefined for the embedded one. */
export async function inspectServer({ config, secrets }: Parts<'config' | 'secrets'>) {
  const { databaseUrl: url } = secrets;
  if (url === undefined) return undefined;
  const { inspectPostgres } = await import('../storage/postgres/inspect.js');
  return inspectPostgres({ ...config.storage, url });
}

/** A node takes work as long as its last commit succeeded. Everyone may read the reason. */
export function healthOf(storage: Pick<Storage, 'problem'>): Health {
  const problem = storage.problem();
  return problem ? { ready: false, reason: problem.message } : { ready: true };
}

/** Makes the data folder and the workspace. Rejects with `storage` when one cannot be made. */
export async function prepareFolders(config: Config): Promise<void> {
  for (const folder of [config.home, ...config.workspace]) {
    try {
      await makeFolder(folder);
    } catch (cause) {
      const hint = 'Set LANGO_HOME, or workspace in the configuration, to a folder that you can write to.';
      const text = `The folder ${folder} cannot be made: ${errorText(cause)}.`;
      throw new LangoError('storage', text, { hint, cause });
    }
  }
}

/** Finds problems of the folders that `prepareFolders` makes, for `config check`. Makes none of them. */
export async function folderFindings({ home, workspace }: Config): Promise<readonly Finding[]> {
  const at = async (path: Path, folder: string): Promise<readonly Finding[]> => {
    const problem = await folderProblem(folder);
    return problem ? finding(path, `is wrong: ${problem}; choose a folder that you can write to`) : [];
  };
  const inHome = await at(['LANGO_HOME'], home);
  if (inHome.length > 0) return inHome;
  return (await Promise.all(workspace.map((folder, index) => at(['workspace', index], folder)))).flat();
}

const MIB = 1024 * 1024;
/** The limit of an owner with folders of its own, unless the configuration names another. */
const OWN_FOLDERS_MB = 4096;

export function workFoldersOf({ workspace, auth, disk }: Config): WorkFolders {
  return new WorkFolders(workspace, disk.workspaces === 'apart' && hasSeveralOwners(auth));
}

export function createDisk(config: Config): Disk {
  const { disk, home } = config;
  const folders = workFoldersOf(config);
  const { isApart } = folders;
  const owned = [ownersFolder(home, 'own'), ownersFolder(home, 'copies')];
  const budget = new DiskBudget({
    isApart,
    folders: (scope) => [...folders.of(scope), ...owned.map((folder) => ownerFolder(folder, scope))],
    limits: { task: bytesOf(disk.taskMb), owner: bytesOf(disk.ownerMb ?? (isApart ? OWN_FOLDERS_MB : 0)) },
  });
  return { folders, budget };
}

function bytesOf(mb: number): number {
  return mb === 0 ? Infinity : mb * MIB;
}
