import type { Run } from './run.js';
import type { Scope, TaskRecord } from './task.js';

/** Something that happened in a conversation, in a sentence or two. */
export interface Observation {
  readonly id: string;
  /** Whose conversation it was: the session is that of owner, agent and context. */
  readonly agent: string;
  readonly contextId: string;
  readonly text: string;
  /** When the newest of what it tells happened, in milliseconds since the epoch. */
  readonly at: number;
  /** The range of tasks whose messages it comes from, first and last. */
  readonly tasks: readonly [first: string, last: string];
  /** Who made it: a model's id, `rules`, or the agent that recorded it. */
  readonly by: string;
  /** Whether it may stem from text of outside. */
  readonly fromOutside: boolean;
}

export type NewObservation = Omit<Observation, 'id' | 'agent' | 'contextId'>;

/** What several observations come to. */
export interface Reflection {
  readonly id: string;
  readonly text: string;
  /** The dates of the observations it stands for, in milliseconds since the epoch. */
  readonly from: number;
  readonly to: number;
  readonly by: string;
  /** Whether one of them may stem from text of outside. */
  readonly fromOutside: boolean;
}

export interface ObservationBatch {
  readonly agent: string;
  readonly contextId: string;
  /** The last task that was observed before; undefined for the first time. */
  readonly after: string | undefined;
  /** The last task that is observed now: everything up to it is. */
  readonly upTo: string;
  readonly observations: readonly NewObservation[];
}

export interface ObservationQuery {
  readonly contextId?: string;
  /** Only those that no reflection stands for yet. */
  readonly open?: boolean;
  readonly limit: number;
  /** Only older ones. */
  readonly before?: MemoryCursor;
}

/** Where an observation or a reflection stands among its like, by the time it tells of last. */
export interface MemoryCursor {
  readonly at: number;
  readonly id: string;
}

/**
 * An owner's observations and reflections, kept beside the journal, which keeps every message itself. Writes are
 * atomic and resolve after commit; failures reject with code `storage`. Forgetting goes in steps between which others
 * get their turn: what is gone stays gone, and asked again it goes on.
 */
export interface MemoryStore {
  /** The last task of this session whose messages were observed. */
  observedUpTo(scope: Scope, agent: string, contextId: string): Promise<string | undefined>;
  /** The observations and their mark at once. False, and nothing written, when the mark is not `after` any more. */
  observe(scope: Scope, batch: ObservationBatch): Promise<boolean>;
  /** One that an agent makes by itself; `id` is the key of its call, and a repeat changes nothing. */
  record(scope: Scope, observation: Observation): Promise<void>;
  /** The newest `limit`, newest first. */
  observations(scope: Scope, query: ObservationQuery): Promise<readonly Observation[]>;
  /** The reflection, in the place of these observations. False, and nothing written, when one of them has one already or is gone. */
  reflect(
    scope: Scope,
    reflection: Omit<Reflection, 'id'>,
    observationIds: readonly string[],
  ): Promise<boolean>;
  /** The newest `limit`, newest first; with `before` only older ones. */
  reflections(scope: Scope, limit: number, before?: MemoryCursor): Promise<readonly Reflection[]>;
  /**
   * Everything that stems from this context: its observations, the reflections that stand for any of them, and how far it was
   * observed. Other observations of these reflections are open again. Resolves with how many entries are gone.
   */
  forgetContext(scope: Scope, contextId: string): Promise<number>;
  forgetAll(scope: Scope): Promise<number>;
}

/** What a run begins with besides the newest messages. */
export interface Recollection {
  /** Undefined when nothing is remembered. */
  readonly text: string | undefined;
  /** The last task of this session that `text` stands for: its messages and older ones need not be read again. */
  readonly upTo: string | undefined;
  /** Whether some of `text` may stem from text of outside. */
  readonly fromOutside: boolean;
}

export const NOTHING_RECALLED: Recollection = { text: undefined, upTo: undefined, fromOutside: false };

/** The memory that works by itself, round the runs that answer a person. */
export interface Remembering {
  recall(run: Run): Promise<Recollection>;
  /** Word that a run of this task is over. Returns at once and never throws. */
  runEnded(task: TaskRecord): void;
}
