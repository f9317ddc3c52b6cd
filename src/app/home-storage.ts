import type { LoadedConfig } from '../config/load.js';
import { isLangoError } from '../core/errors.js';
import type { Logger } from '../core/logger.js';
import type { Storage } from '../core/store.js';
import type { Scope } from '../core/task.js';
import { primaryCode } from '../storage/sqlite/failure.js';
import { openSqliteStorage } from '../storage/sqlite/storage.js';
import { prepareFolders } from './folders.js';

/** The database of a data folder, opened by a command while no server has it. */
export interface HomeStorage {
  readonly storage: Storage;
  /** Of the server's own token. */
  readonly scope: Scope;
}

/** Undefined when a server has it open. */
export async function openHomeStorage(
  { config }: LoadedConfig,
  logger: Logger,
): Promise<HomeStorage | undefined> {
  if (config.storage.sqlite.file === ':memory:') return undefined;
  await prepareFolders(config);
  const scope = { tenant: '', owner: config.auth.mode === 'none' ? 'local' : 'default' };
  try {
    return { storage: openSqliteStorage({ ...config.storage.sqlite, logger }), scope };
  } catch (error) {
    if (isLangoError(error, 'storage') && primaryCode(error.cause) === 'SQLITE_BUSY') return undefined;
    throw error;
  }
}
