import { codeOf, LangoError } from '../../core/errors.js';

interface Advice {
  readonly message: string;
  readonly hint: string;
  readonly retryable?: boolean;
}

/** By the primary result code (https://sqlite.org/rescode.html); extended codes begin with it. */
const ADVICE: Readonly<Record<string, Advice>> = {
  SQLITE_BUSY: {
    message: 'The database is locked by another program.',
    hint: 'Close the program that has the database open for writing, then try again.',
    retryable: true,
  },
  SQLITE_FULL: {
    message: 'The disk that holds the database is full.',
    hint: 'Free space on the disk of the data folder, then try again.',
    retryable: true,
  },
  SQLITE_CANTOPEN: {
    message: 'The database cannot be opened in its folder.',
    hint: 'Let this user write to the data folder, or choose another one.',
  },
  SQLITE_READONLY: {
    message: 'The database cannot be written by this user.',
    hint: 'Let this user write to the data folder and the files in it, or choose another folder.',
  },
  SQLITE_NOTADB: {
    message: 'The database file is damaged, or is not a database at all.',
    hint: 'Restore it from a backup, or move it away to start with an empty one.',
  },
  SQLITE_CORRUPT: {
    message: 'The database file is damaged.',
    hint: 'Restore it from a backup, or move it away to start with an empty one.',
  },
  SQLITE_IOERR: {
    message: 'The disk failed while the database was read or written.',
    hint: 'Look at the system log for disk errors.',
    retryable: true,
  },
};

const OTHER: Advice = {
  message: 'The database refused the operation.',
  hint: 'The log holds the details.',
};

/** Whatever the driver threw, as a `LangoError` `storage` with advice; a `LangoError` stays as it is. */
export function storageError(cause: unknown): LangoError {
  if (cause instanceof LangoError) return cause;
  const { message, hint, retryable } = ADVICE[primaryCode(cause)] ?? OTHER;
  return new LangoError('storage', message, { hint, cause, retryable: retryable ?? false });
}

/**
 * "SQLITE_BUSY" of an error with code "SQLITE_BUSY_SNAPSHOT"; empty for what is not the driver's. By its
 * shape, because the driver's error class is that of the first realm that loaded it.
 */
export function primaryCode(error: unknown): string {
  return (codeOf(error) ?? '').split('_', 2).join('_');
}
