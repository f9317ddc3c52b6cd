import { hashJson } from '../core/canonical-json.js';
import type { AgentLimits } from '../core/agent.js';
import type { FunctionCall } from '../core/model.js';
import type { RunEnd } from '../core/run.js';

/** The number of refused repeats of a call before the run ends. */
const WARNINGS_BEFORE_END = 2;

export type Admission =
  | { readonly type: 'run' }
  | { readonly type: 'refuse'; readonly reason: string }
  | { readonly type: 'end'; readonly end: RunEnd };

/** Counts the calls of one run and refuses repeats. A resumed run enters its recorded calls again, to count the whole task. */
export class CallLedger {
  readonly #limits: AgentLimits;
  readonly #seen = new Map<string, number>();
  #calls = 0;

  constructor(limits: AgentLimits) {
    this.#limits = limits;
  }

  get exhausted(): boolean {
    return this.#calls >= this.#limits.toolCalls;
  }

  /** Counts a call, and says whether to perform it, to refuse it, or to end the run. */
  enter(call: FunctionCall): Admission {
    const { repeats, toolCalls } = this.#limits;
    const exhausted = this.exhausted;
    this.#calls += 1;
    const times = this.#count(call);
    if (times > repeats + WARNINGS_BEFORE_END) {
      const text = `Stopped: ${call.name} was called ${times} times with equal arguments (agent.limits.repeats is ${repeats}).`;
      return { type: 'end', end: { state: 'failed', reason: 'limit-repeats', text } };
    }
    if (times > repeats) {
      const reason = `stopped: ${call.name} was already called ${repeats} times with equal arguments; use what it gave you or do something else`;
      return { type: 'refuse', reason };
    }
    if (exhausted) {
      const reason = `stopped: the ${toolCalls} calls of this task are used up (agent.limits.toolCalls); answer from what you have`;
      return { type: 'refuse', reason };
    }
    return { type: 'run' };
  }

  #count(call: FunctionCall): number {
    const hash = hashJson([call.name, call.arguments ?? call.invalid ?? null]);
    const times = (this.#seen.get(hash) ?? 0) + 1;
    this.#seen.set(hash, times);
    return times;
  }
}
