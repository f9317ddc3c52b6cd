import { codeOf, LangoError } from '../../core/errors.js';

interface Advice {
  readonly message: string;
  readonly hint: string;
  readonly retryable?: boolean;
}

/** Advice by primary result code (https://sqlite.org/rescode.html). Extended codes begin with the primary code. */
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
    hint: 'Check the system log for disk errors.',
    retryable: true,
  },
};

const OTHER: Advice = {
  message: 'The database refused the operation.',
  hint: 'See the server log for details.',
};

/** Wraps an error of the driver in a `LangoError` `storage` with advice. Returns a `LangoError` unchanged. */
export function storageError(cause: unknown): LangoError {
  if (cause instanceof LangoError) return cause;
  const { message, hint, retryable } = ADVICE[primaryCode(cause)] ?? OTHER;
  return new LangoError('storage', message, { hint, cause, retryable: retryable ?? false });
}

/**
 * The primary result code: "SQLITE_BUSY" for an error with code "SQLITE_BUSY_SNAPSHOT". Empty for other errors. It is read
 * from the code and not from the class, as the class belongs to the first realm that loaded the driver.
 */
export function primaryCode(error: unknown): string {
  return (codeOf(error) ?? '').split('_', 2).join('_');
}
