import type { NewEvent, TaskEvent } from '../core/task.js';
import type { NewInput, NewTask, TaskStore } from '../stores/tasks.js';
import { isOfSession, mayBeOfSession, soundEventsIn, type EventRow } from './event-rows.js';
import { CALLER_AUTHOR, changeOf, encodeEvent, toTaskEvent, type EncodedEvent } from './rows.js';
import { assertKeys } from '../stores/records.js';
import { all, type SqlDatabase } from '../core/sql.js';
import type { EncodedBatch } from './task-changes.js';
import { originOf, sharedEvents } from './forks.js';
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

/** A row with events of a conversation, with the id of its task. */
type SessionRow = EventRow & { readonly task: string };

/** See `TaskStore.readSession`. */
export async function sessionEvents(
  database: SqlDatabase,
  sql: TaskSql,
  [task, limit, { after = '', unfinished = false } = {}]: Parameters<TaskStore['readSession']>,
): Promise<readonly TaskEvent[]> {
  return database.read(function* () {
    const { contextId, agent, owner, tenant, id } = yield* originOf(sql, task);
    const session = { contextId, agent, owner, tenant, id, after, unfinished: unfinished ? 1 : 0, limit };
    const rows = yield* all<SessionRow>(sql.sessionEvents, session);
    const newestFirst: TaskEvent[] = [];
    for (const row of rows) {
      if (newestFirst.length >= limit) break;
      for (const event of soundEventsIn(row.task, row).toReversed()) {
        if (!mayBeOfSession(event)) continue;
        const parsed = toTaskEvent(row.task, event);
        const isFork = parsed.body.type === 'fork';
        const read = isFork ? (yield* sharedEvents(sql, row.task)).toReversed() : [parsed];
        newestFirst.push(...read.filter(({ body }) => isOfSession(body.type)));
      }
    }
    return newestFirst.slice(0, limit).reverse();
  });
}
