import type { AgentLimits } from '../core/agent.js';
import { canonicalJson } from '../core/canonical-json.js';
import type { JsonObject } from '../core/json.js';
import type { Run } from '../core/run.js';
import { isInterrupted, type BodyOf, type EventBody, type TaskEvent } from '../core/task.js';
import { giveResult, refuse, type AgentFunction, type Call, type CallOutcome } from './agent-function.js';
import { askPerson, questionHash } from './asking.js';
import { CONTROL_NAMES } from './control-functions.js';
import { FIND_NAME } from './function-search.js';
import { questionOf } from './tool-work.js';
import { TRANSFER_NAME } from './transfer.js';

type RecordedResult = Pick<BodyOf<'tool-result'>, 'result' | 'fromOutside'>;

type Limits = Pick<AgentLimits, 'approvalSeconds'>;

/** Functions that reach nothing outside of the task. */
const INNER: ReadonlySet<string> = new Set([...CONTROL_NAMES, FIND_NAME]);

/**
 * Reads the record that a fork parts from, and returns a function that puts its results in place of calls. A call with
 * arguments that are not in the record asks a person first.
 */
export async function recordedCalls(run: Run, limits: Limits) {
  const { fork } = run.task;
  const [, events = []] = (fork && (await run.readTask(fork.taskId))) ?? [];
  const results = new RecordedResults();
  results.add(events, fork?.seq);
  const recordedFirst = (own: AgentFunction) => async (call: Call) => {
    const begun = call.run.recorded(call.step) !== undefined;
    const recorded = begun ? undefined : results.next(call.name, call.arguments);
    if (!recorded) return callApproved(own, call, limits);
    const result = { ...recorded.result, id: call.id, name: call.name };
    return giveResult(call, result, recorded.fromOutside);
  };
  return (own: readonly AgentFunction[]): readonly AgentFunction[] =>
    own.map((one) => (INNER.has(one.name) ? one : { ...one, call: recordedFirst(one) }));
}

function keyOf(name: string, given: JsonObject): string {
  const { agent_name: agent, request } = given;
  return canonicalJson([name, name === TRANSFER_NAME ? { agent, request } : given]);
}

/** Whether a call is over with this result: no person is asked, and no reply is waited for. */
export function isLastResult(body: EventBody): body is BodyOf<'tool-result'> | BodyOf<'delegation-end'> {
  if (body.type === 'delegation-end') return !isInterrupted(body.state);
  return body.type === 'tool-result' && !body.asks;
}

/** The results of a record, by function and arguments: each is given once, in order, and then the last one again. */
export class RecordedResults {
  readonly #results = new Map<string, { left: RecordedResult[]; last: RecordedResult }>();

  /** Adds the results of the calls of a task. Those up to the event `usedTo` were given before. */
  add(events: readonly Pick<TaskEvent, 'seq' | 'body'>[], usedTo = 0): void {
    const keys = new Map<string, string>();
    for (const { seq, body } of events) {
      if (body.type === 'tool-call') keys.set(body.step, keyOf(body.tool, body.arguments));
      if (body.type === 'delegation-start')
        keys.set(body.step, keyOf(TRANSFER_NAME, { agent_name: body.agent, request: body.request }));
      if (!isLastResult(body)) continue;
      const key = keys.get(body.step);
      if (key === undefined) continue;
      const last = { result: body.result, fromOutside: body.fromOutside };
      const left = this.#results.get(key)?.left ?? [];
      if (seq > usedTo) left.push(last);
      this.#results.set(key, { left, last });
    }
  }

  /** Returns the result of a call; undefined when the record holds none. */
  next(name: string, given: JsonObject): RecordedResult | undefined {
    const known = this.#results.get(keyOf(name, given));
    return known?.left.shift() ?? known?.last;
  }
}

async function callApproved(own: AgentFunction, call: Call, limits: Limits): Promise<CallOutcome> {
  const { run, step, name } = call;
  const described = `call ${name} with arguments that are not in the record`;
  const text = `May ${run.task.agent} ${described}?`;
  const about = { hash: questionHash(call.key, described), kind: 'approval', text } as const;
  const verdict = askPerson(questionOf(call, limits, about), run, step);
  if (verdict.decision === 'open') return verdict.outcome;
  if (verdict.decision === 'approve') return own.call(call);
  return refuse(call, 'this call is not in the record, and no person allowed it; do not try it again');
}
