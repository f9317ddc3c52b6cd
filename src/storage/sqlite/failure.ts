import { codeOf, isLangoError, LangoError } from '../../core/errors.js';
import { advised, lasting, temporary, type Advice } from '../advice.js';

const RESTORE =
  'Restore a backup (lango restore FILE). To start with an empty database, move it away and run: lango serve --accept-damage';

/** Advice by primary result code (https://sqlite.org/rescode.html). Extended codes begin with the primary code. */
const ADVICE: Readonly<Record<string, Advice>> = {
  SQLITE_BUSY: temporary(
    'The database is locked by another program.',
    'Close the program that has the database open for writing, then try again.',
  ),
  SQLITE_FULL: temporary(
    'The disk that holds the database is full.',
    'Free space on the disk of the data folder, then try again.',
  ),
  SQLITE_CANTOPEN: temporary(
    'The database cannot be opened in its folder.',
    'Give this user write permission on the data folder, or choose another one.',
  ),
  SQLITE_READONLY: temporary(
    'This user may not write to the database.',
    'Give this user write permission on the data folder and its files, or choose another folder.',
  ),
  SQLITE_NOTADB: lasting('The database file is damaged, or is not a database at all.', RESTORE),
  SQLITE_CORRUPT: lasting('The database file is damaged.', RESTORE),
  SQLITE_IOERR: temporary(
    'The disk failed, or became read-only, while the database was read or written.',
    'Check the system log for disk errors, and that the file system of the data folder is mounted for writing.',
  ),
};

/** The SQLite codes for errors of the file system. */
const OF_SYSTEM: Readonly<Record<string, string>> = {
  EACCES: 'SQLITE_READONLY',
  EPERM: 'SQLITE_READONLY',
  EROFS: 'SQLITE_READONLY',
  ENOSPC: 'SQLITE_FULL',
  EIO: 'SQLITE_IOERR',
};

/** The pause before clients should retry after a temporary failure. */
const RETRY_AFTER_MS = 5_000;

/** Wraps an error of the driver in a `LangoError` `storage` with advice. Returns a `LangoError` unchanged. */
export function storageError(cause: unknown): LangoError {
  return advised(cause, ADVICE[primaryCode(cause)], RETRY_AFTER_MS);
}

/** The error for a database that another process has open for writing. */
export function inUse(): LangoError {
  const cause = Object.assign(new Error('The database is locked.'), { code: 'SQLITE_BUSY' });
  const hint = 'Stop the other server, or give this one its own data folder (--home or LANGO_HOME).';
  return new LangoError('storage', 'Another process uses this database.', { hint, cause });
}

/** Whether another process has the database open for writing. */
export function isInUse(error: unknown): boolean {
  return isLangoError(error, 'storage') && primaryCode(error.cause) === 'SQLITE_BUSY';
}

/** Whether the database as a whole failed, and not one operation: it is full, locked, damaged or gone. */
export function isFaultOfDatabase(error: unknown): boolean {
  return primaryCode(error) in ADVICE || isLangoError(error, 'storage');
}

/** The primary result code: "SQLITE_BUSY" for "SQLITE_BUSY_SNAPSHOT". Errors may belong to the class of another realm. */
export function primaryCode(error: unknown): string {
  const code = codeOf(error) ?? '';
  return OF_SYSTEM[code] ?? code.split('_', 2).join('_');
}
