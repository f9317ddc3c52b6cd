import { hashJson } from '../core/canonical-json.js';
import type { AgentLimits } from '../core/agent.js';
import type { FunctionCall } from '../core/model.js';
import type { RunEnd } from '../core/run.js';
import { stopped } from './budget.js';

/** The number of refused repeats of a call before the run ends. */
const WARNINGS_BEFORE_END = 2;

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

  /** Counts a call. Returns why it is refused, or the end of the run that it causes; undefined when it is performed. */
  enter(call: FunctionCall): string | RunEnd | undefined {
    const { repeats, toolCalls } = this.#limits;
    const exhausted = this.exhausted;
    this.#calls += 1;
    const hash = hashJson([call.name, call.arguments ?? call.invalid ?? null]);
    const times = (this.#seen.get(hash) ?? 0) + 1;
    this.#seen.set(hash, times);
    if (times > repeats + WARNINGS_BEFORE_END) {
      const why = `${call.name} was called ${times} times with equal arguments (agent.limits.repeats is ${repeats})`;
      return stopped('limit-repeats', why);
    }
    if (times > repeats)
      return `stopped: ${call.name} was already called ${repeats} times with equal arguments; use what it gave you or do something else`;
    if (exhausted)
      return `stopped: the ${toolCalls} calls of this task are used up (agent.limits.toolCalls); answer from what you have`;
    return undefined;
  }
}
