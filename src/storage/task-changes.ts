import { hash } from 'node:crypto';
import { LangoError } from '../core/errors.js';
import type { Message } from '../core/message.js';
import { NO_USAGE } from '../core/model.js';
import type { ClaimRoom, EarlierOutcome, InputOutcome, Fence, NewInput } from '../stores/tasks.js';
import { LEASE_MS, type NewTask, type TaskHead } from '../stores/tasks.js';
import { isTerminal, type EventBody, type NewEvent, type Scope, type TaskRecord } from '../core/task.js';
import { assertPushRoom, putPush } from './push-store.js';
import { packed, soundEventsIn, storedEvents, type EventRow } from './event-rows.js';
import type { EncodedBatch, EncodedEvent, StoredEvent, TaskRow } from './rows.js';
import { CALLER_AUTHOR, damagedTask, encodeEvent, toTaskRecord } from './rows.js';
import { all, column, first, run, type Query } from '../core/sql.js';
import { CHANGED_COLUMNS, insertsOfEvents, type TASK_COLUMNS, type TaskSql } from './task-sql.js';

/**
 * The context of the rarer changes to tasks, which are written once for all databases. Accepting a message and appending
 * events have their own code for each database. All changes run inside a transaction, and write nothing if they throw.
 */
export interface TaskContext {
  readonly sql: TaskSql;
  readonly inbox: Inbox;
  /** The time of the store's clock, in milliseconds since the epoch. */
  readonly now: number;
  readonly touch: Touch;
}

/** Reports that a task got these events. */
export type Touch = (taskId: string, events: readonly StoredEvent[]) => void;

export type SentMessage = Pick<NewTask, 'scope' | 'agent' | 'message' | 'givenContextId' | 'isSame'>;

/** The task and the event that a message became. The task is null when it was removed. */
export interface Received {
  readonly task: string | null;
  readonly seq: number;
}

/** Maps the messages that were sent to tasks. A message without a context is forgotten after a while. */
export interface Inbox {
  find(sent: SentMessage): Query<Received | undefined>;
  /** Call it when `find` found nothing in the same transaction. */
  add(sent: SentMessage, task: Pick<TaskRow, 'id' | 'key' | 'head'>, context: TaskContext): Query<unknown>;
}

interface InboxKey extends Scope {
  readonly agent: string;
  /** The context that the sender named; empty for none. */
  readonly context: string;
  readonly messageId: string;
}

/**
 * The key of a message in `inbox`, in hexadecimal digits: a hash, as contexts have any length, and short keys keep the index
 * small.
 */
export function inboxKey({ tenant, owner, agent, context, messageId }: InboxKey): string {
  return hash('sha256', JSON.stringify([tenant, owner, agent, context, messageId]), 'hex');
}

export function keyOfSent({ scope, agent, givenContextId: context = '', message }: SentMessage): string {
  return inboxKey({ tenant: scope.tenant, owner: scope.owner, agent, context, messageId: message.id });
}

/** The first events of a new task: its message, and the events its run has written already. */
export interface EncodedStart {
  readonly message: EncodedEvent;
  readonly firstEvents: EncodedBatch;
  /** The worker that gets the lease. */
  readonly worker: string | undefined;
}

/** The columns of a new task that its message and its first events fill. */
export function newTaskColumns(
  entry: NewTask,
  { firstEvents: { change, events }, worker }: EncodedStart,
): Pick<TaskRow, (typeof TASK_COLUMNS)[number]> {
  return {
    id: entry.id,
    tenant: entry.scope.tenant,
    owner: entry.scope.owner,
    agent: entry.agent,
    context: entry.contextId,
    parent: entry.parentTaskId ?? null,
    authority: JSON.stringify(entry.grant),
    level: entry.grant.chain.length,
    state: change.state ?? 'submitted',
    status_message: change.statusMessage,
    head: 1 + events.length,
    lease_by: change.endsRun ? null : (worker ?? null),
    expires_at: change.expiresAt ?? null,
  };
}

/** The outcome of an earlier send of this message; undefined if there was none. */
export function* earlierOutcome(
  { sql, inbox }: Pick<TaskContext, 'sql' | 'inbox'>,
  entry: SentMessage,
): Query<EarlierOutcome | undefined> {
  const { tenant, owner } = entry.scope;
  const sent = yield* inbox.find(entry);
  if (!sent) return undefined;
  const task = yield* first<TaskRow>(sql.task, sent.task, tenant, owner);
  if (!task) return { kind: 'conflict' };
  const { id: taskId } = task;
  const rows = yield* all<EventRow>(sql.events, taskId, sent.seq - 1, sent.seq);
  if (!entry.isSame({ taskId, seq: sent.seq, message: messageIn(rows, taskId, sent.seq) }))
    return { kind: 'conflict' };
  return { kind: 'repeated', task: toTaskRecord(task), seq: sent.seq };
}

/** Returns the message with this number; undefined when it is damaged or missing. */
function messageIn(rows: readonly EventRow[], taskId: string, seq: number): Message | undefined {
  try {
    // A row has the number of its last event. Rows of later ones are not parsed.
    for (const row of rows.toSorted((a, b) => a.seq - b.seq)) {
      const event = row.seq < seq ? undefined : eventsOf(taskId, row)?.find((one) => one.seq === seq);
      const body = event && (JSON.parse(event.body) as EventBody);
      if (body?.type === 'message') return body.message;
    }
    return undefined;
  } catch {
    return undefined;
  }
}

/**
 * The outcome of an earlier send of this message. For a new message, throws `too-many` when the owner has too many push
 * configs, or as many unfinished tasks as a task that waits allows. A repeated message does not count against the limits.
 */
export function* earlierOrRoom(
  context: Pick<TaskContext, 'sql' | 'inbox' | 'now'>,
  entry: NewTask,
  waits = false,
): Query<EarlierOutcome | undefined> {
  const { scope, id: taskId, push, queueLimit } = entry;
  const earlier = yield* earlierOutcome(context, entry);
  if (earlier) return earlier;
  if (push) yield* assertPushRoom({ scope, taskId }, push, context.now);
  if (waits && queueLimit !== undefined) yield* assertQueueRoom(context.sql, entry, queueLimit);
  return undefined;
}

const QUEUE_RETRY_MS = 2_000;

/** Throws `too-many` for an owner that has reached the limit of unfinished tasks. */
function* assertQueueRoom(sql: TaskSql, { scope, grant }: NewTask, limit: number): Query<void> {
  const level = grant.chain.length;
  const [count = 0] = yield* column<number>(sql.countLive, level, scope.tenant, scope.owner, limit);
  if (count < limit) return;
  const text = `${limit} tasks of this caller are unfinished (server.limits.queuedTasks).`;
  const hint = 'Send further tasks when some of them have ended.';
  throw new LangoError('too-many', text, { hint, retryable: true, retryAfterMs: QUEUE_RETRY_MS });
}

/** Adds a message to a task. The state changes only if the task is idle: the worker of a running task reads the message. */
export function* addInput(context: TaskContext, entry: NewInput, event: EncodedEvent): Query<InputOutcome> {
  const { sql, inbox, now } = context;
  const task = yield* first<TaskRow>(sql.lockedTask, entry.taskId, entry.scope.tenant, entry.scope.owner);
  if (task?.agent !== entry.agent) return { kind: 'not-found' };
  const sent = { ...entry, givenContextId: task.context };
  const earlier = yield* earlierOutcome(context, sent);
  if (earlier) return earlier;
  if (isTerminal(task.state)) return { kind: 'already-ended' };
  if (entry.ifHead !== undefined && entry.ifHead !== task.head)
    throw new LangoError('fenced', 'The task has another head.');
  if (entry.push) yield* assertPushRoom(entry, entry.push, now);
  const idle = isIdle(task, now);
  const leased = entry.lease !== undefined && idle;
  const row: TaskRow = {
    ...task,
    ...(idle ? claimable(context) : {}),
    head: task.head + 1,
    ...(leased ? { epoch: task.epoch + 1, lease_by: entry.lease, lease_until: now + LEASE_MS } : {}),
  };
  yield* inbox.add(sent, row, context);
  yield* saveTask(context, row);
  yield* insertEvents(context, row, [event]);
  if (entry.push) yield* putPush(entry, entry.push, { cursor: row.head, now });
  return { kind: 'accepted', task: toTaskRecord(row), seq: row.head, leased };
}

/** Ends an idle task at once, or asks the worker of a leased task. Undefined if the task is not in this scope. */
export function* cancelTask(context: TaskContext, scope: Scope, id: string): Query<TaskRecord | undefined> {
  const task = yield* first<TaskRow>(context.sql.lockedTask, id, scope.tenant, scope.owner);
  if (!task) return undefined;
  if (isTerminal(task.state)) return toTaskRecord(task);
  if (isIdle(task, context.now)) return yield* endCanceled(context, task);
  if (task.cancel_requested === 1) return toTaskRecord(task);
  const row: TaskRow = { ...task, head: task.head + 1, cancel_requested: 1 };
  return yield* saveWithEvent(context, row, { author: CALLER_AUTHOR, body: { type: 'cancel-request' } });
}

interface Claim {
  readonly worker: string;
  readonly agents: readonly string[];
  readonly room: ClaimRoom;
  /** The owner that was served last at each level. `claimTasks` continues after it. */
  readonly served: Map<number, Scope>;
}

const NO_OWNER: Scope = { tenant: '', owner: '' };

/** Claims level by level, at each the oldest task of each owner in turn. Expired questions make their tasks claimable first. */
export function* claimTasks(context: TaskContext, claim: Claim): Query<readonly TaskRecord[]> {
  const { sql, now } = context;
  for (const task of yield* all<TaskRow>(sql.expired, now, JSON.stringify(claim.agents))) {
    const row = { ...task, ...claimable(context), head: task.head + 1 };
    yield* saveWithEvent(context, row, { author: task.agent, body: { type: 'question-expiry' } });
  }
  const claimed: TaskRecord[] = [];
  for (let level = -1; ;) {
    const next = yield* first<Pick<TaskRow, 'level'>>(sql.level, level);
    if (!next) return claimed;
    ({ level } = next);
    claimed.push(...(yield* claimLevel(context, claim, level)));
  }
}

function* claimLevel(
  { sql, now }: TaskContext,
  { worker, agents, room, served }: Claim,
  level: number,
): Query<readonly TaskRecord[]> {
  const claimed: TaskRecord[] = [];
  const names = JSON.stringify(agents);
  const full = () => JSON.stringify(room.full?.(level, claimed).map((one) => [one.tenant, one.owner]) ?? []);
  const next = ({ tenant, owner }: Scope) =>
    first<TaskRow>(sql.claimNext, ...[worker, now + LEASE_MS, level, tenant, owner, now, names, full()]);
  for (let left = room(level); left > 0; left -= 1) {
    const row = (yield* next(served.get(level) ?? NO_OWNER)) ?? (yield* next(NO_OWNER));
    if (!row) break;
    served.set(level, { tenant: row.tenant, owner: row.owner });
    claimed.push(toClaimed(row));
  }
  return claimed;
}

export function headsOf(sql: TaskSql, taskIds: readonly string[]): Query<readonly TaskHead[]> {
  return all<TaskHead>(sql.heads, JSON.stringify(taskIds));
}

/** The entry in place of a lost one. Readers of tasks and of conversations ignore it. */
const PLACEHOLDER: NewEvent['body'] = { type: 'turn-start', step: 'damaged' };
/** More lost entries than this mean that the record of the task is damaged: its number of entries is wrong. */
const MAX_PLACEHOLDERS = 1_000_000;

/**
 * Prepares the end of a task whose journal has a gap or a damaged entry. The entries from there on get negative numbers,
 * which readers skip and the retention removes. The entries before stay as they are, and the cursors of clients stay valid.
 * Returns the number of the first damaged entry; the caller appends the end.
 */
export function* setDamagedAside(context: TaskContext, { taskId, epoch }: Fence): Query<number | undefined> {
  const { sql } = context;
  const task = yield* first<Pick<TaskRow, 'key' | 'head'>>(sql.fenced, taskId, epoch);
  if (!task) throw fenced();
  const firstLost = yield* firstLostOf(sql, taskId, task.head);
  if (firstLost === undefined) return undefined;
  const lost = task.head - firstLost + 1;
  if (lost > MAX_PLACEHOLDERS) throw damagedTask(`The record of task ${taskId} is damaged.`);
  yield* run(sql.setAside, task.key, firstLost);
  const placeholder = encodeEvent({ author: undefined, body: PLACEHOLDER });
  yield* insertEvents(context, { ...task, id: taskId }, Array<EncodedEvent>(lost).fill(placeholder));
  return firstLost;
}

/** The error of a worker that writes to a task which is not its own any more. */
export function fenced(): LangoError {
  return new LangoError('fenced', 'The task has ended, or another worker owns it now.');
}

/** The first damaged event of a task. With damage in the events that a fork shares it is the first own one of the fork. */
function* firstLostOf(sql: TaskSql, taskId: string, head: number): Query<number | undefined> {
  const shared = yield* first<Readonly<{ fork_of: string; fork_at: number }>>(sql.forkOf, taskId);
  if (!shared) return yield* firstDamaged(sql, taskId, { after: 0, head });
  const { fork_of: of, fork_at: after } = shared;
  const isLost = (yield* firstLostOf(sql, of, after)) !== undefined;
  return isLost ? after + 1 : yield* firstDamaged(sql, taskId, { after, head });
}

function* firstDamaged(
  sql: TaskSql,
  taskId: string,
  { after, head }: { readonly after: number; readonly head: number },
): Query<number | undefined> {
  const rows = (yield* all<EventRow>(sql.events, taskId, after, head)).toSorted((a, b) => a.seq - b.seq);
  let next = after + 1;
  for (const row of rows) {
    if (eventsOf(taskId, row)?.[0]!.seq !== next) return next;
    next = row.seq + 1;
  }
  return next <= head ? next : undefined;
}

/** The events of a row; undefined for a damaged one. */
function eventsOf(taskId: string, row: EventRow): readonly StoredEvent[] | undefined {
  try {
    return soundEventsIn(taskId, row);
  } catch {
    return undefined;
  }
}

/** Leaves out the status message, which no run reads: a damaged one would stop the claim of all tasks. */
export function toClaimed(row: TaskRow): TaskRecord {
  return toTaskRecord({ ...row, status_message: null });
}

/** The changes to the row of an idle task that becomes claimable. */
function claimable({ now }: TaskContext) {
  return { state: 'submitted', status_message: null, status_at: now, expires_at: null } as const;
}

/** Ends the task. Raises its epoch, so that a worker with an expired lease is fenced. */
function endCanceled(context: TaskContext, task: TaskRow): Query<TaskRecord> {
  const row: TaskRow = {
    ...task,
    state: 'canceled',
    status_message: null,
    status_at: context.now,
    expires_at: null,
    head: task.head + 1,
    epoch: task.epoch + 1,
    lease_by: null,
    lease_until: 0,
  };
  const body: EventBody = { type: 'run-end', state: 'canceled', usage: NO_USAGE };
  return saveWithEvent(context, row, { author: task.agent, body });
}

function* saveWithEvent(context: TaskContext, row: TaskRow, event: NewEvent): Query<TaskRecord> {
  yield* saveTask(context, row);
  yield* insertEvents(context, row, [encodeEvent(event)]);
  return toTaskRecord(row);
}

function saveTask({ sql }: TaskContext, row: TaskRow): Query<number> {
  const values = CHANGED_COLUMNS.map((column) => row[column]);
  return run(sql.saveTask, ...values, isTerminal(row.state) ? 1 : 0, row.key);
}

/** Inserts events. Their numbers end at `task.head`, which the task's row already has. */
export function* insertEvents(
  { now, touch }: TaskContext,
  task: Pick<TaskRow, 'id' | 'key' | 'head'>,
  events: readonly EncodedEvent[],
): Query<void> {
  if (events.length === 0) return;
  const before = task.head - events.length;
  for (const insert of insertsOfEvents(task.key, packed(events, before), now)) yield insert;
  touch(task.id, storedEvents(events, before, now));
}

/** Whether no worker owns the task: it was never leased, or its lease was released or has expired. */
function isIdle(task: TaskRow, now: number): boolean {
  return task.lease_by === null || task.lease_until <= now;
}
