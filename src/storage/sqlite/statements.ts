import type Database from 'better-sqlite3';
import type { TaskState } from '../../core/task.js';
import { isTerminal } from '../../core/task.js';
import type { TaskHead } from '../../stores/tasks.js';
import type { EventRow, TaskRow } from '../rows.js';
import { LIVE, NOT_ENDED, TASK_COLUMNS } from '../task-sql.js';
import type { Value } from './prepared.js';
import { RowInsert } from './prepared.js';

/** The parts of parameter lists, in the order of the question marks. */
type InboxKey = [tenant: string, owner: string, agent: string, context: string, messageId: string];
type StateChange = [
  ...[head: number, state: TaskState, statusMessage: string | null, at: number],
  ...[expiresAt: number | null, isStep: 0 | 1, leaseUntil: number],
];

const ENDED_BEFORE = 'iif(?, (SELECT coalesce(max(key), 0) + 1 FROM tasks), NULL)';

/** The database adds the key. */
const NEW_COLUMNS = [
  ...TASK_COLUMNS,
  ...(['status_at', 'created_at', 'epoch', 'lease_until', 'crashes', 'cancel_requested'] as const),
] satisfies readonly (keyof TaskRow)[];

const EVENT_COLUMNS = ['task', 'seq', 'at', 'author', 'type', 'body', 'checksum'];

export function taskValues(row: Omit<TaskRow, 'key'>): Value[] {
  return [...NEW_COLUMNS.map((column) => row[column]), isTerminal(row.state) ? 1 : 0];
}

export type Statements = ReturnType<typeof prepareStatements>;

/** Prepares every statement of the hot path once. The parameters stand in the order of the question marks. */
export function prepareStatements(database: Database.Database) {
  const prepare: Prepare = (sql) => database.prepare(sql) as never;
  return {
    insertEvents: new RowInsert(database, 'events', EVENT_COLUMNS),
    ...prepareTasks(prepare),
    ...prepareLeases(prepare),
  };
}

/** The methods of a driver's statement that are used here. */
interface Statement<Parameters extends unknown[], Result> {
  get(...parameters: Parameters): Result | undefined;
  all(...parameters: Parameters): Result[];
  run(...parameters: Parameters): Database.RunResult;
}

type Prepare = <Parameters extends unknown[] = [], Result = unknown>(
  sql: string,
) => Statement<Parameters, Result>;

/** The statements that accept, change and read tasks. */
function prepareTasks(prepare: Prepare) {
  return {
    task: prepare<[id: string, tenant: string, owner: string], TaskRow>(
      'SELECT * FROM tasks WHERE id = ? AND tenant = ? AND owner = ?',
    ),
    head: prepare<[id: string], Pick<TaskRow, 'head'>>('SELECT head FROM tasks WHERE id = ?'),
    insertTask: prepare<Value[]>(`INSERT INTO tasks (${NEW_COLUMNS.join(', ')}, ended_before)
      VALUES (${NEW_COLUMNS.map(() => '?').join(', ')}, ${ENDED_BEFORE})`),
    inbox: prepare<
      [...InboxKey, knownSince: number],
      { readonly request_hash: string; readonly task: string; readonly seq: number }
    >(
      `SELECT request_hash, task, seq FROM inbox
      WHERE tenant = ? AND owner = ? AND agent = ? AND context = ? AND message_id = ? AND (context <> '' OR at > ?)`,
    ),
    /** Changes nothing for a message that was sent before, except one without a context, up to `knownSince`. */
    insertInbox: prepare<
      [...InboxKey, requestHash: string, task: string, seq: number, at: number, knownSince: number]
    >(
      `INSERT INTO inbox VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE
      SET request_hash = excluded.request_hash, task = excluded.task, seq = excluded.seq, at = excluded.at
      WHERE context = '' AND at <= ?`,
    ),
    /** The task, if the worker with this epoch may still append to it. */
    fenced: prepare<[id: string, epoch: number], Pick<TaskRow, 'key' | 'head'>>(
      `SELECT key, head FROM tasks WHERE id = ? AND epoch = ? AND ${NOT_ENDED}`,
    ),
    /** For events that do not change the state. Updates no index. */
    advance: prepare<[head: number, leaseUntil: number, isStep: 0 | 1, key: number]>(
      'UPDATE tasks SET head = ?, lease_until = ?, crashes = iif(?, 0, crashes) WHERE key = ?',
    ),
    /** For events that change the state. */
    advanceTo: prepare<
      [...StateChange, endsRun: 0 | 1, endsRun: 0 | 1, endsTask: 0 | 1, key: number]
    >(`UPDATE tasks SET head = ?, state = ?, status_message = ?, status_at = ?, expires_at = ?,
        crashes = iif(?, 0, crashes), lease_until = ?, lease_by = iif(?, NULL, lease_by), cancel_requested = iif(?, 0, cancel_requested),
        ended_before = ${ENDED_BEFORE}
      WHERE key = ?`),
    /**
     * Without ORDER BY and LIMIT: with either of them SQLite plans the statement again whenever a parameter is bound, which
     * costs several times the read itself. So the order of the rows is not guaranteed.
     */
    events: prepare<
      [task: string, after: number, upTo: number],
      EventRow
    >(`SELECT seq, at, author, body, checksum FROM events
      WHERE task = (SELECT key FROM tasks WHERE id = ?) AND seq > ? AND seq <= ?`),
  };
}

/** The statements about leases. */
function prepareLeases(prepare: Prepare) {
  return {
    renew: prepare<[leaseUntil: number, id: string, worker: string], TaskHead>(
      'UPDATE tasks SET lease_until = ? WHERE id = ? AND lease_by = ? RETURNING id, head',
    ),
    /** Frees the leases of a crash: a process that stops regularly gives its leases back. */
    releaseAll: prepare(`UPDATE tasks INDEXED BY tasks_live
      SET epoch = epoch + 1, lease_by = NULL, lease_until = 0, crashes = crashes + 1
      WHERE ${LIVE} AND lease_by IS NOT NULL`),
    noteCrash: prepare<[reason: string]>("INSERT OR REPLACE INTO meta (key, value) VALUES ('crash', ?)"),
    takeCrash: prepare<[], { readonly value: string }>(
      "DELETE FROM meta WHERE key = 'crash' RETURNING value",
    ),
  };
}
