import { all, first, run, type Query } from '../../core/sql.js';
import { isTerminal } from '../../core/task.js';
import { LEASE_MS, taskOfNew } from '../../stores/tasks.js';
import type { AcceptOutcome, Fence, NewTask, TaskHead } from '../../stores/tasks.js';
import type { TaskRow } from '../rows.js';
import type { EncodedBatch, EncodedStart, TaskContext } from '../task-changes.js';
import { earlierOrRoom, earlierOutcome, fenced, insertEvents, newTaskColumns } from '../task-changes.js';
import { LIVE, TASK_COLUMNS } from '../task-sql.js';
import type { SqliteInbox } from './inbox.js';

/*
 * The parameters of what is written most have no names: finding the values by name takes as long as the insert itself.
 */
const INSERT_TASK = `INSERT INTO tasks (key, ${TASK_COLUMNS.join(', ')}, lease_until, ended_before,
    status_at, created_at, sent, epoch, crashes, cancel_requested)
  VALUES (?, ${TASK_COLUMNS.map(() => '?').join(', ')}, ?, ?, ?, ?, unhex(?), 1, 0, 0)`;
/** For events that do not change the state. Updates no index. */
const ADVANCE = 'UPDATE tasks SET head = ?, lease_until = ?, crashes = iif(?, 0, crashes) WHERE key = ?';
/** For events that change the state. */
const ADVANCE_TO = `UPDATE tasks SET head = ?, lease_until = ?, crashes = iif(?, 0, crashes),
    state = ?, status_message = ?, status_at = ?, expires_at = ?,
    ended_before = iif(?, (SELECT coalesce(max(key), 0) + 1 FROM tasks), NULL),
    lease_by = iif(?, NULL, lease_by), cancel_requested = iif(?, 0, cancel_requested)
  WHERE key = ?`;

/** The largest key that a task ever had: that of a stored one, or the one that was noted when the last one was removed. */
export const LAST_KEY = `SELECT max(coalesce((SELECT max(key) FROM tasks), 0),
  coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'last_task'), 0))`;

const RENEW = `UPDATE tasks SET lease_until = ? WHERE id IN (SELECT value FROM json_each(?)) AND lease_by = ?
  RETURNING id, head`;
/** Frees the leases of a crash: a process that stops regularly gives its leases back. */
export const RELEASE_ALL = `UPDATE tasks INDEXED BY tasks_live
  SET epoch = epoch + 1, lease_by = NULL, lease_until = 0, crashes = crashes + 1
  WHERE ${LIVE} AND lease_by IS NOT NULL`;
export const NOTE_CRASH = "INSERT OR REPLACE INTO meta (key, value) VALUES ('crash', ?)";
export const TAKE_CRASH = "DELETE FROM meta WHERE key = 'crash' RETURNING value";

/** The context of changes to tasks that are written for this database. */
export interface SqliteContext extends TaskContext {
  readonly inbox: SqliteInbox;
}

interface KeyedStart extends EncodedStart {
  /** Above the keys of all tasks that the database ever had. */
  readonly key: number;
}

/** Writes a task with its message's key, and its first events. A repeated message writes nothing and returns the first one's outcome. */
export function* acceptTask(context: SqliteContext, entry: NewTask, start: KeyedStart): Query<AcceptOutcome> {
  const { scope, id, push } = entry;
  const { inbox, pushes, now } = context;
  const { message, firstEvents, worker, key } = start;
  const waits = worker === undefined;
  if (push || (waits && entry.queueLimit !== undefined)) {
    const earlier = yield* earlierOrRoom(context, entry, waits);
    if (earlier) return earlier;
  }
  const sent = inbox.addNew(entry, key);
  if (sent === undefined) return (yield* earlierOutcome(context, entry))!;
  const row = newTaskColumns(entry, start);
  const leaseUntil = waits ? 0 : now + LEASE_MS;
  // No later task is stored yet, so all that will be have a larger key.
  const endedBefore = isTerminal(row.state) ? key : null;
  const own = TASK_COLUMNS.map((column) => row[column]);
  yield { sql: INSERT_TASK, values: [key, ...own, leaseUntil, endedBefore, now, now, sent] };
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
  const row = [head, now + LEASE_MS, change.isStep ? 1 : 0];
  if (state === undefined) yield* run(ADVANCE, ...row, key);
  else {
    const endsRun = change.endsRun ? 1 : 0;
    const news = [state, statusMessage, now, expiresAt, isTerminal(state) ? 1 : 0, endsRun, endsRun];
    yield* run(ADVANCE_TO, ...row, ...news, key);
  }
  yield* insertEvents(context, { id: taskId, key, head }, events);
  return head;
}

export function renewLeases(worker: string, taskIds: readonly string[], now: number) {
  return all<TaskHead>(RENEW, now + LEASE_MS, JSON.stringify(taskIds), worker);
}
