import type { Scope, TaskEvent } from './task.js';
import type { Trace } from './trace.js';

/** Where news of a task are to be sent (A2A 1.0 section 4.3). */
interface PushTarget {
  /** Unique within its task. */
  readonly id: string;
  readonly url: string;
  /** The HTTP authentication scheme that the credentials are for. */
  readonly scheme: string | undefined;
  /** What only the receiver may see, sealed: see `PushSecrets`. Undefined when there is none. */
  readonly sealed: string | undefined;
  /** The protocol version whose bodies the client reads. */
  readonly version: '1.0' | '0.3';
}

export interface PushSecrets {
  readonly token?: string;
  readonly credentials?: string;
}

/** Keeps secrets of push configs unreadable in the database. */
export interface Sealer {
  seal(text: string): string;
  /** Throws `storage` when `sealed` was not made with this key, or was changed. */
  open(sealed: string): string;
}

export interface PushConfig extends PushTarget {
  readonly taskId: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

/** How many there may be. */
export interface PushCaps {
  readonly perTask: number;
  readonly perOwner: number;
}

/** A config to be stored in the transaction that accepts a message. */
export interface NewPush {
  readonly target: PushTarget;
  readonly caps: PushCaps;
}

/** Whose configs: a task of somebody. */
export interface PushTask {
  readonly scope: Scope;
  readonly taskId: string;
}

/** A config with how far its deliveries got. */
export interface PushDelivery extends PushConfig {
  /** Of the config in the store, time-ordered; a part of every delivery's id. */
  readonly key: string;
  readonly agent: string;
  readonly contextId: string;
  /** That the task is part of. */
  readonly trace: Trace | undefined;
  /** The `seq` of the last event that was delivered, or was there before the config. */
  readonly cursor: number;
  /** The `seq` of the delivery that was begun; 0 when none was. A retry ends with the same event. */
  readonly upTo: number;
  /** Failed ones of the delivery that was begun. */
  readonly attempts: number;
  /** Milliseconds since the epoch before which nothing is sent. */
  readonly nextAt: number;
}

export type PushOutcome =
  | { readonly kind: 'delivered'; readonly cursor: number }
  | { readonly kind: 'failed'; readonly nextAt: number; readonly reason: string }
  /** The task has ended and its last event was delivered: the config goes with it. */
  | { readonly kind: 'ended' }
  | { readonly kind: 'given-up'; readonly reason: string };

/** How deliveries stand, over all owners: for the operator. */
export interface PushCounts {
  readonly active: number;
  /** Those whose last attempt failed. */
  readonly failing: number;
  /** In the last days; kept for the operator, not shown to clients. */
  readonly givenUp: number;
}

/** Durable state of push notifications; the rules of `TaskStore` hold. A task that is not in the scope has no configs. */
export interface PushStore {
  /**
   * Adds a config, or replaces the one of that id. Its first event is the next one of the task; that of an
   * ended task is its last. Errors: `not-found` (no such task in this scope), `too-many`.
   */
  save(place: PushTask, push: NewPush): Promise<PushConfig>;
  get(place: PushTask, id: string): Promise<PushConfig | undefined>;
  /** By id, those after `after`; at most `limit`. */
  list(place: PushTask, after: string, limit: number): Promise<readonly PushConfig[]>;
  /** Does nothing when there is none. */
  delete(place: PushTask, id: string): Promise<void>;

  /** What deliveries are due of, now or later: all active configs by key, those after `after`. */
  listActive(after: string, limit: number): Promise<readonly PushDelivery[]>;
  listActiveOf(taskId: string): Promise<readonly PushDelivery[]>;
  getActive(key: string): Promise<PushDelivery | undefined>;
  /**
   * Takes the next delivery, up to the event `upTo`, for `worker`; false when the config is gone or has moved on, or
   * another worker is at it. Lasts for `PUSH_LEASE_MS`.
   */
  claim(work: PushDelivery, upTo: number, worker: string): Promise<boolean>;
  /** Ends what `claim` began. Nothing happens when the config was deleted or replaced meanwhile. */
  settle(key: string, worker: string, outcome: PushOutcome): Promise<void>;
  /** Gives back what `worker` claimed and did not settle. */
  release(worker: string): Promise<void>;
  counts(): Promise<PushCounts>;
}

/** Longer than an attempt may take, in milliseconds of the store's clock. */
export const PUSH_LEASE_MS = 60_000;

/** Makes requests of events. Implemented by the protocol border. */
export interface PushSender {
  /** Whether a stream would show the event. */
  shows(event: TaskEvent): boolean;
  /**
   * Resolves once the receiver took it. Rejects with a `LangoError`: `retryable` when trying again makes sense, not
   * before `retryAfterMs`.
   */
  send(work: PushDelivery, event: TaskEvent, signal: AbortSignal): Promise<void>;
}
