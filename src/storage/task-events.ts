import type { NewEvent } from '../core/task.js';
import type { NewInput, NewTask } from '../stores/tasks.js';
import { CALLER_AUTHOR, changeOf, encodeEvent, type EncodedEvent } from './rows.js';
import { assertKeys } from '../stores/records.js';
import type { EncodedBatch } from './task-changes.js';

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
