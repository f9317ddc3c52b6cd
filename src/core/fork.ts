/** The place where a task parts from another one: it shares the events up to and including the number `seq`. */
export interface ForkPlace {
  readonly taskId: string;
  readonly seq: number;
}

/** What an agent does in another way in a fork. */
export interface Variation {
  /** The name of the model. Default: the agent's own. */
  readonly model?: string;
  /** In place of the agent's instruction. */
  readonly instruction?: string;
  /** A call with recorded arguments gets the recorded result, and any other asks a person. Default: calls are made. */
  readonly tools?: 'recorded';
}
