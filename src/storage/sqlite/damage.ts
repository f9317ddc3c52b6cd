import { existsSync } from 'node:fs';
import type Database from 'better-sqlite3';
import { LangoError } from '../../core/errors.js';
import type { Logger } from '../../core/logger.js';
import { isOfEarlierBoot, readMark } from './commit-mark.js';
import { realFile } from './database-files.js';

export interface Opening {
  /** A path in an existing folder, or ":memory:". */
  readonly file: string;
  /** Whether to open a database that lacks acknowledged commits. Default: it is refused. */
  readonly acceptDamage?: boolean | undefined;
  readonly logger: Logger;
}

/** The most unfinished tasks, and the most of the newest tasks, that a start checks. */
const MAX_CHECKED = 10_000;
/** The most tasks that a message names. */
const MAX_NAMED = 3;

const TORN = `SELECT id, head, coalesce((SELECT seq FROM events WHERE task = tasks.key ORDER BY seq DESC LIMIT 1), 0) AS last
  FROM tasks WHERE key IN (
    SELECT key FROM (SELECT key FROM tasks INDEXED BY tasks_live WHERE state IN ('submitted', 'working') LIMIT ${MAX_CHECKED})
    UNION SELECT key FROM (SELECT key FROM tasks ORDER BY key DESC LIMIT ${MAX_CHECKED})
  ) AND head IS NOT last`;

/** Throws `LangoError` `storage` if the database file is missing although its mark counts commits. */
export function assertNotGone(opening: Opening): void {
  const mark = readMark(realFile(opening.file));
  if (mark === undefined || existsSync(opening.file)) return;
  if (mark === 'unreadable') refuse(opening, 'The database file is gone, and its mark cannot be read.');
  else if (mark.commits > 0) refuse(opening, `The database file is gone. It held ${mark.commits} commits.`);
}

/**
 * Throws `LangoError` `storage` if acknowledged commits are missing, or entries of a task: the write-ahead log was cut off
 * or removed, or the database was replaced by an older one. Checks the newest and the unfinished tasks only.
 */
export function assertWhole(database: Database.Database, opening: Opening): void {
  const mark = readMark(realFile(opening.file));
  const lost = lostMark(database, mark);
  if (lost !== undefined) refuse(opening, lost);
  const missing = missingCommits(database, mark);
  if (typeof mark === 'object' && missing > 0) {
    const text = `The last ${missing} of ${mark.commits} acknowledged commits are missing.`;
    const why = 'The log of the database was cut off or removed, or the file was replaced by an older one.';
    // With `synchronous: normal`, SQLite may lose the last commits at a loss of power.
    if (mark.synchronous === 'normal' && isOfEarlierBoot(mark)) {
      opening.logger.warn(`${text} The machine was started again, and storage.sqlite.synchronous is normal.`);
    } else refuse(opening, `${text} ${why}`);
  }
  const inconsistent = problemOfRecords(database);
  if (inconsistent !== undefined) refuse(opening, `The records of tasks are damaged: ${inconsistent}.`);
  const torn = database.prepare<[], { id: string; head: number; last: number }>(TORN).all();
  if (torn.length === 0) return;
  const named = torn.slice(0, MAX_NAMED).map(({ id, head, last }) => `${id} has ${last} of ${head}`);
  if (torn.length > MAX_NAMED) named.push('…');
  refuse(opening, `Entries of ${torn.length} tasks are missing: ${named.join(', ')}.`);
}

/** Compares the records with their indexes: a changed bit in either hides tasks. `lango doctor` checks larger databases. */
function problemOfRecords(database: Database.Database): string | undefined {
  const newest = database.prepare<[], number>('SELECT max(key) FROM tasks').pluck().get() ?? 0;
  if (newest > MAX_CHECKED) return undefined;
  const [first] = database.prepare<[], string>('PRAGMA integrity_check(tasks)').pluck().all();
  return first === 'ok' ? undefined : first;
}

/** Notes in the database that it has a mark beside it. */
export function noteMark(database: Database.Database): void {
  database.prepare("INSERT OR IGNORE INTO meta (key, value) VALUES ('marked', '1')").run();
}

/** Removes that note. Call it for a copy, which has no mark beside it. */
export function forgetMark(database: Database.Database): void {
  database.prepare("DELETE FROM meta WHERE key = 'marked'").run();
}

/** Returns a sentence when the mark of the database is gone or cannot be read; otherwise undefined. */
export function lostMark(database: Database.Database, mark: ReturnType<typeof readMark>): string | undefined {
  const advice = 'Whether commits are missing cannot be known.';
  if (mark === 'unreadable') return `The mark beside the database cannot be read. ${advice}`;
  const isMarked = "SELECT 1 FROM meta WHERE key = 'marked'";
  const isGone = mark === undefined && database.prepare(isMarked).get() !== undefined;
  return isGone ? `The mark beside the database (its name, with .mark) is gone. ${advice}` : undefined;
}

export function missingCommits(database: Database.Database, mark: ReturnType<typeof readMark>): number {
  return typeof mark === 'object' ? Math.max(0, mark.commits - countCommits(database)) : 0;
}

/** The number of the last commit that the database holds. */
export function countCommits(database: Database.Database): number {
  const text = database.prepare<[], string>("SELECT value FROM meta WHERE key = 'commits'").pluck().get();
  return Number(text ?? 0);
}

function refuse({ acceptDamage, logger }: Opening, text: string): void {
  if (acceptDamage) return logger.warn(`${text} The server starts nevertheless, because of --accept-damage.`);
  const hint =
    'Put the missing file back, or restore a backup (lango restore FILE). ' +
    'To start with the data that is left: lango serve --accept-damage.';
  throw new LangoError('storage', text, { hint });
}
