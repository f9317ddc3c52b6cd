import type { Message } from './message.js';
import type { NewPush } from './push.js';
import type { Grant, Scope, TaskEvent, TaskRecord, TaskState } from './task.js';

/** What the protocol border needs of the task log. Implemented by the journal ring. */
export interface Journal {
  /**
   * Accepts a message: a new task, or a follow-up when `taskId` is set. Resolves after commit. The same
   * message id with the same content gives the same task again (`repeated`), also across restarts.
   * Errors: `not-found` (no such task in this scope), `already-ended`, `conflict` (id used with other
   * content), `invalid-input` (context of another task), `too-many`.
   */
  submit(submission: Submission): Promise<Accepted>;
  /** Undefined also for a task of somebody else. */
  get(scope: Scope, taskId: string): Promise<TaskRecord | undefined>;
  list(scope: Scope, query: TaskQuery): Promise<TaskPage>;
  /**
   * Asks for cancellation and resolves once the task is terminal or `waitMs` passed. Idempotent on a
   * canceled task. Errors: `not-found`, `not-cancelable` (ended otherwise).
   */
  cancel(scope: Scope, taskId: string): Promise<TaskRecord>;
  /** Events with `seq > after`, in order, at most `limit`. The caller has checked the scope. */
  read(taskId: string, after: number, limit: number): Promise<readonly TaskEvent[]>;
  /**
   * All events with `seq > after`, as they become durable, in batches in order. Ends after the terminal
   * event, or when `signal` aborts (without an error).
   */
  follow(taskId: string, after: number, signal: AbortSignal): AsyncIterable<readonly TaskEvent[]>;
}

export interface Submission {
  readonly scope: Scope;
  readonly agent: string;
  readonly message: Message;
  readonly contextId: string | undefined;
  readonly taskId: string | undefined;
  readonly parentTaskId: string | undefined;
  readonly grant: Grant;
  /** Who is to be told of what comes of it; stored with the message, or not at all. */
  readonly push?: NewPush | undefined;
}

export interface Accepted {
  readonly task: TaskRecord;
  /** The `seq` of the message's event: what a stream of this request starts after. */
  readonly seq: number;
  readonly repeated: boolean;
}

export interface TaskQuery {
  readonly agent: string;
  readonly contextId?: string;
  readonly state?: TaskState;
  /** Milliseconds since the epoch, inclusive (A2A 1.0 section 3.1.4). */
  readonly statusFrom?: number;
  readonly pageSize: number;
  readonly pageToken?: string;
}

export interface TaskPage {
  /** Newest status first. */
  readonly tasks: readonly TaskRecord[];
  /** Empty at the end. */
  readonly nextPageToken: string;
  readonly totalSize: number;
}
