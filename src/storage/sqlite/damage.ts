import { existsSync } from 'node:fs';
import type Database from 'better-sqlite3';
import { LangoError } from '../../core/errors.js';
import type { Logger } from '../../core/logger.js';
import type { Mark } from './commit-mark.js';
import { isOfEarlierBoot, readMark } from './commit-mark.js';
import { realFile } from './database-files.js';

interface Opening {
  readonly file: string;
  readonly acceptDamage?: boolean | undefined;
  readonly logger: Logger;
}

/** What a start looks through: the unfinished tasks and the newest ones, at most so many of each. */
const LOOKED_AT = 10_000;
/** The most tasks that a message names. */
const NAMED = 3;

const TORN = `SELECT id, head, coalesce((SELECT seq FROM events WHERE task = tasks.key ORDER BY seq DESC LIMIT 1), 0) AS last
  FROM tasks WHERE key IN (
    SELECT key FROM (SELECT key FROM tasks INDEXED BY tasks_live WHERE state IN ('submitted', 'working') LIMIT ${LOOKED_AT})
    UNION SELECT key FROM (SELECT key FROM tasks ORDER BY key DESC LIMIT ${LOOKED_AT})
  ) AND head IS NOT last`;

/** Throws `LangoError` `storage` if the database file is not there and its mark says that it held something. */
export function assertNotGone(opening: Opening): void {
  const commits = readMark(realFile(opening.file))?.commits ?? 0;
  if (commits === 0 || existsSync(opening.file)) return;
  refuse(opening, `The database file is gone. It held ${commits} commits.`);
}

/**
 * Throws `LangoError` `storage` if acknowledged commits are missing, or entries of a task: the write-ahead log was cut off
 * or removed, or the database was replaced by an older one. Looks at the newest and the unfinished tasks only.
 */
export function assertWhole(database: Database.Database, opening: Opening): void {
  const mark = readMark(realFile(opening.file));
  const missing = missingCommits(database, mark);
  if (mark && missing > 0) {
    const text = `The last ${missing} of ${mark.commits} acknowledged commits are missing.`;
    // This tier does not promise more.
    if (mark.synchronous === 'normal' && isOfEarlierBoot(mark)) {
      opening.logger.warn(`${text} The machine was started again, and storage.sqlite.synchronous is normal.`);
    } else
      refuse(opening, `${text} The log of the database was cut off or removed, or an older file put in.`);
  }
  const torn = database.prepare<[], TornTask>(TORN).all();
  if (torn.length > 0) refuse(opening, `Entries of ${torn.length} tasks are missing: ${describeTorn(torn)}.`);
}

export function missingCommits(database: Database.Database, mark: Mark | undefined): number {
  return Math.max(0, (mark?.commits ?? 0) - countCommits(database));
}

/** The number of the last commit that the database holds. */
export function countCommits(database: Database.Database): number {
  const text = database.prepare<[], string>("SELECT value FROM meta WHERE key = 'commits'").pluck().get();
  return Number(text ?? 0);
}

interface TornTask {
  readonly id: string;
  /** How many entries its record says that it has. */
  readonly head: number;
  /** The number of the last one that is there. */
  readonly last: number;
}

function describeTorn(torn: readonly TornTask[]): string {
  const named = torn.slice(0, NAMED).map(({ id, head, last }) => `${id} has ${last} of ${head}`);
  return named.join(', ') + (torn.length > NAMED ? ', …' : '');
}

function refuse({ acceptDamage, logger }: Opening, text: string): void {
  if (acceptDamage) {
    logger.warn(`${text} The server goes on without it, as it was told to.`);
    return;
  }
  throw new LangoError('storage', text, {
    hint:
      'Put the missing file back, or restore a backup (lango restore FILE). ' +
      'To go on with what is there: lango serve --accept-damage.',
  });
}
