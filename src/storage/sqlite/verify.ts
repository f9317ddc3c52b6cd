import Database from 'better-sqlite3';
import { soundEventsIn, type TaskEventRow } from '../event-rows.js';
import { toTaskRecord, type TaskRow } from '../rows.js';
import { errorText } from '../../core/errors.js';
import type { EventBody } from '../../core/task.js';
import { readMark } from './commit-mark.js';
import { requireOwnVersion } from './connection.js';
import { lostMark, missingCommits } from './damage.js';
import { realFile } from './database-files.js';
import { storageError } from './failure.js';

/** The contents of a database in numbers, and the problems found in it. */
export interface Verdict {
  readonly tasks: number;
  readonly events: number;
  /** The first problems found, each as a sentence. Empty for a database without damage. */
  readonly problems: readonly string[];
}

const MAX_PROBLEMS = 20;

/** The number of events of a row of `events`: one in each line. */
const LINES = "length(body) - length(replace(body, char(10), '')) + 1";
/** Tasks whose record and events do not agree, and events without a task. `shared`: the events that a fork does not have itself. */
const torn = (
  shared: string,
) => `SELECT coalesce(t.id, 'without a record') AS id, coalesce(t.head, 0) AS head, coalesce(e.count, 0) AS count
  FROM tasks t FULL JOIN (SELECT task, sum(${LINES}) AS count, max(seq) AS last FROM events WHERE seq > 0 GROUP BY task) e ON e.task = t.key
  WHERE (t.head IS NOT e.last OR e.count + ${shared} IS NOT e.last) AND coalesce(e.task, 0) NOT IN (SELECT key FROM removed_tasks)`;
const EVENTS =
  'SELECT t.id AS task, e.seq, e.at, e.author, e.body, e.checksum FROM events e JOIN tasks t ON t.key = e.task WHERE e.seq > 0';
/** Forks of tasks that are gone, or have fewer events. */
const ORPHANS = `SELECT fork.id, fork.fork_of AS of FROM tasks AS fork LEFT JOIN tasks AS task ON task.id = fork.fork_of
  WHERE fork.fork_of IS NOT NULL AND (task.id IS NULL OR task.head < fork.fork_at)`;
const REFERENCE = '"from":["';

/**
 * Verifies a whole database, also one that a server uses, and changes nothing. Compares it with its mark, unless it is a
 * copy, which has none. Throws `LangoError` `storage` when the file is not a database of Lango.
 */
export function verifyDatabase(file: string, isCopy = false): Verdict {
  try {
    // Reads the mark before the database, because a server may commit meanwhile.
    const mark = isCopy ? undefined : readMark(realFile(file));
    const database = new Database(file, { readonly: true, fileMustExist: true });
    try {
      database.exec('BEGIN');
      requireOwnVersion(database);
      const missing = missingCommits(database, mark);
      const numberOf = (sql: string) => Number(database.prepare(`SELECT ${sql}`).pluck().get());
      const problems = [...problemsIn(database)].slice(0, MAX_PROBLEMS);
      const lost = isCopy ? undefined : lostMark(database, mark);
      if (lost !== undefined) problems.unshift(lost);
      if (missing > 0) problems.unshift(`The last ${missing} acknowledged commits are missing.`);
      return {
        tasks: numberOf('count(*) FROM tasks'),
        events: numberOf(`sum(${LINES}) FROM events`),
        problems,
      };
    } finally {
      database.close();
    }
  } catch (error) {
    throw storageError(error);
  }
}

function* problemsIn(database: Database.Database): Generator<string> {
  for (const text of database.prepare<[], string>('PRAGMA integrity_check').pluck().all())
    if (text !== 'ok') yield `SQLite: ${text}`;
  // A backup of an earlier version knows no forks.
  const knowsForks = database
    .prepare("SELECT 1 FROM pragma_table_info('tasks') WHERE name = 'fork_at'")
    .get();
  const tornTasks = torn(knowsForks ? 'coalesce(t.fork_at, 0)' : '0');
  for (const { id, head, count } of database
    .prepare<[], { id: string; head: number; count: number }>(tornTasks)
    .iterate())
    yield `Task ${id} has ${count} of ${head} entries.`;
  for (const row of database.prepare<[], TaskRow>('SELECT * FROM tasks').iterate())
    yield* thrownBy(() => toTaskRecord(row));
  const orphans = knowsForks ? database.prepare<[], { id: string; of: string }>(ORPHANS).iterate() : [];
  for (const { id, of } of orphans) yield `Task ${id} shares events of task ${of}, which are gone.`;
  const lost = new Set<string>();
  const isKept = database.prepare<[string], number>('SELECT 1 FROM tasks WHERE id = ?').pluck();
  for (const row of database.prepare<[], TaskEventRow>(EVENTS).iterate()) {
    yield* thrownBy(() => {
      for (const origin of originsIn(row))
        if (isKept.get(origin) === undefined)
          lost.add(`Task ${row.task} repeats entries of task ${origin}, which is gone.`);
    });
  }
  yield* lost;
}

/** Returns the ids of the tasks whose entries the events of a row repeat. */
function originsIn(row: TaskEventRow): readonly string[] {
  const repeating = soundEventsIn(row.task, row).filter(({ body }) => body.includes(REFERENCE));
  return repeating.flatMap(({ body }) => {
    const parsed = JSON.parse(body) as EventBody;
    return 'from' in parsed && parsed.from ? parsed.from[0] : [];
  });
}

function thrownBy(check: () => unknown): readonly string[] {
  try {
    check();
    return [];
  } catch (error) {
    return [errorText(error)];
  }
}
