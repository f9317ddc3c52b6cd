import { LangoError } from './errors.js';
import type { JsonObject } from './json.js';
import type { Message } from './message.js';
import type { NewPush } from './push.js';
import type { Grant, LiveText, Scope, TaskEvent, TaskRecord, TaskState } from './task.js';

/** The task log, as the protocol border uses it. The journal ring implements it. */
export interface Journal {
  /**
   * Accepts a message: a new task, or a follow-up when `taskId` is set. Resolves after commit. The same message id with the
   * same content gives the same task again (`repeated`), also after a restart. Rejects with `not-found` (no such task in
   * this scope), `already-ended`, `conflict` (id used with other content), `invalid-input` (context of another task),
   * `too-many` or `fenced` (see `ifHead`).
   */
  submit(submission: Submission): Promise<Accepted>;
  /** Undefined for a task that is absent or in another scope. */
  get(scope: Scope, taskId: string): Promise<TaskRecord | undefined>;
  list(scope: Scope, query: TaskQuery): Promise<TaskPage>;
  /**
   * Requests cancellation and resolves once the task has ended, or after a few seconds. Idempotent on a canceled task.
   * Rejects with `not-found`, or with `not-cancelable` when the task ended in another state.
   */
  cancel(scope: Scope, taskId: string): Promise<TaskRecord>;
  /** Reads at most `limit` events with `seq > after`, in order: at once, if it can. The caller has checked the scope. */
  read(taskId: string, after: number, limit: number): readonly TaskEvent[] | Promise<readonly TaskEvent[]>;
  /** Yields the events with `seq > after` once durable, in order, in batches. Ends after the terminal event or an abort. */
  follow(taskId: string, after: number, signal: AbortSignal): AsyncIterable<readonly TaskEvent[]>;
  /** The same, and after the durable events what the task's run in this process has said since. Read it, or call `return`. */
  watch(taskId: string, after: number, signal: AbortSignal): AsyncIterableIterator<Watched, undefined>;
}

/** One of both may be empty. */
export interface Watched {
  readonly events: readonly TaskEvent[];
  /** All text that follows the newest event, in order. It is given again, longer, until it is durable. */
  readonly live: readonly LiveText[];
}

export interface Submission {
  readonly scope: Scope;
  readonly agent: string;
  readonly message: Message;
  /** The task must have this head, unless the message is a repeated one. */
  readonly ifHead?: number;
  readonly contextId: string | undefined;
  readonly taskId: string | undefined;
  readonly parentTaskId: string | undefined;
  readonly grant: Grant;
  /** False when the caller may not decide approvals: a decision is refused with `forbidden`. */
  readonly mayDecide?: boolean;
  readonly request?: JsonObject;
  /** A push config that is stored in the same transaction as the message. */
  readonly push?: NewPush | undefined;
}

export interface Accepted {
  readonly task: TaskRecord;
  /** The `seq` of the message's event. A stream of this request starts after it. */
  readonly seq: number;
  readonly repeated: boolean;
}

export interface TaskQuery {
  readonly agent: string;
  readonly contextId?: string;
  readonly state?: TaskState;
  /** Inclusive, in milliseconds since the epoch (A2A 1.0 section 3.1.4). */
  readonly statusFrom?: number;
  readonly pageSize: number;
  readonly pageToken?: string;
}

export interface TaskPage {
  /** The newest status first. */
  readonly tasks: readonly TaskRecord[];
  /** Empty on the last page. */
  readonly nextPageToken: string;
  readonly totalSize: number;
}

/** Returns a task of an owner. Rejects with `not-found` for one that is not in the scope. */
export async function taskOfOwner(
  journal: Pick<Journal, 'get'>,
  scope: Scope,
  taskId: string,
): Promise<TaskRecord> {
  const task = await journal.get(scope, taskId);
  if (task) return task;
  const message = `You have no task "${taskId}" on this server.`;
  throw new LangoError('not-found', message, { hint: 'See: lango tasks list' });
}

/** The events that one read loads. */
const PAGE = 1_000;

/** Yields the events of a log after the event `after`, up to and including the event `head`, in pages. */
export async function* readPages(
  journal: Pick<Journal, 'read'>,
  taskId: string,
  { after, head, size = PAGE }: { readonly after: number; readonly head: number; readonly size?: number },
): AsyncGenerator<readonly TaskEvent[], void, undefined> {
  for (let read = after; read < head;) {
    const events = await journal.read(taskId, read, Math.min(size, head - read));
    if (events.length === 0) return;
    read = events.at(-1)!.seq;
    yield events;
  }
}
