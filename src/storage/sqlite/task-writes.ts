import { LEASE_MS, taskOfNew, type AcceptOutcome, type Fence, type NewTask } from '../../stores/tasks.js';
import { isTerminal } from '../../core/task.js';
import type { EncodedEvent, TaskRow } from '../rows.js';
import type { EncodedBatch, EncodedStart, Inbox, SentMessage, TaskContext } from '../task-changes.js';
import { earlierOrRoom, earlierOutcome, fenced, newTaskColumns, numberEvents } from '../task-changes.js';
import type { Value } from './row-insert.js';
import type { SqliteDatabase } from './database.js';
import { taskValues, type Statements } from './statements.js';

/** The context of the writes in this file, which all run inside a transaction, and write nothing if they throw. */
export interface WriteContext extends TaskContext {
  readonly statements: Statements;
  readonly run: SqliteDatabase['run'];
  /** A message without a context is a repeat only of a message that came after this time. */
  readonly knownSince: number;
}

/**
 * Writes inbox row, task row and first events in one transaction. Clients see the task only after its commit. A repeated
 * message writes nothing and returns the outcome of the first one.
 */
export function acceptTask(context: WriteContext, entry: NewTask, start: EncodedStart): AcceptOutcome {
  const { message, firstEvents, worker } = start;
  const waits = worker === undefined;
  if (entry.push || (waits && entry.queueLimit !== undefined)) {
    const earlier = context.run(earlierOrRoom(context, entry, waits));
    if (earlier) return earlier;
  }
  if (!addToInbox(context, entry, { id: entry.id, head: 1 }))
    return context.run(earlierOutcome(context, entry))!;
  const { now, statements } = context;
  const row = {
    ...newTaskColumns(entry, start),
    status_at: now,
    created_at: now,
    epoch: 1,
    lease_until: waits ? 0 : now + LEASE_MS,
    crashes: 0,
    cancel_requested: 0,
  } as const;
  const key = Number(statements.insertTask.run(...taskValues(row)).lastInsertRowid);
  insertEvents(context, { id: row.id, head: row.head, key }, [message, ...firstEvents.events]);
  const task = { scope: entry.scope, taskId: entry.id };
  if (entry.push) context.run(context.pushes.put(task, entry.push, { cursor: 1, now }));
  return { kind: 'accepted', task: taskOfNew(entry, now), seq: 1, leased: !waits };
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
