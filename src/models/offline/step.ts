import type { Match } from './interpreter.js';

/** A clause that something can be done about. */
export interface Step {
  /** Its place in the request: part of the ids of its calls. */
  readonly index: number;
  readonly text: string;
  /** The best first; none when what it needs is offered no more. */
  readonly matches: readonly Match[];
}
