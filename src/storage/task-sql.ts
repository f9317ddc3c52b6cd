import { SUSPECT_CRASHES } from '../stores/tasks.js';
import { checksumOf, MAX_ROW_EVENTS, SESSION_LIST, type PackedRow } from './event-rows.js';
import type { TaskRow } from './rows.js';
import type { Dialect, Statement } from '../core/sql.js';

export const LIVE = "state IN ('submitted', 'working')";
export const ENDED = "state IN ('completed', 'failed', 'canceled', 'rejected')";
const NOT_ENDED = "state NOT IN ('completed', 'failed', 'canceled', 'rejected')";

/** The columns that a new task gets from its message. The database adds the others. */
export const TASK_COLUMNS = [
  'id',
  'tenant',
  'owner',
  'agent',
  'context',
  'parent',
  'authority',
  'level',
  'state',
  'status_message',
  'head',
  'lease_by',
  'expires_at',
] as const satisfies readonly (keyof TaskRow)[];

/** The columns that a further message, an expired question or a cancellation changes. */
export const CHANGED_COLUMNS = [
  'state',
  'status_message',
  'status_at',
  'head',
  'epoch',
  'lease_by',
  'lease_until',
  'expires_at',
  'cancel_requested',
] as const satisfies readonly (keyof TaskRow)[];

const EVENT_COLUMNS = ['seq', 'at', 'author', 'type', 'body', 'checksum'] as const;

/**
 * The earlier tasks of a conversation, which are read newest first: the walk goes backwards. The task to stop at may have
 * been removed; ids rise with time.
 */
const EARLIER = `context = CAST(@contextId AS TEXT) AND agent = CAST(@agent AS TEXT)
        AND owner = CAST(@owner AS TEXT) AND tenant = CAST(@tenant AS TEXT)
        AND tasks.key < (SELECT key FROM tasks WHERE id = @id)
        AND (@unfinished = 1 OR ended_before <= (SELECT key FROM tasks WHERE id = @id))
        AND tasks.key > coalesce((SELECT key FROM tasks WHERE id <= @after ORDER BY id DESC LIMIT 1), 0)`;

export type TaskSql = ReturnType<typeof taskSql>;

/** The statements about tasks that all databases understand. The parameters stand in the order of the question marks. */
export function taskSql(dialect: Dialect) {
  const { using, items, list, orderedJoin, forUpdate, skipLocked, nextKey } = dialect;
  const row = `seq, at, author, ${dialect.eventText}, checksum`;
  const task = 'SELECT * FROM tasks WHERE id = ? AND tenant = ? AND owner = ?';
  const isSuspect = `crashes >= ${SUSPECT_CRASHES}`;
  return {
    task,
    lockedTask: task + forUpdate,
    /** The last but one parameter is 1 for a task that ends. Tasks from `nextKey` on are accepted after the end. */
    saveTask: `UPDATE tasks SET ${CHANGED_COLUMNS.join(' = ?, ')} = ?,
        ended_before = CASE CAST(? AS INTEGER) WHEN 1 THEN ${nextKey} END
      WHERE key = ?`,
    /** The task, if the worker with this epoch may still append to it. */
    fenced: `SELECT key, head FROM tasks WHERE id = ? AND epoch = ? AND ${NOT_ENDED}${forUpdate}`,
    /**
     * The rows with the events after the first number, up to the second. In no order: with ORDER BY or LIMIT, SQLite plans
     * again at each binding, which costs several times the read.
     */
    events: `SELECT ${row} FROM events
      WHERE task = (SELECT key FROM tasks WHERE id = ?) AND seq > ? AND seq < CAST(? AS BIGINT) + ${MAX_ROW_EVENTS}`,
    forkOf: 'SELECT fork_of, fork_at FROM tasks WHERE id = ? AND fork_of IS NOT NULL',
    /** The entries that a task repeats: its id, and a list of [task, first, last]. Of tasks of the same owner only. */
    origins: `WITH span AS MATERIALIZED (
        SELECT value ->> 0 AS id, CAST(value ->> 1 AS BIGINT) AS first, CAST(value ->> 2 AS BIGINT) AS last,
          (SELECT below.key FROM tasks AS below JOIN tasks AS above USING (tenant, owner)
            WHERE below.id = value ->> 0 AND above.id = ?) AS key
        FROM ${list('?')}
      )
      SELECT span.id AS task, ${row}
      FROM span ${orderedJoin} events ON task = span.key AND seq >= first AND seq < last + ${MAX_ROW_EVENTS}`,
    setAside: 'UPDATE events SET seq = -seq WHERE task = ? AND seq >= ?',
    sessionEvents: `SELECT tasks.id AS task, ${row}
      FROM tasks ${using('tasks_by_context')} ${orderedJoin} events ON events.task = tasks.key
      WHERE ${EARLIER} AND type IN (${SESSION_LIST}) AND seq > 0
      ORDER BY tasks.key DESC, seq DESC LIMIT CAST(@limit AS INTEGER)`,
    /** The tasks that `sessionEvents` reads. */
    sessionHeads: `SELECT id, head FROM tasks ${using('tasks_by_context')} WHERE ${EARLIER}
      ORDER BY key DESC LIMIT CAST(@limit AS INTEGER)`,
    /** Tasks that wait with an expired question. */
    expired: `SELECT * FROM tasks ${using('tasks_by_expiry')}
      WHERE expires_at <= ? AND agent IN ${items('text')} ORDER BY expires_at${skipLocked}`,
    /**
     * Whether there is anything to claim, by the clock `now`: SQL. With EXISTS in place of the orders, PostgreSQL hopes to meet
     * such a task soon in another index or without one, and reads all tasks when there is none.
     */
    waits: (now: string) => `SELECT (
        SELECT 1 FROM tasks ${using('tasks_by_expiry')} WHERE expires_at <= ${now} AND agent IN ${items('text', '@agents')}
        ORDER BY expires_at LIMIT 1
      ) IS NOT NULL OR (
        SELECT 1 FROM tasks ${using('tasks_live')}
        WHERE ${LIVE} AND (lease_by IS NULL OR lease_until <= ${now}) AND agent IN ${items('text', '@agents')}
        ORDER BY level, tenant, owner, id LIMIT 1
      ) IS NOT NULL AS waits`,
    /** The next level of delegation with unfinished tasks. */
    level: `SELECT level FROM tasks ${using('tasks_live')} WHERE ${LIVE} AND level > ? ORDER BY level LIMIT 1`,
    /** The oldest waiting task of the next owner after the given one, but of no owner in the list of [tenant, owner]. */
    claimNext: `UPDATE tasks SET epoch = epoch + 1, lease_by = ?, lease_until = ?
      WHERE id = (
        SELECT id FROM tasks ${using('tasks_live')}
        WHERE ${LIVE} AND level = ? AND (tenant, owner) > (?, ?) AND (lease_by IS NULL OR lease_until <= ?)
          AND agent IN ${items('text')} AND crashes < ${SUSPECT_CRASHES}
          AND NOT EXISTS (SELECT 1 FROM ${list('?')} WHERE value ->> 0 = tenant AND value ->> 1 = owner)
        ORDER BY tenant, owner, id LIMIT 1${skipLocked}
      )
      RETURNING *`,
    /** The number of unfinished tasks of an owner at a level, counted no further than the limit. */
    countLive: `SELECT count(*) AS count FROM (
        SELECT 1 FROM tasks ${using('tasks_live')} WHERE ${LIVE} AND level = ? AND tenant = ? AND owner = ? LIMIT ?
      ) AS live`,
    /** One suspect at a time: children before their parents, and tasks with fewer crashes first. */
    claimSuspect: `UPDATE tasks SET epoch = epoch + 1, lease_by = ?, lease_until = ?
      WHERE id = (
        SELECT id FROM tasks ${using('tasks_live')}
        WHERE ${LIVE} AND ${isSuspect} AND agent IN ${items('text')}
          AND NOT EXISTS (
            SELECT 1 FROM tasks ${using('tasks_live')}
            WHERE ${LIVE} AND ${isSuspect} AND lease_by IS NOT NULL AND lease_until > ?
          )
        ORDER BY level DESC, crashes, id LIMIT 1${skipLocked}
      )
      RETURNING *`,
    /** Raises the epoch, so that a run that still holds the old lease can write nothing more. */
    release: `UPDATE tasks ${using('tasks_live')} SET epoch = epoch + 1, lease_by = NULL, lease_until = 0
      WHERE ${LIVE} AND lease_by = @worker AND (@every = 1 OR id = @id)`,
    retake: `UPDATE tasks SET epoch = epoch + 1, lease_until = ?
      WHERE id = ? AND epoch = ? AND lease_by = ? AND ${NOT_ENDED} RETURNING epoch`,
    heads: `SELECT id, head FROM tasks WHERE id IN ${items('text')}`,
  };
}

/** The most rows that one statement inserts. A statement costs more than a short row. */
const ROWS_AT_ONCE = 16;
/** The statements by number of rows. */
const INSERTS: string[] = [];

/** The statements that insert the rows of one append, made at the time `at`. */
export function insertsOfEvents(task: number, rows: readonly PackedRow[], at: number): readonly Statement[] {
  const inserts: Statement[] = [];
  for (let from = 0; from < rows.length; from += ROWS_AT_ONCE) {
    const some = rows.slice(from, from + ROWS_AT_ONCE);
    INSERTS[some.length] ??= `INSERT INTO events (task, ${EVENT_COLUMNS.join(', ')})
      VALUES ${some.map(() => `(?, ${EVENT_COLUMNS.map(() => '?').join(', ')})`).join(', ')}`;
    const values: unknown[] = [];
    for (const { seq, author, type, body } of some)
      values.push(task, seq, at, author, type, body, checksumOf({ seq, at, author, body }));
    inserts.push({ sql: INSERTS[some.length]!, values });
  }
  return inserts;
}
