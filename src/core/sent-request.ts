/** The request of one turn of a task, built again from its record as the model got it. */
export interface SentRequest {
  readonly step: string;
  /** All turns of the task, in order. */
  readonly steps: readonly string[];
  /** `same`: its hash is the recorded one. `unknown`: the record holds none. */
  readonly match: 'same' | 'different' | 'unknown';
  /** The parts that are others today where it is `different`, as people read them. Empty: the messages or the limits. */
  readonly changed: readonly string[];
  readonly model: string;
  /** The tokens by the count of the vendor; `cached` is the part of `input` that it had kept. */
  readonly input: number;
  readonly cached: number;
  /** In the order in which a vendor reads and keeps them: functions, instruction, messages. */
  readonly parts: readonly SentPart[];
  /** The parts of the turn before that this request does not have. */
  readonly gone: readonly SentPart[];
}

export interface SentPart {
  readonly kind: 'function' | 'instruction' | 'message';
  /** The name of a function, or the role of a message. */
  readonly name: string;
  readonly text: string;
  /** By an estimate, scaled to the number that the vendor counted. */
  readonly tokens: number;
  /** Whether the vendor had kept it, by the same estimate. */
  readonly isCached: boolean;
  /** Whether the turn before did not have it. */
  readonly isNew: boolean;
}
