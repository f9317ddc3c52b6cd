import type Database from 'better-sqlite3';
import type { EventType, TaskState } from '../../core/task.js';
import type { EventRow, TaskRow } from '../rows.js';

export type Statements = ReturnType<typeof prepareStatements>;

const LIVE = "state IN ('submitted', 'working')";
const NOT_ENDED = "state NOT IN ('completed', 'failed', 'canceled', 'rejected')";

/** Every statement of the hot paths, prepared once. Parameters stand in the order of the question marks. */
export function prepareStatements(database: Database.Database) {
  return {
    ...prepareTaskStatements(database),
    ...prepareEventStatements(database),
    ...prepareLeaseStatements(database),
  };
}

function prepareTaskStatements(database: Database.Database) {
  return {
    task: database.prepare<[id: string, tenant: string, owner: string], TaskRow>(
      'SELECT * FROM tasks WHERE id = ? AND tenant = ? AND owner = ?',
    ),
    insertTask: database.prepare<[TaskRow]>(
      `INSERT INTO tasks VALUES (@id, @tenant, @owner, @agent, @context, @parent, @session, @authority, @state,
        @status_message, @status_at, @created_at, @head, @epoch, @lease_by, @lease_until, @attempts,
        @cancel_requested)`,
    ),
    saveTask: database.prepare<[TaskRow]>(
      `UPDATE tasks SET state = @state, status_message = @status_message, status_at = @status_at, head = @head,
        epoch = @epoch, lease_by = @lease_by, lease_until = @lease_until, cancel_requested = @cancel_requested
      WHERE id = @id`,
    ),
    session: database
      .prepare<[tenant: string, owner: string, agent: string, context: string], number>(
        'SELECT id FROM sessions WHERE tenant = ? AND owner = ? AND agent = ? AND context = ?',
      )
      .pluck(),
    insertSession: database
      .prepare<[tenant: string, owner: string, agent: string, context: string], number>(
        'INSERT INTO sessions (tenant, owner, agent, context) VALUES (?, ?, ?, ?) RETURNING id',
      )
      .pluck(),
    inbox: database.prepare<
      [tenant: string, owner: string, agent: string, messageId: string],
      { readonly request_hash: string; readonly task: string; readonly seq: number }
    >(
      'SELECT request_hash, task, seq FROM inbox WHERE tenant = ? AND owner = ? AND agent = ? AND message_id = ?',
    ),
    insertInbox: database.prepare<
      [
        tenant: string,
        owner: string,
        agent: string,
        messageId: string,
        requestHash: string,
        task: string,
        seq: number,
      ]
    >('INSERT INTO inbox VALUES (?, ?, ?, ?, ?, ?, ?)'),
  };
}

interface Advanced {
  readonly head: number;
  readonly session: number;
}

function prepareEventStatements(database: Database.Database) {
  return {
    /** The conditional append of events that leave the state alone: touches no index. */
    advance: database.prepare<[count: number, leaseUntil: number, id: string, epoch: number], Advanced>(
      `UPDATE tasks SET head = head + ?, lease_until = ? WHERE id = ? AND epoch = ? AND ${NOT_ENDED}
      RETURNING head, session`,
    ),
    /** The same with a new state. */
    advanceTo: database.prepare<[AdvanceTo], Advanced>(
      `UPDATE tasks SET head = head + @count, state = @state, status_message = @statusMessage, status_at = @at,
        attempts = attempts + @runStarts, lease_until = @leaseUntil,
        lease_by = iif(@endsRun, NULL, lease_by), cancel_requested = iif(@endsRun, 0, cancel_requested)
      WHERE id = @id AND epoch = @epoch AND ${NOT_ENDED}
      RETURNING head, session`,
    ),
    insertEvent: database.prepare<
      [
        task: string,
        seq: number,
        at: number,
        author: string | null,
        type: EventType,
        session: number | null,
        body: string,
      ]
    >('INSERT INTO events (task, seq, at, author, type, session, body) VALUES (?, ?, ?, ?, ?, ?, ?)'),
    events: database.prepare<[task: string, after: number, limit: number], EventRow>(
      'SELECT task, seq, at, author, body FROM events WHERE task = ? AND seq > ? ORDER BY seq LIMIT ?',
    ),
    /** Newest first: the index of sessions is walked from the task backwards. */
    sessionEvents: database.prepare<[id: string, before: string, limit: number], EventRow>(
      `SELECT task, seq, at, author, body FROM events INDEXED BY events_by_session
      WHERE session = (SELECT session FROM tasks WHERE id = ?) AND task < ?
      ORDER BY task DESC, seq DESC LIMIT ?`,
    ),
  };
}

interface AdvanceTo {
  readonly id: string;
  readonly epoch: number;
  readonly count: number;
  readonly state: TaskState;
  readonly statusMessage: string | null;
  readonly at: number;
  readonly runStarts: number;
  readonly leaseUntil: number;
  readonly endsRun: 0 | 1;
}

function prepareLeaseStatements(database: Database.Database) {
  return {
    claim: database.prepare<
      [worker: string, leaseUntil: number, now: number, agents: string, limit: number],
      TaskRow
    >(
      `UPDATE tasks SET epoch = epoch + 1, lease_by = ?, lease_until = ?
      WHERE id IN (
        SELECT id FROM tasks INDEXED BY tasks_live
        WHERE ${LIVE} AND (lease_by IS NULL OR lease_until <= ?) AND agent IN (SELECT value FROM json_each(?))
        ORDER BY id LIMIT ?
      )
      RETURNING *`,
    ),
    renew: database.prepare<[leaseUntil: number, id: string, worker: string]>(
      'UPDATE tasks SET lease_until = ? WHERE id = ? AND lease_by = ?',
    ),
    /** Raises the epoch, so that a run that did not hear of it writes nothing more. */
    release: database.prepare<[worker: string]>(
      `UPDATE tasks INDEXED BY tasks_live SET epoch = epoch + 1, lease_by = NULL, lease_until = 0
      WHERE ${LIVE} AND lease_by = ?`,
    ),
    releaseAll: database.prepare<[]>(
      `UPDATE tasks INDEXED BY tasks_live SET epoch = epoch + 1, lease_by = NULL, lease_until = 0
      WHERE ${LIVE} AND lease_by IS NOT NULL`,
    ),
  };
}
