import { isJsonObject } from '../../src/core/json.js';
import type { Outcome } from './target.js';

/** A task as it is found in the end. */
export interface StoredTask {
  readonly id: string;
  readonly state: string;
  /** Of what was sent to it. */
  readonly messageIds: readonly string[];
}

/** Statuses that say nothing about a message. */
const NO_WORD = new Set<number | string>([204, 'cut', 'silent', 'CANCELLED', 'DEADLINE_EXCEEDED']);
const ENDED = /^(completed|failed|canceled|rejected)$/;

/**
 * What clients were told, to be held against what is stored: a task that was told is there, and one that was told to
 * have ended ended so; one that is there was told, unless whoever sent its message was told nothing at all; and a
 * message that was refused is in no task.
 */
export class Ledger {
  /** By task: how it was told to have ended, or that it was told. */
  readonly #told = new Map<string, string>();
  /** By the id of a message: what was said to it; of several answers the one that explains most. */
  readonly #said = new Map<unknown, Word>();

  get told(): number {
    return this.#told.size;
  }

  note({ status, text, sent }: Omit<Outcome, 'request'>): void {
    const tasks = jsonIn(text).flatMap(tasksIn);
    for (const { id, state } of tasks) {
      const known = this.#told.get(id) ?? '';
      this.#told.set(id, ENDED.test(known) ? known : state);
    }
    const word = tasks.length > 0 ? 'taken' : NO_WORD.has(status) ? 'nothing' : 'refused';
    for (const id of messageIdsIn(sent)) {
      if (word !== 'refused' || !this.#said.has(id)) this.#said.set(id, word);
    }
  }

  /** What does not agree. */
  compare(stored: readonly StoredTask[]): readonly string[] {
    const byId = new Map(stored.map((task) => [task.id, task]));
    const lost = [...this.#told].flatMap(([id, state]) => {
      const found = byId.get(id)?.state;
      if (found === undefined) return [`task ${id} was told as ${state} and is not stored`];
      return ENDED.test(state) && state !== found
        ? [`task ${id} was told as ${state} and is stored as ${found}`]
        : [];
    });
    return [...lost, ...stored.flatMap((task) => this.#uncalledFor(task))];
  }

  #uncalledFor({ id, messageIds }: StoredTask): readonly string[] {
    const refused = messageIds.filter((one) => this.#said.get(one) === 'refused');
    if (refused.length > 0) return [`task ${id} is stored with ${refused.join()}, which was refused`];
    const isExplained = this.#told.has(id) || messageIds.some((one) => this.#said.get(one) === 'nothing');
    return isExplained ? [] : [`task ${id} is stored and was told to nobody`];
  }
}

type Word = 'taken' | 'refused' | 'nothing';

/** The words of 0.3 and 1.0 for a state are the same, but for case and prefix. */
export function plainState(state: string): string {
  return state.replace('TASK_STATE_', '').replaceAll('_', '-').toLowerCase();
}

/** The JSON of an answer, of each event of a stream, or of the body in what a socket gave. */
function jsonIn(text: string): readonly unknown[] {
  const whole = parsed(text);
  if (whole !== undefined) return [whole];
  return text.split('\n').flatMap((line) => parsed(line.replace(/^data:/, '')) ?? []);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Lists are no answers to a message. */
function tasksIn(value: unknown): readonly { readonly id: string; readonly state: string }[] {
  if (!isJsonObject(value)) return [];
  const { id, status, task, result } = value;
  if (typeof id === 'string' && isJsonObject(status) && typeof status['state'] === 'string')
    return [{ id, state: plainState(status['state']) }];
  return [...tasksIn(task), ...tasksIn(result)];
}

/** Also of a text that is no JSON any more, where the server may have read a part of it. */
function messageIdsIn(sent: string): readonly unknown[] {
  return [...sent.matchAll(/"messageId":("(?:[^"\\]|\\.)*")/g)].map(([, id]) => parsed(id!));
}
