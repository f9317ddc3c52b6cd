/** The place where a task parts from another one: it shares the events up to and including the number `seq`. */
export interface ForkPlace {
  readonly taskId: string;
  readonly seq: number;
}

/** The changes to an agent in a fork. */
export interface Variation {
  /** The name of the model. Default: the agent's own. */
  readonly model?: string;
  /** In place of the agent's instruction. */
  readonly instruction?: string;
  /** A call with recorded arguments gets the recorded result, and any other asks a person. Default: calls are made. */
  readonly tools?: 'recorded';
}

/** The place at which two tasks part, with the first events of each from there on. A side without events ended there. */
export interface Divergence {
  readonly isSame: boolean;
  readonly a: readonly ComparedEvent[];
  readonly b: readonly ComparedEvent[];
}

export interface ComparedEvent {
  readonly seq: number;
  readonly author: string;
  readonly type: string;
  /** Its other members as JSON, without ids, times and costs; cut when it is long. */
  readonly text: string;
}
