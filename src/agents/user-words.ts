import { isJsonObject } from '../core/json.js';
import type { Message, Part } from '../core/message.js';
import { textOf } from '../core/message.js';
import type { ModelMessage } from '../core/model.js';
import { findAnswer } from '../core/questions.js';
import type { Run } from '../core/run.js';

/** Metadata of a delegated request: what the user themselves wrote, for a sub-agent to know (requirement D7). */
const USER_MESSAGE_KEY = 'urn:lango:a2a:user-message:v1';

const LONGEST_USER_MESSAGE = 8_000;

/** The parts a model may read; a person's answers to questions go to those who asked. */
export function withoutAnswers(parts: readonly Part[]): readonly Part[] {
  return parts.filter((part) => !isAnswer(part));
}

function isAnswer(part: Part): boolean {
  if (part.kind !== 'data' || !isJsonObject(part.data)) return false;
  const answer = part.data['answer'];
  return isJsonObject(answer) && typeof answer['hash'] === 'string';
}

/**
 * What the user says to one task, each message handed to the model once: the request first, what came
 * later when it is asked for. Words that answered a question are left out: they reach the model as
 * that call's result. So are words said in the place of a yes or no: they have no effect.
 */
export class UserWords {
  readonly #run: Run;
  #heard = 1;

  constructor(run: Run) {
    this.#run = run;
  }

  request(): readonly ModelMessage[] {
    return this.#run.inputs.slice(0, 1).map(({ message: { parts } }) => ({ role: 'user', parts }));
  }

  /** What came since the last time this was asked. */
  news(): readonly ModelMessage[] {
    const { inputs } = this.#run;
    const spent = this.#spent();
    const news = inputs.slice(this.#heard);
    this.#heard += news.length;
    return news.flatMap(({ message }) => {
      const parts = spent.has(message.id) ? [] : withoutAnswers(message.parts);
      return parts.length === 0 ? [] : [{ role: 'user' as const, parts }];
    });
  }

  /** The person said something since they were asked for a yes or no, and none of it was one. */
  get areBesideTheQuestion(): boolean {
    const newest = this.#run.inputs.at(-1)!;
    return this.#besideQuestions().has(newest.message.id);
  }

  /** The messages whose words reach no model: they were the answer to a question for input, or none to another. */
  #spent(): ReadonlySet<string> {
    const { inputs, questions } = this.#run;
    const asked = [...questions.values()].filter(({ question }) => question.kind === 'input');
    const replies = asked.flatMap((one) => findAnswer(one, inputs)?.message.id ?? []);
    return new Set([...this.#besideQuestions(), ...replies]);
  }

  /**
   * Messages without an answer that came while a question waited for a yes or no. The reply to them was that question
   * again; what they meant ("go on") is no request of its own.
   */
  #besideQuestions(): ReadonlySet<string> {
    const { inputs, questions } = this.#run;
    const asked = [...questions.values()];
    const answers = new Set(asked.flatMap((one) => findAnswer(one, inputs)?.seq ?? []));
    const waits = asked
      .filter(({ question }) => question.kind !== 'input')
      .map((one) => ({
        from: one.shownAt ?? Infinity,
        to: findAnswer(one, inputs)?.seq ?? one.expiredAt ?? Infinity,
      }));
    const beside = inputs.filter(
      ({ seq }) => !answers.has(seq) && waits.some(({ from, to }) => from < seq && seq < to),
    );
    return new Set(beside.map(({ message }) => message.id));
  }
}

/** The user's own message, through any number of delegations; undefined when this task is the user's own. */
export function relayedUserMessage(run: Run): string | undefined {
  const text = run.inputs[0]?.message.metadata?.[USER_MESSAGE_KEY];
  return typeof text === 'string' ? text.slice(0, LONGEST_USER_MESSAGE) : undefined;
}

/** What a delegated request carries of the user's message: its words as metadata, its files and data as parts. */
export function carriedUserMessage(run: Run): Pick<Message, 'parts' | 'metadata'> {
  const parts = run.inputs[0]?.message.parts ?? [];
  const text = relayedUserMessage(run) ?? textOf(parts).slice(0, LONGEST_USER_MESSAGE);
  return {
    parts: withoutAnswers(parts).filter(({ kind }) => kind !== 'text'),
    metadata: { [USER_MESSAGE_KEY]: text },
  };
}
