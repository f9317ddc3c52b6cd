import { all, first, run, type Query } from '../../core/sql.js';
import { isTerminal } from '../../core/task.js';
import { LEASE_MS, taskOfNew } from '../../stores/tasks.js';
import type { AcceptOutcome, Fence, NewTask, TaskHead } from '../../stores/tasks.js';
import type { TaskRow } from '../rows.js';
import type { EncodedBatch, EncodedStart, Inbox, SentMessage, TaskContext } from '../task-changes.js';
import {
  earlierOrRoom,
  earlierOutcome,
  fenced,
  insertEvents,
  keyOfSent,
  newTaskColumns,
} from '../task-changes.js';
import { LIVE, TASK_COLUMNS } from '../task-sql.js';

const ENDED_BEFORE = 'iif(@ended, (SELECT coalesce(max(key), 0) + 1 FROM tasks), NULL)';
const INSERT_TASK = `INSERT INTO tasks (key, ${TASK_COLUMNS.join(', ')},
    status_at, created_at, epoch, lease_until, crashes, cancel_requested, ended_before)
  VALUES (@key, ${TASK_COLUMNS.map((column) => `@${column}`).join(', ')},
    @now, @now, 1, @leaseUntil, 0, 0, ${ENDED_BEFORE})`;
/** For events that do not change the state. Updates no index. */
const ADVANCE = `UPDATE tasks SET head = @head, lease_until = @leaseUntil, crashes = iif(@isStep, 0, crashes)
  WHERE key = @key`;
/** For events that change the state. */
const ADVANCE_TO = `UPDATE tasks SET head = @head, state = @state, status_message = @statusMessage, status_at = @now,
    expires_at = @expiresAt, crashes = iif(@isStep, 0, crashes), lease_until = @leaseUntil,
    lease_by = iif(@endsRun, NULL, lease_by), cancel_requested = iif(@endsRun, 0, cancel_requested),
    ended_before = ${ENDED_BEFORE}
  WHERE key = @key`;

const FIND_MESSAGE = `SELECT (SELECT id FROM tasks WHERE key = task) AS task, seq FROM inbox WHERE key = ? AND at > ?`;
/** Changes nothing for a message that was sent after the last parameter. */
const ADD_MESSAGE = `INSERT INTO inbox (key, task, seq, at) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE
  SET task = excluded.task, seq = excluded.seq, at = excluded.at WHERE at <= ?`;
export const LAST_KEY = "SELECT seq FROM sqlite_sequence WHERE name = 'tasks'";

const RENEW = `UPDATE tasks SET lease_until = ? WHERE id IN (SELECT value FROM json_each(?)) AND lease_by = ?
  RETURNING id, head`;
/** Frees the leases of a crash: a process that stops regularly gives its leases back. */
export const RELEASE_ALL = `UPDATE tasks INDEXED BY tasks_live
  SET epoch = epoch + 1, lease_by = NULL, lease_until = 0, crashes = crashes + 1
  WHERE ${LIVE} AND lease_by IS NOT NULL`;
export const NOTE_CRASH = "INSERT OR REPLACE INTO meta (key, value) VALUES ('crash', ?)";
export const TAKE_CRASH = "DELETE FROM meta WHERE key = 'crash' RETURNING value";

interface KeyedStart extends EncodedStart {
  /** Above the keys of all tasks that the database ever had. */
  readonly key: number;
}

/** Writes inbox row, task row and first events. A repeated message writes nothing and returns the first one's outcome. */
export function* acceptTask(context: TaskContext, entry: NewTask, start: KeyedStart): Query<AcceptOutcome> {
  const { scope, id, push } = entry;
  const { inbox, pushes, now } = context;
  const { message, firstEvents, worker, key } = start;
  const waits = worker === undefined;
  if (push || (waits && entry.queueLimit !== undefined)) {
    const earlier = yield* earlierOrRoom(context, entry, waits);
    if (earlier) return earlier;
  }
  if ((yield* inbox.add(entry, { id, key, head: 1 }, context)) === 0)
    return (yield* earlierOutcome(context, entry))!;
  const row = newTaskColumns(entry, start);
  const times = { now, leaseUntil: waits ? 0 : now + LEASE_MS, ended: isTerminal(row.state) ? 1 : 0 };
  yield* run(INSERT_TASK, { key, ...row, ...times });
  yield* insertEvents(context, { id, key, head: row.head }, [message, ...firstEvents.events]);
  if (push) yield* pushes.put({ scope, taskId: id }, push, { cursor: 1, now });
  return { kind: 'accepted', task: taskOfNew(entry, now), seq: 1, leased: !waits };
}

/**
 * The only conditional append: it succeeds if task id and epoch still match and the task has not ended. Returns the new
 * head. Otherwise throws `LangoError` `fenced`: another worker owns the task, so the caller must stop and drop its result.
 */
export function* appendEvents(
  context: TaskContext,
  { taskId, epoch }: Fence,
  { change, events }: EncodedBatch,
): Query<number> {
  const { sql, now } = context;
  const task = yield* first<Pick<TaskRow, 'key' | 'head'>>(sql.fenced, taskId, epoch);
  if (!task) throw fenced();
  const { key } = task;
  const head = task.head + events.length;
  const { state, statusMessage, expiresAt = null } = change;
  const row = { key, head, leaseUntil: now + LEASE_MS, isStep: change.isStep ? 1 : 0 };
  if (state === undefined) yield* run(ADVANCE, row);
  else {
    const ends = { endsRun: change.endsRun ? 1 : 0, ended: isTerminal(state) ? 1 : 0 };
    yield* run(ADVANCE_TO, { ...row, state, statusMessage, now, expiresAt, ...ends });
  }
  yield* insertEvents(context, { id: taskId, key, head }, events);
  return head;
}

/** Before the time of any message. */
const NEVER = -1;

/** Makes the inbox. It forgets the ids of messages without a context after `knownMs`. */
export function inboxOf(clock: () => number, knownMs: number): Inbox {
  const forgotten = ({ givenContextId = '' }: SentMessage, now: number) =>
    givenContextId === '' ? now - knownMs : NEVER;
  return {
    find: (sent) => first(FIND_MESSAGE, keyOfSent(sent), forgotten(sent, clock())),
    add: (sent, { key, head }, { now }) =>
      run(ADD_MESSAGE, keyOfSent(sent), key, head, now, forgotten(sent, now)),
  };
}

export function renewLeases(worker: string, taskIds: readonly string[], now: number) {
  return all<TaskHead>(RENEW, now + LEASE_MS, JSON.stringify(taskIds), worker);
}
