import type { Scope } from '../../core/task.js';

/** One or two sentences on what happened in a conversation. */
export interface Observation {
  readonly id: string;
  /** With the owner and the context, the agent identifies the session. */
  readonly agent: string;
  readonly contextId: string;
  readonly text: string;
  /** The time of the newest event that it is about, in milliseconds since the epoch. */
  readonly at: number;
  /** The first and the last task that it was derived from. */
  readonly tasks: readonly [first: string, last: string];
  /** The author: a model's id, `rules`, or the agent that recorded it. */
  readonly by: string;
  /** Whether it may come from text from outside. */
  readonly fromOutside: boolean;
}

export type NewObservation = Omit<Observation, 'id' | 'agent' | 'contextId'>;

/** A summary of several observations. */
export interface Reflection {
  readonly id: string;
  readonly text: string;
  /** The range of the observations' dates, in milliseconds since the epoch. */
  readonly from: number;
  readonly to: number;
  readonly by: string;
  /** Whether one of the observations may come from text from outside. */
  readonly fromOutside: boolean;
}

export interface ObservationBatch {
  readonly agent: string;
  readonly contextId: string;
  /** The mark before this batch: the last observed task; undefined for the first batch. */
  readonly after: string | undefined;
  /** The new mark: tasks up to this one are observed. */
  readonly upTo: string;
  readonly observations: readonly NewObservation[];
}

export interface ObservationQuery {
  readonly contextId?: string;
  /** Only observations without a reflection. */
  readonly open?: boolean;
  readonly limit: number;
  /** Only older observations. */
  readonly before?: MemoryPosition;
}

/** A position in the list of observations or reflections, which is sorted by time. */
export interface MemoryPosition {
  readonly at: number;
  readonly id: string;
}

/**
 * An owner's observations and reflections. The messages themselves are in the journal. Writes are atomic, resolve after
 * commit and reject with code `storage`. Forgetting runs in steps, so that other work is not held up; when one fails, a
 * repeated call continues.
 */
export interface MemoryStore {
  /** Returns the mark of a session: its last observed task. */
  observedUpTo(scope: Scope, agent: string, contextId: string): Promise<string | undefined>;
  /** Writes observations and the mark in one transaction. False, with nothing written, when the mark is not `after`. */
  observe(scope: Scope, batch: ObservationBatch): Promise<boolean>;
  /** Writes an observation that an agent makes by a tool call; `id` is the key of the call, and a repeat changes nothing. */
  record(scope: Scope, observation: Observation): Promise<void>;
  /** Lists the newest observations, the newest first. */
  observations(scope: Scope, query: ObservationQuery): Promise<readonly Observation[]>;
  /** Writes a reflection of these observations. False, with nothing written, when one of them is gone or has a reflection. */
  reflect(
    scope: Scope,
    reflection: Omit<Reflection, 'id'>,
    observationIds: readonly string[],
  ): Promise<boolean>;
  /** Lists the newest reflections, the newest first; with `before` only older ones. */
  reflections(scope: Scope, limit: number, before?: MemoryPosition): Promise<readonly Reflection[]>;
  /**
   * Removes the observations of a context, the reflections made from any of them, and the mark. Other observations of
   * these reflections have no reflection again. Resolves with the number of removed entries.
   */
  forgetContext(scope: Scope, contextId: string): Promise<number>;
  forgetAll(scope: Scope): Promise<number>;
}
