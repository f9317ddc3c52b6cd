import { type Scope, type TaskEvent, type Trace } from './task.js';

/** The receiver of a task's notifications (A2A 1.0 section 4.3). */
interface PushTarget {
  /** Unique within its task. */
  readonly id: string;
  readonly url: string;
  /** The HTTP authentication scheme that the credentials are for. */
  readonly scheme: string | undefined;
  /**
   * The token, the credentials and the extensions that were asked for, as JSON; undefined without any of them. It is sealed
   * when it holds a secret: replicas with other keys can read it otherwise.
   */
  readonly sealed: string | undefined;
  /** The protocol version of the notifications. */
  readonly version: '1.0' | '0.3';
}

/** Encrypts the secrets of push configs in the database. */
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

/** A config to be stored in the transaction that accepts a message. */
export interface NewPush {
  readonly target: PushTarget;
  readonly caps: { readonly perTask: number; readonly perOwner: number }; // The most push configs.
}

export interface PushTask {
  readonly scope: Scope;
  readonly taskId: string;
}

export interface PushDelivery extends PushConfig {
  /** Identifies the config in the store, time-ordered; a part of every delivery's id. */
  readonly key: string;
  readonly agent: string;
  readonly contextId: string;
  readonly trace: Trace | undefined;
  /** The `seq` of the last event that was delivered, or that preceded the config. */
  readonly cursor: number;
  /** The last `seq` of the delivery that is due; 0 for the next event. At `cursor`, it is the Task as of that event. */
  readonly upTo: number;
  /** The failed attempts of that delivery. */
  readonly attempts: number;
  /** The time of the next attempt, in milliseconds since the epoch. */
  readonly nextAt: number;
}

/** The push configs of tasks. A task in another scope has none. */
export interface PushConfigStore {
  /** Adds or replaces a config; the Task as it is comes first. Rejects with `not-found` or `too-many`. */
  save(place: PushTask, push: NewPush): Promise<PushConfig>;
  get(place: PushTask, id: string): Promise<PushConfig | undefined>;
  /** Lists at most `limit` configs after `after`, by id. */
  list(place: PushTask, after: string, limit: number): Promise<readonly PushConfig[]>;
  /** Does nothing without such a config. */
  delete(place: PushTask, id: string): Promise<void>;
}

/** Sends events to receivers. The protocol border implements it. */
export interface PushSender {
  /**
   * Returns the events that the receiver gets, of consecutive ones that begin with the event before the first that is due.
   */
  shown(work: PushDelivery, events: readonly TaskEvent[]): readonly TaskEvent[];
  /** Resolves once the receiver accepted the event (or the Task). A `retryable` rejection asks for another attempt. */
  send(work: PushDelivery, event: TaskEvent, signal: AbortSignal): Promise<void>;
}
