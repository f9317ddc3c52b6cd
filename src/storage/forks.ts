import { LangoError } from '../core/errors.js';
import { all, first, run, type Query } from '../core/sql.js';
import type { TaskEvent, TaskRecord } from '../core/task.js';
import type { NewFork } from '../stores/tasks.js';
import { assertUnbroken, soundEventsIn, type EventRow } from './event-rows.js';
import { toTaskRecord, toTaskEvent, type EncodedEvent, type StoredEvent, type TaskRow } from './rows.js';
import { insertEvents, type TaskContext } from './task-changes.js';
import type { TaskSql } from './task-sql.js';

type Shared = Readonly<{ fork_of: string; fork_at: number }>;

/**
 * Reads events after `after`, at most `limit`. A fork has rows of its own events only: those before are read where they are.
 * Throws `LangoError` `storage` like `assertUnbroken`.
 */
export function* storedEventsOf(
  sql: TaskSql,
  taskId: string,
  { after, limit }: { readonly after: number; readonly limit: number },
): Query<readonly StoredEvent[]> {
  const rows = yield* all<EventRow>(sql.events, taskId, after, after + limit);
  const shared = beginsAfter(taskId, rows, after) ? yield* first<Shared>(sql.forkOf, taskId) : undefined;
  if (!shared || after >= shared.fork_at) return assertUnbroken(taskId, after, rows).slice(0, limit);
  const most = Math.min(limit, shared.fork_at - after);
  const before = yield* storedEventsOf(sql, shared.fork_of, { after, limit: most });
  const own = before.length < limit ? assertUnbroken(taskId, shared.fork_at, rows) : [];
  return [...before, ...own].slice(0, limit);
}

/** The events that a conversation reads of those that a fork shares, at most. */
const SESSION_EVENTS = 1_000;

/** Reads the newest events that a fork shares; none of another task. */
export function* sharedEvents(sql: TaskSql, taskId: string): Query<readonly TaskEvent[]> {
  const shared = yield* first<Shared>(sql.forkOf, taskId);
  if (!shared) return [];
  const after = Math.max(0, shared.fork_at - SESSION_EVENTS);
  const stored = yield* storedEventsOf(sql, taskId, { after, limit: shared.fork_at - after });
  return stored.map((event) => toTaskEvent(taskId, event));
}

/** The task whose beginning a fork shares: what was said before that task was said before the fork. */
export function* originOf(sql: TaskSql, task: TaskRecord): Query<TaskRecord> {
  if (!task.fork) return task;
  const row = yield* first<TaskRow>(sql.task, task.fork.taskId, task.tenant, task.owner);
  return row ? yield* originOf(sql, toTaskRecord({ ...row, status_message: null })) : task;
}

/** Whether the rows lack the event after `after`. */
function beginsAfter(taskId: string, rows: readonly EventRow[], after: number): boolean {
  const [one, ...others] = rows;
  if (!one) return true;
  const lowest = others.reduce((low, row) => (row.seq < low.seq ? row : low), one);
  return soundEventsIn(taskId, lowest)[0]!.seq > after + 1;
}

const COLUMNS =
  'id, tenant, owner, agent, context, authority, level, state, head, status_at, created_at, epoch, lease_until, crashes, cancel_requested, fork_of, fork_at';

/**
 * Stores a task that shares the first events of another one of its owner, and is claimed like any that waits. `key`: of a
 * database that does not number tasks itself. Throws `not-found`, and `invalid-input` for events that there are not.
 */
export function* forkTask(
  context: TaskContext,
  { id, scope: { tenant, owner }, contextId, grant, of, at }: NewFork,
  { events, key }: { readonly events: readonly EncodedEvent[]; readonly key?: number },
): Query<TaskRecord> {
  const { sql, now } = context;
  const parent = yield* first<TaskRow>(sql.lockedTask, of, tenant, owner);
  if (!parent) throw new LangoError('not-found', `Task not found. There is no task ${of}.`);
  if (at < 1 || at > parent.head)
    throw new LangoError('invalid-input', `The task ${of} has the events 1 to ${parent.head}.`);
  const values = [id, tenant, owner, parent.agent, contextId, JSON.stringify(grant), grant.chain.length];
  const row = [...values, 'submitted', at + events.length, now, now, 1, 0, 0, 0, of, at];
  const all = key === undefined ? row : [...row, key];
  const columns = key === undefined ? COLUMNS : `${COLUMNS}, key`;
  yield* run(`INSERT INTO tasks (${columns}) VALUES (${all.map(() => '?').join(', ')})`, ...all);
  const made = (yield* first<TaskRow>(sql.task, id, tenant, owner))!;
  yield* insertEvents(context, made, events);
  return toTaskRecord(made);
}
