import type { JsonObject } from '../../core/json.js';
import type { FunctionCall, ModelRequest } from '../../core/model.js';
import { replyTo, isCourtesy } from './answers.js';
import type { Interpreter } from './interpreter.js';
import type { Report } from './report.js';
import type { Script } from './script.js';
import type { Turn } from './turn.js';

/** What the model says: words or calls, never both. */
export type Decision =
  | { readonly text: string }
  /** `draft` is passed back with the next request. */
  | { readonly calls: readonly FunctionCall[]; readonly draft?: JsonObject };

/** All that a decision is made from. */
export interface Desk {
  readonly request: ModelRequest;
  readonly turn: Turn;
  readonly interpreter: Interpreter;
  readonly script: Script;
  /** About how long a text may be, in bytes. */
  readonly limitBytes: number;
}

export function offers(request: ModelRequest, name: string): boolean {
  return request.functions.some((spec) => spec.name === name);
}

/** The parts of a report that are the same whoever did the work. */
export function reportFrame({ script, turn, interpreter }: Desk): Report {
  const kinds = script.talk.filter((kind) => !isCourtesy(kind));
  return {
    done: [],
    failed: [],
    notDone: script.blocked,
    unknown: script.unknown,
    replies: [...new Set(kinds)].map((kind) => replyTo(kind, interpreter.abilities)),
    attachments: turn.attachments,
  };
}
