import { isJsonObject } from '../../../src/core/json.js';
import type { Outcome } from './target.js';

/** A task in storage, read at the end. */
export interface StoredTask {
  readonly id: string;
  readonly state: string;
  /** The ids of the messages sent to it. */
  readonly messageIds: readonly string[];
}

/** Statuses that do not tell whether a message was accepted. */
const NO_WORD = new Set<number | string>([204, 'cut', 'silent', 'CANCELLED', 'DEADLINE_EXCEEDED']);
const ENDED = /^(completed|failed|canceled|rejected)$/;

/**
 * Collects the responses and compares them with storage. A task in a response is stored, and ended as the response
 * says. A stored task was in a response, unless the sender of its message got none. A refused message is in no task.
 */
export class Ledger {
  /** By task id: its last state in a response, or only that a response had it. */
  readonly #told = new Map<string, string>();
  /** By message id: the response to it; of several responses the one that explains most. */
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

  /** Returns the differences, one sentence each. */
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

/** The names of a state in 0.3 and 1.0 differ only in case and prefix. */
export function plainState(state: string): string {
  return state.replace('TASK_STATE_', '').replaceAll('_', '-').toLowerCase();
}

/** The JSON of a response, of each event of a stream, or of the body in the bytes of a socket. */
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

/** The tasks in a response to a message. A list is no such response. */
function tasksIn(value: unknown): readonly { readonly id: string; readonly state: string }[] {
  if (!isJsonObject(value)) return [];
  const { id, status, task, result } = value;
  if (typeof id === 'string' && isJsonObject(status) && typeof status['state'] === 'string')
    return [{ id, state: plainState(status['state']) }];
  return [...tasksIn(task), ...tasksIn(result)];
}

/** Finds the message ids also in text that is no longer JSON, of which the server may have read a part. */
function messageIdsIn(sent: string): readonly unknown[] {
  return [...sent.matchAll(/"messageId":("(?:[^"\\]|\\.)*")/g)].map(([, id]) => parsed(id!));
}
