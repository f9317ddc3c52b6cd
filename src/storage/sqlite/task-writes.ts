import { LEASE_MS, taskOfNew, type AcceptOutcome, type Fence, type NewTask } from '../../stores/tasks.js';
import { isTerminal } from '../../core/task.js';
import type { EncodedEvent, TaskRow } from '../rows.js';
import type { EncodedBatch, Inbox, SentMessage, TaskContext } from '../task-changes.js';
import { assertQueueRoom, earlierOutcome, fenced, numberEvents } from '../task-changes.js';
import type { Value } from './prepared.js';
import type { StatementRunner } from './statement-runner.js';
import { taskValues, type Statements } from './statements.js';

/** The context of the writes in this file, which all run inside a transaction, and write nothing if they throw. */
export interface WriteContext extends TaskContext {
  readonly statements: Statements;
  readonly runner: StatementRunner;
  /** A message without a context is a repeat only of a message that came after this time. */
  readonly knownSince: number;
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
    const earlier = context.runner.run(earlierOutcome(context, entry));
    if (earlier) return earlier;
    context.runner.run(context.pushes.assertRoom(task, entry.push));
  }
  if (worker === undefined && entry.queueLimit !== undefined) {
    const earlier = context.runner.run(earlierOutcome(context, entry));
    if (earlier) return earlier;
    context.runner.run(assertQueueRoom(context.sql, entry, entry.queueLimit));
  }
  if (!addToInbox(context, entry, { id: entry.id, head: 1 }))
    return context.runner.run(earlierOutcome(context, entry))!;
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
  if (entry.push) context.runner.run(context.pushes.put(task, entry.push, { cursor: 1, now }));
  return { kind: 'accepted', task: taskOfNew(entry, now), seq: 1, leased: isLeased };
}

/**
 * The only conditional append: it succeeds if task id and epoch still match and the task has not ended. Returns the new
 * head. Otherwise throws `LangoError` `fenced`: another worker owns the task, so the caller must stop and drop its result.
 */
export function appendEvents(context: WriteContext, fence: Fence, { change, events }: EncodedBatch): number {
  const { statements, now } = context;
  const task = statements.fenced.get(fence.taskId, fence.epoch);
  if (!task) throw fenced();
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

/** Returns false and writes nothing if the message was sent before. */
function addToInbox(
  { statements, now, knownSince }: Pick<WriteContext, 'statements' | 'now' | 'knownSince'>,
  sent: SentMessage,
  { id, head }: Pick<TaskRow, 'id' | 'head'>,
): boolean {
  const values = [...inboxKey(sent), sent.requestHash, id, head, now, knownSince] as const;
  return statements.insertInbox.run(...values).changes === 1;
}

/* These generators run their statements themselves, so they yield none. */
/* eslint-disable require-yield */
export function inboxOf(statements: Statements, knownSince: () => number): Inbox {
  return {
    *find(sent) {
      return statements.inbox.get(...inboxKey(sent), knownSince());
    },
    *add(sent, task, { now }) {
      return addToInbox({ statements, now, knownSince: knownSince() }, sent, task);
    },
  };
}

function inboxKey({ scope: { tenant, owner }, agent, givenContextId = '', message }: SentMessage) {
  return [tenant, owner, agent, givenContextId, message.id] as const;
}

/** Inserts events. Their numbers end at `task.head`, which the task's row already has. */
function insertEvents(
  { statements, now, touch }: WriteContext,
  task: { readonly id: string; readonly key: number; readonly head: number },
  events: readonly EncodedEvent[],
): void {
  if (events.length === 0) return;
  const rows = numberEvents(events, task.head - events.length, now);
  const values: Value[] = [];
  for (const { seq, author, type, body, checksum } of rows) {
    values.push(task.key, seq, now, author, type, body, checksum);
  }
  statements.insertEvents.run(values);
  touch(task.id, rows);
}
