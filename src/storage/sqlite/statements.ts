import type Database from 'better-sqlite3';
import type { EventType, TaskState } from '../../core/task.js';
import type { EventRow, TaskRow } from '../rows.js';

/** Each with its parameters, in the order of the question marks or by name, and the row it gives. */
export interface Statements {
  readonly task: Database.Statement<[id: string, tenant: string, owner: string], TaskRow>;
  readonly insertTask: Database.Statement<[TaskRow]>;
  readonly saveTask: Database.Statement<[TaskRow]>;
  readonly session: Database.Statement<
    [tenant: string, owner: string, agent: string, context: string],
    number
  >;
  readonly insertSession: Database.Statement<
    [tenant: string, owner: string, agent: string, context: string],
    number
  >;
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
  readonly advance: Database.Statement<
    [count: number, leaseUntil: number, id: string, epoch: number],
    Advanced
  >;
  readonly advanceTo: Database.Statement<[AdvanceTo], Advanced>;
  readonly insertEvent: Database.Statement<
    [
      task: string,
      seq: number,
      at: number,
      author: string | null,
      type: EventType,
      session: number | null,
      body: string,
    ]
  >;
  readonly events: Database.Statement<[task: string, after: number, upTo: number], EventRow>;
  readonly sessionEvents: Database.Statement<[id: string, before: string, limit: number], EventRow>;
  readonly level: Database.Statement<[above: number], number>;
  readonly claim: Database.Statement<
    [worker: string, leaseUntil: number, now: number, level: number, agents: string, limit: number],
    TaskRow
  >;
  readonly renew: Database.Statement<[leaseUntil: number, id: string, worker: string]>;
  readonly release: Database.Statement<[worker: string]>;
  readonly releaseAll: Database.Statement<[]>;
}

const LIVE = "state IN ('submitted', 'working')";
const NOT_ENDED = "state NOT IN ('completed', 'failed', 'canceled', 'rejected')";

interface Advanced {
  readonly head: number;
  readonly session: number;
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

/** Their text. */
const SQL: Readonly<Record<keyof Statements, string>> = {
  task: 'SELECT * FROM tasks WHERE id = ? AND tenant = ? AND owner = ?',
  insertTask: `INSERT INTO tasks VALUES (@id, @tenant, @owner, @agent, @context, @parent, @session, @authority, @level,
        @state, @status_message, @status_at, @created_at, @head, @epoch, @lease_by, @lease_until, @attempts,
        @cancel_requested)`,
  saveTask: `UPDATE tasks SET state = @state, status_message = @status_message, status_at = @status_at, head = @head,
        epoch = @epoch, lease_by = @lease_by, lease_until = @lease_until, cancel_requested = @cancel_requested
      WHERE id = @id`,
  session: 'SELECT id FROM sessions WHERE tenant = ? AND owner = ? AND agent = ? AND context = ?',
  insertSession: 'INSERT INTO sessions (tenant, owner, agent, context) VALUES (?, ?, ?, ?) RETURNING id',
  inbox:
    'SELECT request_hash, task, seq FROM inbox WHERE tenant = ? AND owner = ? AND agent = ? AND message_id = ?',
  insertInbox: 'INSERT INTO inbox VALUES (?, ?, ?, ?, ?, ?, ?)',
  /** The conditional append of events that leave the state alone: touches no index. */
  advance: `UPDATE tasks SET head = head + ?, lease_until = ? WHERE id = ? AND epoch = ? AND ${NOT_ENDED}
      RETURNING head, session`,
  /** The same with a new state. */
  advanceTo: `UPDATE tasks SET head = head + @count, state = @state, status_message = @statusMessage, status_at = @at,
        attempts = attempts + @runStarts, lease_until = @leaseUntil,
        lease_by = iif(@endsRun, NULL, lease_by), cancel_requested = iif(@endsRun, 0, cancel_requested)
      WHERE id = @id AND epoch = @epoch AND ${NOT_ENDED}
      RETURNING head, session`,
  insertEvent: 'INSERT INTO events (task, seq, at, author, type, session, body) VALUES (?, ?, ?, ?, ?, ?, ?)',
  /**
   * In no promised order, though SQLite walks the key. ORDER BY and LIMIT would say it, but with either of them SQLite
   * plans the statement anew each time a parameter is bound, which costs several times the reading.
   */
  events: 'SELECT task, seq, at, author, body FROM events WHERE task = ? AND seq > ? AND seq <= ?',
  /** Newest first: the index of sessions is walked from the task backwards. */
  sessionEvents: `SELECT task, seq, at, author, body FROM events INDEXED BY events_by_session
      WHERE session = (SELECT session FROM tasks WHERE id = ?) AND task < ?
      ORDER BY task DESC, seq DESC LIMIT ?`,
  /** The next level of delegation that has unfinished tasks. */
  level: `SELECT level FROM tasks INDEXED BY tasks_live WHERE ${LIVE} AND level > ? ORDER BY level LIMIT 1`,
  claim: `UPDATE tasks SET epoch = epoch + 1, lease_by = ?, lease_until = ?
      WHERE id IN (
        SELECT id FROM tasks INDEXED BY tasks_live
        WHERE ${LIVE} AND (lease_by IS NULL OR lease_until <= ?) AND level = ? AND agent IN (SELECT value FROM json_each(?))
        ORDER BY id LIMIT ?
      )
      RETURNING *`,
  renew: 'UPDATE tasks SET lease_until = ? WHERE id = ? AND lease_by = ?',
  /** Raises the epoch, so that a run that did not hear of it writes nothing more. */
  release: `UPDATE tasks INDEXED BY tasks_live SET epoch = epoch + 1, lease_by = NULL, lease_until = 0
      WHERE ${LIVE} AND lease_by = ?`,
  releaseAll: `UPDATE tasks INDEXED BY tasks_live SET epoch = epoch + 1, lease_by = NULL, lease_until = 0
      WHERE ${LIVE} AND lease_by IS NOT NULL`,
};

/** Those that give one column, and that column alone. */
const PLUCKED: readonly string[] = ['session', 'insertSession', 'level'];

/** Every statement of the hot paths, prepared once. */
export function prepareStatements(database: Database.Database): Statements {
  const prepared = Object.entries(SQL).map(([name, sql]) => {
    const statement = database.prepare(sql);
    return [name, PLUCKED.includes(name) ? statement.pluck() : statement] as const;
  });
  return Object.fromEntries(prepared) as unknown as Statements;
}
