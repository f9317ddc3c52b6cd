import { LangoError } from '../../core/errors.js';
import { NO_USAGE } from '../../core/model.js';
import type { AcceptOutcome, EarlierOutcome, Fence, NewInput, NewTask } from '../../stores/tasks.js';
import { LEASE_MS, taskOfNew } from '../../stores/tasks.js';
import type { EventBody, NewEvent, Scope, TaskRecord } from '../../core/task.js';
import { isTerminal } from '../../core/task.js';
import type { EncodedEvent, EventRow, TaskChange, TaskRow } from '../rows.js';
import { CALLER_AUTHOR, checksumOf, encodeEvent, toTaskRecord } from '../rows.js';
import type { Touch } from './group-commit.js';
import type { PushWrites } from './push-store.js';
import type { Value } from './prepared.js';
import type { Statements } from './statements.js';
import { changedValues, taskValues } from './statements.js';

/** The context of the writes in this file. They all run inside a transaction, and have written nothing if they throw. */
export interface WriteContext {
  readonly statements: Statements;
  readonly pushes: PushWrites;
  /** The time of the store's clock, in milliseconds since the epoch. */
  readonly now: number;
  /** A message without a context is a repeat only of one that came after this time. */
  readonly knownSince: number;
  readonly touch: Touch;
}

/** Events to be written together, with the change they make to the row of their task. */
export interface EncodedBatch {
  readonly change: TaskChange;
  readonly events: readonly EncodedEvent[];
}

/** The first events of a new task: its message, and the events its run has written already. */
interface EncodedStart {
  readonly message: EncodedEvent;
  readonly firstEvents: EncodedBatch;
  /** The worker that gets the lease. */
  readonly worker: string | undefined;
}

/**
 * Writes inbox row, task row and first events in one transaction. Clients see the task only after its commit. A repeated
 * message writes nothing and returns the outcome of the first one.
 */
export function acceptTask(
  context: WriteContext,
  entry: NewTask,
  { message, firstEvents, worker }: EncodedStart,
): AcceptOutcome {
  const task = { scope: entry.scope, taskId: entry.id };
  if (entry.push) {
    // The limit is checked before the first write, and a repeated message does not count against it.
    const earlier = earlierOutcome(context, entry);
    if (earlier) return earlier;
    context.pushes.assertRoom(task, entry.push);
  }
  if (worker === undefined && entry.queueLimit !== undefined) {
    const earlier = earlierOutcome(context, entry);
    if (earlier) return earlier;
    assertQueueRoom(context, entry, entry.queueLimit);
  }
  if (!addToInbox(context, entry, { id: entry.id, head: 1 })) return earlierOutcome(context, entry)!;
  const { now, statements } = context;
  const { change, events } = firstEvents;
  const { tenant, owner } = entry.scope;
  const isLeased = worker !== undefined;
  const row = {
    id: entry.id,
    tenant,
    owner,
    agent: entry.agent,
    context: entry.contextId,
    parent: entry.parentTaskId ?? null,
    authority: JSON.stringify(entry.grant),
    level: entry.grant.chain.length,
    state: change.state ?? 'submitted',
    status_message: change.statusMessage,
    status_at: now,
    created_at: now,
    head: 1 + events.length,
    epoch: 1,
    lease_by: change.endsRun ? null : (worker ?? null),
    lease_until: isLeased ? now + LEASE_MS : 0,
    crashes: 0,
    expires_at: change.expiresAt ?? null,
    cancel_requested: 0,
  } as const;
  const key = Number(statements.insertTask.run(...taskValues(row)).lastInsertRowid);
  insertEvents(context, { id: row.id, head: row.head, key }, [message, ...events]);
  if (entry.push) context.pushes.put(task, entry.push, 1);
  return { kind: 'accepted', task: taskOfNew(entry, now), seq: 1, leased: isLeased };
}

const QUEUE_RETRY_MS = 2_000;

/** Throws `too-many` for an owner with so many unfinished tasks that a further one may not wait. */
function assertQueueRoom({ statements }: WriteContext, { scope, grant }: NewTask, limit: number): void {
  const { tenant, owner } = scope;
  const count = statements.countLive.get(grant.chain.length, tenant, owner, limit)?.count ?? 0;
  if (count < limit) return;
  throw new LangoError(
    'too-many',
    `${limit} tasks of this caller are unfinished (server.limits.queuedTasks).`,
    {
      hint: 'Send further tasks when some of them have ended.',
      retryable: true,
      retryAfterMs: QUEUE_RETRY_MS,
    },
  );
}

/** Adds a message to a task. The state changes only if the task is idle: the worker of a running task reads the message. */
export function addInput(
  context: WriteContext,
  entry: NewInput,
  event: EncodedEvent,
): AcceptOutcome | { readonly kind: 'not-found' | 'already-ended' } {
  const task = context.statements.task.get(entry.taskId, entry.scope.tenant, entry.scope.owner);
  if (task?.agent !== entry.agent) return { kind: 'not-found' };
  const sent = { ...entry, givenContextId: task.context };
  const earlier = earlierOutcome(context, sent);
  if (earlier) return earlier;
  if (isTerminal(task.state)) return { kind: 'already-ended' };
  if (entry.push) context.pushes.assertRoom(entry, entry.push);
  const idle = isIdle(task, context.now);
  const leased = entry.lease !== undefined && idle;
  const row: TaskRow = {
    ...task,
    ...(idle ? claimable(context) : {}),
    head: task.head + 1,
    ...(leased ? { epoch: task.epoch + 1, lease_by: entry.lease, lease_until: context.now + LEASE_MS } : {}),
  };
  addToInbox(context, sent, row);
  context.statements.saveTask.run(...changedValues(row));
  insertEvents(context, row, [event]);
  if (entry.push) context.pushes.put(entry, entry.push, row.head);
  return { kind: 'accepted', task: toTaskRecord(row), seq: row.head, leased };
}

/**
 * The one conditional append: it succeeds only if task id and epoch still match and the task has not ended. Returns the new
 * head. Otherwise throws `LangoError` `fenced`: somebody else owns the task, so the caller must stop and drop its result.
 */
export function appendEvents(context: WriteContext, fence: Fence, { change, events }: EncodedBatch): number {
  const { statements, now } = context;
  const task = statements.fenced.get(fence.taskId, fence.epoch);
  if (!task) throw new LangoError('fenced', 'The task has ended, or another worker owns it now.');
  const head = task.head + events.length;
  const leaseUntil = now + LEASE_MS;
  if (change.state === undefined) {
    statements.advance.run(head, leaseUntil, change.isStep ? 1 : 0, task.key);
  } else {
    const { state, statusMessage, isStep, expiresAt = null } = change;
    const ends = change.endsRun ? 1 : 0;
    statements.advanceTo.run(
      ...([head, state, statusMessage, now, expiresAt, isStep ? 1 : 0, leaseUntil] as const),
      ...([ends, ends, isTerminal(state) ? 1 : 0, task.key] as const),
    );
  }
  insertEvents(context, { id: fence.taskId, key: task.key, head }, events);
  return head;
}

/** Ends an idle task at once, or asks the worker of a leased task. Undefined if the task is not in this scope. */
export function cancelTask(context: WriteContext, scope: Scope, taskId: string): TaskRecord | undefined {
  const task = context.statements.task.get(taskId, scope.tenant, scope.owner);
  if (!task) return undefined;
  if (isTerminal(task.state)) return toTaskRecord(task);
  if (isIdle(task, context.now)) return endCanceled(context, task);
  if (task.cancel_requested === 1) return toTaskRecord(task);
  const row: TaskRow = { ...task, head: task.head + 1, cancel_requested: 1 };
  return saveWithEvent(context, row, { author: CALLER_AUTHOR, body: { type: 'cancel-request' } });
}

interface Claim {
  readonly worker: string;
  readonly agents: readonly string[];
  readonly free: (level: number) => number;
  /** The owner that was served last at each level. `claimTasks` continues after it. */
  readonly served: Map<number, Scope>;
}

const NO_OWNER: Scope = { tenant: '', owner: '' };

/**
 * Claims tasks level by level, of each owner in turn the oldest, so that nobody waits for all tasks of somebody else. Before
 * that, tasks with an expired question become claimable again.
 */
export function claimTasks(context: WriteContext, claim: Claim): readonly TaskRecord[] {
  const { statements, now } = context;
  for (const task of statements.expired.all(now, JSON.stringify(claim.agents))) {
    const row = { ...task, ...claimable(context), head: task.head + 1 };
    saveWithEvent(context, row, { author: task.agent, body: { type: 'question-expiry' } });
  }
  const claimed: TaskRecord[] = [];
  for (let row = statements.level.get(-1); row !== undefined; row = statements.level.get(row.level)) {
    claimed.push(...claimLevel(context, claim, row.level));
  }
  return claimed;
}

function claimLevel(
  { statements, now }: WriteContext,
  { worker, agents, free, served }: Claim,
  level: number,
): readonly TaskRecord[] {
  const claimed: TaskRecord[] = [];
  const next = ({ tenant, owner }: Scope) =>
    statements.claimNext.get(worker, now + LEASE_MS, level, tenant, owner, now, JSON.stringify(agents));
  for (let left = free(level); left > 0; left -= 1) {
    const row = next(served.get(level) ?? NO_OWNER) ?? next(NO_OWNER);
    if (!row) break;
    served.set(level, { tenant: row.tenant, owner: row.owner });
    claimed.push(toClaimed(row));
  }
  return claimed;
}

/** Claims one task that may have crashed its process, if no other such task is in work. */
export function claimSuspect(
  { statements, now }: WriteContext,
  worker: string,
  agents: readonly string[],
): TaskRecord | undefined {
  const row = statements.claimSuspect.get(worker, now + LEASE_MS, JSON.stringify(agents), now);
  return row && toClaimed(row);
}

/** Without the status message, which no run reads: a damaged one must not keep all tasks from being claimed. */
function toClaimed(row: TaskRow): TaskRecord {
  return toTaskRecord({ ...row, status_message: null });
}

/** The changes to the row of an idle task that becomes claimable. */
function claimable({ now }: WriteContext) {
  return { state: 'submitted', status_message: null, status_at: now, expires_at: null } as const;
}

/** Ends the task. Raises its epoch, so that a worker with an expired lease is fenced. */
function endCanceled(context: WriteContext, task: TaskRow): TaskRecord {
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

function saveWithEvent(context: WriteContext, row: TaskRow, event: NewEvent): TaskRecord {
  context.statements.saveTask.run(...changedValues(row));
  insertEvents(context, row, [encodeEvent(event)]);
  return toTaskRecord(row);
}

type SentMessage = Pick<NewTask, 'scope' | 'agent' | 'message' | 'givenContextId' | 'requestHash'>;

/** Returns false and writes nothing if the message was sent before. */
function addToInbox(
  { statements, now, knownSince }: WriteContext,
  sent: SentMessage,
  { id, head }: { readonly id: string; readonly head: number },
): boolean {
  const values = [...inboxKey(sent), sent.requestHash, id, head, now, knownSince] as const;
  return statements.insertInbox.run(...values).changes === 1;
}

function inboxKey({ scope: { tenant, owner }, agent, givenContextId = '', message }: SentMessage) {
  return [tenant, owner, agent, givenContextId, message.id] as const;
}

/** The outcome of an earlier send of this message; undefined if there was none. */
export function earlierOutcome(
  { statements, knownSince }: Pick<WriteContext, 'statements' | 'knownSince'>,
  entry: SentMessage,
): EarlierOutcome | undefined {
  const { tenant, owner } = entry.scope;
  const sent = statements.inbox.get(...inboxKey(entry), knownSince);
  if (!sent) return undefined;
  const task = statements.task.get(sent.task, tenant, owner);
  if (!task || sent.request_hash !== entry.requestHash) return { kind: 'conflict' };
  return { kind: 'repeated', task: toTaskRecord(task), seq: sent.seq };
}

/** Inserts events. Their numbers end at `task.head`, which the task's row already has. */
export function insertEvents(
  { statements, now, touch }: WriteContext,
  task: { readonly id: string; readonly key: number; readonly head: number },
  events: readonly EncodedEvent[],
): void {
  if (events.length === 0) return;
  const before = task.head - events.length;
  const rows: EventRow[] = [];
  const values: Value[] = [];
  for (const { author, type, body } of events) {
    const seq = before + rows.length + 1;
    const checksum = checksumOf({ seq, at: now, author, body });
    rows.push({ seq, at: now, author, body, checksum });
    values.push(task.key, seq, now, author, type, body, checksum);
  }
  statements.insertEvents.run(values);
  touch(task.id, rows);
}

/** True if no worker owns the task: it was never leased, or the lease was released or has expired. */
function isIdle(task: TaskRow, now: number): boolean {
  return task.lease_by === null || task.lease_until <= now;
}
