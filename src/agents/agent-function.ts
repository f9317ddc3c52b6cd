import type { JsonObject } from '../core/json.js';
import type { FunctionResult, FunctionSpec } from '../core/model.js';
import type { Run, RunEnd } from '../core/run.js';
import type { EventBody, Question } from '../core/task.js';
import type { EffectClass } from '../core/effect.js';

/** Something the model may call, whatever is behind it: a tool, the delegation, a word to the loop. */
export interface AgentFunction {
  readonly name: string;
  /** Undefined while it is not offered. A call is answered all the same, with the reason. */
  readonly spec: FunctionSpec | undefined;
  /** A call of it is looked at before the others of its answer; when it ends the run, they do not happen. */
  readonly first: boolean;
  /**
   * Starts at once and finds in `call.run` what is already done. Failures are results; it throws only
   * when the run was aborted or the journal is lost.
   */
  call(call: Call): Promise<CallOutcome>;
}

export interface Call {
  readonly run: Run;
  /** Its place in the run, the same on every attempt: "t2.c0". */
  readonly step: string;
  /** The vendor's id. */
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonObject;
  /** Made from task, step, name and arguments. */
  readonly key: string;
  /** True when the answer holds no other call. */
  readonly alone: boolean;
}

export type CallOutcome =
  | { readonly type: 'result'; readonly result: FunctionResult }
  /** The result has been given to the user as the answer (requirement D6). */
  | { readonly type: 'answered'; readonly result: FunctionResult; readonly author: string }
  /** The run cannot go on before a person spoke. */
  | {
      readonly type: 'waiting';
      readonly state: 'input-required' | 'auth-required';
      readonly questions: readonly Question[];
    }
  | { readonly type: 'end'; readonly end: RunEnd };

/** The step of the turn that a call was made in: "t2" of "t2.c0". */
export function turnStep(step: string): string {
  return step.slice(0, step.indexOf('.'));
}

export function resultOf(call: Call, content: string, isError: boolean): FunctionResult {
  return { id: call.id, name: call.name, content, isError };
}

export function intentOf(call: Call, step: string, effect: EffectClass): EventBody {
  return {
    type: 'tool-call',
    step,
    callId: call.id,
    tool: call.name,
    arguments: call.arguments,
    effect,
    key: call.key,
  };
}

/** Answers a call with words and no effect; both stand in the journal, so that a later run sees the same. */
export async function reply(call: Call, content: string, isError: boolean): Promise<CallOutcome> {
  const { run, step } = call;
  const result = resultOf(call, content, isError);
  if (!run.recorded(step)) run.emit(intentOf(call, step, 'pure'));
  await run.append({ type: 'tool-result', step, result });
  return { type: 'result', result };
}

/** An error result: the model reads why, and may do better. */
export function refuse(call: Call, reason: string): Promise<CallOutcome> {
  return reply(call, reason, true);
}
