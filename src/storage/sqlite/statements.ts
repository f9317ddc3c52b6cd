import type Database from 'better-sqlite3';
import type { EventBody, TaskState } from '../../core/task.js';
import { isTerminal } from '../../core/task.js';
import { SUSPECT_CRASHES } from '../../stores/tasks.js';
import type { EventRow, TaskRow } from '../rows.js';
import type { Value } from './prepared.js';
import { RowInsert } from './prepared.js';

/** The event types that make up a conversation: what later tasks of the same session read. */
const SESSION_EVENT_TYPES: ReadonlySet<EventBody['type']> = new Set([
  'message',
  'turn-end',
  'tool-result',
  'delegation-end',
  'run-end',
]);

/** The statements of the hot path, with their parameters in the order of the question marks, and the rows they return. */
export interface Statements {
  readonly task: Database.Statement<[id: string, tenant: string, owner: string], TaskRow>;
  /** See `taskValues`. */
  readonly insertTask: Database.Statement<Value[]>;
  /** See `changedValues`. */
  readonly saveTask: Database.Statement<Value[]>;
  readonly inbox: Database.Statement<
    [tenant: string, owner: string, agent: string, messageId: string],
    { readonly request_hash: string; readonly task: string; readonly seq: number }
  >;
  readonly insertInbox: Database.Statement<
    [
      tenant: string,
      owner: string,
      agent: string,
      messageId: string,
      requestHash: string,
      task: string,
      seq: number,
    ]
  >;
  readonly fenced: Database.Statement<
    [id: string, epoch: number],
    { readonly key: number; readonly head: number }
  >;
  readonly advance: Database.Statement<[head: number, leaseUntil: number, isStep: 0 | 1, key: number]>;
  readonly advanceTo: Database.Statement<
    [
      head: number,
      state: TaskState,
      statusMessage: string | null,
      at: number,
      expiresAt: number | null,
      isStep: 0 | 1,
      leaseUntil: number,
      endsRun: 0 | 1,
      endsRun: 0 | 1,
      endsTask: 0 | 1,
      key: number,
    ]
  >;
  /** See `EVENT_COLUMNS`. */
  readonly insertEvents: RowInsert;
  readonly events: Database.Statement<[task: string, after: number, upTo: number], EventRow>;
  readonly sessionEvents: Database.Statement<
    [Readonly<Record<string, string | number>>],
    EventRow & { readonly task: string }
  >;
  readonly expired: Database.Statement<[now: number, agents: string], TaskRow>;
  readonly level: Database.Statement<[above: number], number>;
  readonly claim: Database.Statement<
    [worker: string, leaseUntil: number, now: number, level: number, agents: string, limit: number],
    TaskRow
  >;
  readonly claimSuspect: Database.Statement<
    [worker: string, leaseUntil: number, agents: string, now: number],
    TaskRow
  >;
  readonly renew: Database.Statement<[leaseUntil: number, id: string, worker: string]>;
  readonly release: Database.Statement<[worker: string]>;
  readonly releaseAll: Database.Statement<[]>;
  readonly noteCrash: Database.Statement<[reason: string]>;
  readonly takeCrash: Database.Statement<[], { readonly value: string }>;
}

const LIVE = "state IN ('submitted', 'working')";
const SESSION_TYPES = [...SESSION_EVENT_TYPES].map((type) => `'${type}'`).join(', ');
/**
 * For a task that ends (1): a key that is above those of all tasks there are, and not above those of later ones. Tasks from
 * that key on were accepted after the end.
 */
const ENDED_BEFORE = 'iif(?, (SELECT coalesce(max(key), 0) + 1 FROM tasks), NULL)';
const NOT_ENDED = "state NOT IN ('completed', 'failed', 'canceled', 'rejected')";

/** The columns of a new task. The database adds the key. */
const TASK_COLUMNS = [
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
  'status_at',
  'created_at',
  'head',
  'epoch',
  'lease_by',
  'lease_until',
  'crashes',
  'expires_at',
  'cancel_requested',
] as const satisfies readonly (keyof TaskRow)[];

/** The columns that a further message, an expired question or a cancellation changes. */
const CHANGED_COLUMNS = [
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

const EVENT_COLUMNS = ['task', 'seq', 'at', 'author', 'type', 'body'];

export function taskValues(row: Omit<TaskRow, 'key'>): Value[] {
  return [...TASK_COLUMNS.map((column) => row[column]), isTerminal(row.state) ? 1 : 0];
}

export function changedValues(row: TaskRow): Value[] {
  return [...CHANGED_COLUMNS.map((column) => row[column]), isTerminal(row.state) ? 1 : 0, row.key];
}

/** The SQL text of each statement. */
const SQL: Readonly<Record<Exclude<keyof Statements, 'insertEvents'>, string>> = {
  task: 'SELECT * FROM tasks WHERE id = ? AND tenant = ? AND owner = ?',
  insertTask: `INSERT INTO tasks (${TASK_COLUMNS.join(', ')}, ended_before)
      VALUES (${TASK_COLUMNS.map(() => '?').join(', ')}, ${ENDED_BEFORE})`,
  saveTask: `UPDATE tasks SET ${CHANGED_COLUMNS.map((column) => `${column} = ?`).join(', ')}, ended_before = ${ENDED_BEFORE}
      WHERE key = ?`,
  inbox:
    'SELECT request_hash, task, seq FROM inbox WHERE tenant = ? AND owner = ? AND agent = ? AND message_id = ?',
  /** Changes nothing for a message that was sent before. */
  insertInbox: 'INSERT INTO inbox VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
  /** The task, if the worker with this epoch may still append to it. */
  fenced: `SELECT key, head FROM tasks WHERE id = ? AND epoch = ? AND ${NOT_ENDED}`,
  /** For events that do not change the state. Updates no index. */
  advance: 'UPDATE tasks SET head = ?, lease_until = ?, crashes = iif(?, 0, crashes) WHERE key = ?',
  /** For events that change the state. */
  advanceTo: `UPDATE tasks SET head = ?, state = ?, status_message = ?, status_at = ?, expires_at = ?,
        crashes = iif(?, 0, crashes), lease_until = ?, lease_by = iif(?, NULL, lease_by), cancel_requested = iif(?, 0, cancel_requested),
        ended_before = ${ENDED_BEFORE}
      WHERE key = ?`,
  /**
   * Without ORDER BY and LIMIT: with either of them SQLite plans the statement again whenever a parameter is bound, which
   * costs several times the read itself. So the order of the rows is not guaranteed.
   */
  events: `SELECT seq, at, author, body FROM events
      WHERE task = (SELECT key FROM tasks WHERE id = ?) AND seq > ? AND seq <= ?`,
  /**
   * Newest first: walks the tasks of the context backwards, starting at the task, and the events of each. The task to stop
   * at may have been removed; ids rise with time.
   */
  sessionEvents: `SELECT tasks.id AS task, seq, at, author, body
      FROM tasks INDEXED BY tasks_by_context CROSS JOIN events ON events.task = tasks.key
      WHERE context = @contextId AND agent = @agent AND owner = @owner AND tenant = @tenant
        AND tasks.key < (SELECT key FROM tasks WHERE id = @id)
        AND (@unfinished OR ended_before <= (SELECT key FROM tasks WHERE id = @id))
        AND tasks.key > coalesce((SELECT key FROM tasks WHERE id <= @after ORDER BY id DESC LIMIT 1), 0)
        AND type IN (${SESSION_TYPES})
      ORDER BY tasks.key DESC, seq DESC LIMIT @limit`,
  /** Tasks that wait with an expired question. */
  expired: `SELECT * FROM tasks INDEXED BY tasks_by_expiry
      WHERE expires_at <= ? AND agent IN (SELECT value FROM json_each(?)) ORDER BY expires_at`,
  /** The next level of delegation with unfinished tasks. */
  level: `SELECT level FROM tasks INDEXED BY tasks_live WHERE ${LIVE} AND level > ? ORDER BY level LIMIT 1`,
  claim: `UPDATE tasks SET epoch = epoch + 1, lease_by = ?, lease_until = ?
      WHERE id IN (
        SELECT id FROM tasks INDEXED BY tasks_live
        WHERE ${LIVE} AND (lease_by IS NULL OR lease_until <= ?) AND level = ? AND agent IN (SELECT value FROM json_each(?))
          AND crashes < ${SUSPECT_CRASHES}
        ORDER BY id LIMIT ?
      )
      RETURNING *`,
  /** Of the suspects one at a time, children before their parents, and last the one with the most crashes. */
  claimSuspect: `UPDATE tasks SET epoch = epoch + 1, lease_by = ?, lease_until = ?
      WHERE id = (
        SELECT id FROM tasks INDEXED BY tasks_live
        WHERE ${LIVE} AND crashes >= ${SUSPECT_CRASHES} AND agent IN (SELECT value FROM json_each(?))
          AND NOT EXISTS (
            SELECT 1 FROM tasks INDEXED BY tasks_live
            WHERE ${LIVE} AND crashes >= ${SUSPECT_CRASHES} AND lease_by IS NOT NULL AND lease_until > ?
          )
        ORDER BY level DESC, crashes, id LIMIT 1
      )
      RETURNING *`,
  renew: 'UPDATE tasks SET lease_until = ? WHERE id = ? AND lease_by = ?',
  /** Raises the epoch, so that a run that still holds the old lease can write nothing more. */
  release: `UPDATE tasks INDEXED BY tasks_live SET epoch = epoch + 1, lease_by = NULL, lease_until = 0
      WHERE ${LIVE} AND lease_by = ?`,
  /** A process that stops gives its leases back, so a lease that is still there at the start is that of a crash. */
  releaseAll: `UPDATE tasks INDEXED BY tasks_live
      SET epoch = epoch + 1, lease_by = NULL, lease_until = 0, crashes = crashes + 1
      WHERE ${LIVE} AND lease_by IS NOT NULL`,
  noteCrash: "INSERT OR REPLACE INTO meta (key, value) VALUES ('crash', ?)",
  takeCrash: "DELETE FROM meta WHERE key = 'crash' RETURNING value",
};

/** Prepares every statement of the hot path once. */
export function prepareStatements(database: Database.Database): Statements {
  const insertEvents = new RowInsert(database, 'events', EVENT_COLUMNS);
  return { ...prepareAll<Omit<Statements, 'insertEvents'>>(database, SQL, ['level']), insertEvents };
}

/** Prepares all texts. The statements named in `plucked` return the value of their only column. */
function prepareAll<Statements>(
  handle: Database.Database,
  texts: Readonly<Record<keyof Statements, string>>,
  plucked: readonly (keyof Statements)[],
): Statements {
  const prepared = Object.entries<string>(texts).map(([name, sql]) => {
    const statement = handle.prepare(sql);
    return [name, plucked.includes(name as keyof Statements) ? statement.pluck() : statement] as const;
  });
  return Object.fromEntries(prepared) as Statements;
}
