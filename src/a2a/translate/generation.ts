import { GENERATION } from '../../core/extensions.js';
import type { StreamResponse } from '@a2a-js/sdk';
import { isJsonObject, type JsonObject } from '../../core/json.js';
import { activityOf } from '../../core/activity.js';
import type { EventBody, EventType, TaskEvent, TaskState } from '../../core/task.js';

/*
 * The generation of a task, by the draft of A2A 1.1 (branch dev-1.1 of 12 August 2026): a number that begins at 1 and
 * grows by 1 with each event of a stream. See docs/reference/extensions/generation.md.
 */

/** Whether clients see an event of this type. They see the end of a turn only with thoughts of its model. */
const SHOWN: Readonly<Record<EventType, boolean>> = {
  message: false,
  'run-start': true,
  'turn-start': true,
  'text-delta': true,
  artifact: true,
  'turn-end': true,
  'results-cleared': false,
  'tool-call': true,
  'tool-result': true,
  'delegation-start': true,
  'delegation-task': false,
  'delegation-end': true,
  status: true,
  activity: true,
  question: false,
  'question-expiry': false,
  'cancel-request': false,
  fork: true,
  'run-end': true,
};

/** The step of a run by an executor begins with this. */
export const EXECUTE = 'execute:';

export class Changes {
  #generation = 1;
  #last: EventType | undefined;
  /** Whether the run of an executor has begun, and the executor has not reported yet that it works. */
  #hasBegun = false;
  #isAsked = false;

  /** The generation after the last event that was added. */
  get generation(): number {
    return this.#generation;
  }

  /** The generation that a further message finds: one that was accepted and not begun yet counts as its beginning. */
  get expected(): number {
    return this.#generation + (this.#isAsked ? 1 : 0);
  }

  /** Call it with each event in order. Returns whether clients see it. */
  add({ seq, body }: TaskEvent): boolean {
    // The start of the run has just reported that the task is working.
    const isRepeat = this.#last === 'run-start' && body.type === 'turn-start';
    const isMute = body.type === 'turn-end' && activityOf(body) === undefined;
    const begins = isBareStatus(body, 'submitted');
    const isShown =
      SHOWN[body.type] &&
      !isMute &&
      !isRepeat &&
      !begins &&
      !(this.#hasBegun && isBareStatus(body, 'working'));
    this.#hasBegun = begins || (body.type === 'turn-start' && body.step.startsWith(EXECUTE));
    this.#last = body.type;
    if (isShown) this.#generation += 1;
    this.#isAsked = (this.#isAsked && !isShown) || (body.type === 'message' && seq > 1);
    return isShown;
  }
}

function isBareStatus(body: EventBody, state: TaskState): boolean {
  return body.type === 'status' && body.state === state && !body.message && !body.metadata;
}

export function wantsGeneration(asked: ReadonlySet<string> | undefined): boolean {
  return asked?.has(GENERATION) ?? false;
}

/** The messages of the protocol that have a generation, once it is set. */
interface Numbered {
  readonly generation?: number | undefined;
}

export function withGeneration<Whole extends object>(
  whole: Whole,
  generation: number | undefined,
): Whole & Numbered {
  return generation === undefined ? whole : { ...whole, generation };
}

export function eventWithGeneration(
  payload: NonNullable<StreamResponse['payload']>,
  generation: number | undefined,
): StreamResponse['payload'] {
  return { ...payload, value: withGeneration(payload.value, generation) } as StreamResponse['payload'];
}

/** A task or an event, a response or event that holds one, or a list of tasks. */
interface Held extends Numbered {
  readonly payload?: { readonly $case: string; readonly value: Numbered };
  readonly tasks?: readonly Numbered[];
}

export function generationsIn(message: unknown): readonly (number | undefined)[] {
  const { payload, tasks, generation } = (message ?? {}) as Held;
  if (payload) return [payload.value.generation];
  return tasks ? tasks.map((task) => task.generation) : [generation];
}

/** Adds the generations of a message to its JSON, which the SDK's codec leaves out. An int64 is a text in ProtoJSON. */
export function jsonWithGenerations(json: unknown, message: unknown): unknown {
  const numbers = generationsIn(message);
  if (!isJsonObject(json) || numbers.every((one) => one === undefined)) return json;
  const { payload, tasks } = message as Held;
  if (payload) return { ...json, [payload.$case]: numbered(json[payload.$case], numbers[0]) };
  const listed = json['tasks'];
  if (tasks && Array.isArray(listed))
    return { ...json, tasks: listed.map((task, at) => numbered(task, numbers[at])) };
  return numbered(json, numbers[0]);
}

function numbered(json: unknown, generation: number | undefined): JsonObject {
  return { ...(json as JsonObject), ...(generation === undefined ? {} : { generation: String(generation) }) };
}
