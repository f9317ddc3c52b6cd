import type { NewEvent, TaskEvent } from '../core/task.js';
import type { NewInput, NewTask, TaskStore } from '../stores/tasks.js';
import type { EncodedEvent, EventRow } from './rows.js';
import { assertUnchanged, CALLER_AUTHOR, changeOf, damagedTask, encodeEvent, toTaskEvent } from './rows.js';
import { assertKeys } from '../stores/records.js';
import { all, type SqlDatabase } from '../core/sql.js';
import type { EncodedBatch } from './task-changes.js';
import type { TaskSql } from './task-sql.js';

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

/** Sorts the events after `after` and checks that none is missing or damaged. The numbers of a task have no gaps. */
export function assertUnbroken(
  taskId: string,
  after: number,
  rows: readonly EventRow[],
): readonly EventRow[] {
  const sorted = rows.toSorted((a, b) => a.seq - b.seq);
  sorted.forEach((row, index) => {
    assertUnchanged(taskId, row);
    if (row.seq !== after + index + 1)
      throw damagedTask(`Entry ${after + index + 1} of task ${taskId} is missing.`);
  });
  return sorted;
}

/** An event of a conversation, with the id of its task. */
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
  return newestFirst.toReversed().map((row) => {
    assertUnchanged(row.task, row);
    return toTaskEvent(row.task, row);
  });
}
