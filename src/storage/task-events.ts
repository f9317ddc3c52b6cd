import type { NewEvent, TaskEvent } from '../core/task.js';
import type { NewInput, NewTask, TaskStore } from '../stores/tasks.js';
import { assertUnchanged, eventsIn, isOfSession, type EventRow } from './event-rows.js';
import type { EncodedEvent, StoredEvent } from './rows.js';
import { CALLER_AUTHOR, changeOf, damagedTask, encodeEvent, toTaskEvent } from './rows.js';
import { assertKeys } from '../stores/records.js';
import { all, type SqlDatabase } from '../core/sql.js';
import type { EncodedBatch } from './task-changes.js';
import type { TaskSql } from './task-sql.js';

/** The limits of stored messages and events. */
export interface TaskLimits {
  /** The largest event of a task, in bytes. Default: 256 KiB. */
  readonly eventBytes?: number | undefined;
  /** The time that the id of a message without a context is known, in milliseconds. Default: a day. */
  readonly messageIdMs?: number | undefined;
}

export const DAY_MS = 24 * 60 * 60 * 1_000;

/** Checks the keys of a message and encodes its event. `maxBytes` is the largest event body. */
export function encodeMessage(
  { scope, agent, message, request }: NewTask | NewInput,
  maxBytes: number | undefined,
): EncodedEvent {
  assertKeys({ tenant: scope.tenant, owner: scope.owner, agent, 'message.id': message.id });
  const body = { type: 'message', message, ...(request && { request }) } as const;
  return encodeEvent({ author: CALLER_AUTHOR, body }, maxBytes);
}

export function encodeBatch(events: readonly NewEvent[], maxBytes: number | undefined): EncodedBatch {
  return { change: changeOf(events), events: events.map((event) => encodeEvent(event, maxBytes)) };
}

/**
 * Returns the events after `after` in order. The first of the rows may begin with earlier ones. Throws `LangoError`
 * `storage` for a row that is damaged, and for a missing one: the numbers of a task have no gaps.
 */
export function assertUnbroken(
  taskId: string,
  after: number,
  rows: readonly EventRow[],
): readonly StoredEvent[] {
  let last = after;
  return rows
    .toSorted((a, b) => a.seq - b.seq)
    .flatMap((row) => {
      assertUnchanged(taskId, row);
      const events = eventsIn(row);
      const later = last === after ? events.filter(({ seq }) => seq > after) : events;
      if (later[0]?.seq !== last + 1) throw damagedTask(`Entry ${last + 1} of task ${taskId} is missing.`);
      last = row.seq;
      return later;
    });
}

/** A row with events of a conversation, with the id of its task. */
type SessionRow = EventRow & { readonly task: string };

/** See `TaskStore.readSession`. */
export async function sessionEvents(
  database: SqlDatabase,
  sql: TaskSql,
  [task, limit, { after = '', unfinished = false } = {}]: Parameters<TaskStore['readSession']>,
): Promise<readonly TaskEvent[]> {
  const { contextId, agent, owner, tenant, id } = task;
  const session = { contextId, agent, owner, tenant, id, after, unfinished: unfinished ? 1 : 0, limit };
  const newestFirst = await database.read(() => all<SessionRow>(sql.sessionEvents, session));
  const events = newestFirst.toReversed().flatMap((row) => {
    assertUnchanged(row.task, row);
    return eventsIn(row).map((event) => toTaskEvent(row.task, event));
  });
  return events.filter(({ body }) => isOfSession(body.type)).slice(-limit);
}
