import { closeSync, copyFileSync, existsSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { LangoError } from '../../core/errors.js';
import { CommitMark, flush } from './commit-mark.js';
import { lockFile } from './connection.js';
import { countCommits, forgetMark } from './damage.js';
import { realFile } from './database-files.js';
import { storageError } from './failure.js';
import { verifyDatabase, type Verdict } from './verify.js';

/** Copies the database as of one moment, also under a server, and verifies the copy: a damaged one rejects and is removed. */
export async function backUp(file: string, to: string): Promise<Verdict> {
  if (existsSync(to))
    throw new LangoError('storage', `${to} exists already.`, { hint: 'Choose a new name.' });
  assertThere(file, 'There is no database yet.', 'Name its data folder with --home or LANGO_HOME.');
  const hint = 'Create the folder, or choose another.';
  assertThere(dirname(to), 'The folder of the new file does not exist.', hint);
  const part = `${to}.part`;
  try {
    closeSync(openSync(part, 'w', 0o600));
    const source = new Database(file, { readonly: true, fileMustExist: true });
    try {
      // All pages in one step: between two steps a commit of the server would start the copy anew.
      await source.backup(part, { progress: () => ALL_PAGES });
    } finally {
      source.close();
    }
    const verdict = wholeCopy(part);
    flush(part, 'r+');
    renameSync(part, to);
    return verdict;
  } catch (error) {
    throw storageError(error);
  } finally {
    for (const ending of ['', '-wal', '-shm']) rmSync(part + ending, { force: true });
  }
}

const ALL_PAGES = 0x7fff_ffff;

/** Turns the copy into a single file, without a log beside it, and verifies it. */
function wholeCopy(file: string): Verdict {
  const copy = new Database(file);
  copy.pragma('journal_mode = DELETE');
  forgetMark(copy);
  copy.close();
  const hint = 'lango doctor --database lists what is wrong with the database of the data folder.';
  return requireWhole(file, hint);
}

function assertThere(path: string, text: string, hint: string): void {
  if (!existsSync(path)) throw new LangoError('storage', `${text} (${path})`, { hint });
}

function requireWhole(file: string, hint: string): Verdict {
  const verdict = verifyDatabase(file, true);
  const [first] = verdict.problems;
  if (first === undefined) return verdict;
  throw new LangoError('storage', `${file} is damaged: ${first}`, { hint });
}

/**
 * Puts a backup in place of the database, after the whole backup was verified. Keeps the earlier files under another name.
 * Throws `LangoError` `storage`, with nothing changed, while a server uses the database or when the backup is damaged.
 */
export function restore(from: string, file: string): Verdict & { readonly kept: string | undefined } {
  try {
    assertThere(from, 'There is no such backup.', 'Name a file that lango backup made.');
    const verdict = requireBackup(from);
    const lock = lockFile(file);
    try {
      const real = realFile(file);
      const part = `${real}.part`;
      copyFileSync(from, part);
      flush(part, 'r+');
      const kept = existsSync(real) ? `${real}.before-${Date.now()}` : undefined;
      for (const ending of ['-shm', '-wal', '']) {
        if (kept !== undefined && existsSync(real + ending)) renameSync(real + ending, kept + ending);
      }
      renameSync(part, real);
      // Replaces the earlier mark, which has the number of commits of the files before.
      new CommitMark(real, { commits: commitsOf(real), synchronous: 'normal' }).close();
      return { ...verdict, kept };
    } finally {
      lock.close();
    }
  } catch (error) {
    throw storageError(error);
  }
}

/** Verifies a backup. Throws `LangoError` `storage` with advice that fits a backup, not the database of a server. */
function requireBackup(from: string): Verdict {
  const hint = 'Nothing was changed. Restore an earlier backup, or another file that lango backup made.';
  try {
    return requireWhole(from, hint);
  } catch (error) {
    const { message, cause } = storageError(error);
    throw new LangoError('storage', message, { hint, cause });
  }
}

function commitsOf(file: string): number {
  const database = new Database(file, { readonly: true });
  try {
    return countCommits(database);
  } finally {
    database.close();
  }
}
