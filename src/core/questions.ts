import { isJsonObject } from './json.js';
import type { Json, JsonObject } from './json.js';
import type { Message, Part } from './message.js';
import { textOf } from './message.js';
import type { AskedQuestion, RunInput } from './run.js';
import type { Answer, Question, TaskEvent } from './task.js';

/** How a question stands in a message: a data part `{ "question": { … } }` (the approval extension). */
export function questionPart(question: Question): Part {
  return {
    kind: 'data',
    data: { question: question as unknown as JsonObject },
    mediaType: 'application/json',
  };
}

/** How a person answers: a data part `{ "answer": { "hash", "decision", "text"? } }`. */
export function answerPart(answer: Answer): Part {
  return { kind: 'data', data: { answer: answer as unknown as JsonObject }, mediaType: 'application/json' };
}

/** The questions that a message from outside holds; whatever is malformed is not a question. */
export function questionsIn(parts: readonly Part[]): readonly Question[] {
  return parts.flatMap((part) => {
    const question = member(part, 'question');
    return question && isQuestion(question) ? [question as unknown as Question] : [];
  });
}

/**
 * The first word on a question that came after it was asked and in its time, or undefined. Only a data part that
 * names its hash counts; a question for input also takes the first later message that has text and no answer part.
 */
export function findAnswer(asked: AskedQuestion, inputs: readonly RunInput[]): GivenAnswer | undefined {
  const { seq, expiredAt = Infinity } = asked;
  for (const input of inputs) {
    if (input.seq <= seq || input.seq >= expiredAt) continue;
    const answer = answerIn(input.message, asked.question);
    if (answer) return { answer, ...input };
  }
  return undefined;
}

/** An answer, and the message that holds it. */
export interface GivenAnswer extends RunInput {
  readonly answer: Answer;
}

/**
 * What a task's log says of its questions, entry by entry: which were asked, when they were put to the person, and
 * which ran out.
 */
export class AskedQuestions {
  readonly #asked = new Map<string, AskedQuestion>();

  get byHash(): ReadonlyMap<string, AskedQuestion> {
    return this.#asked;
  }

  /** Entries come in order, each once. */
  add({ seq, at, body }: Pick<TaskEvent, 'seq' | 'at' | 'body'>): void {
    switch (body.type) {
      case 'question': {
        const { question } = body;
        if (!this.#asked.has(question.hash)) this.#asked.set(question.hash, { seq, question });
        break;
      }
      case 'run-end':
        for (const { hash } of body.questions ?? []) this.#change(hash, { shownAt: seq });
        break;
      case 'question-expiry':
        for (const { question } of this.#asked.values()) {
          if ((question.expiresAt ?? Infinity) <= at) this.#change(question.hash, { expiredAt: seq });
        }
        break;
      default:
        break;
    }
  }

  /** The first time counts. */
  #change(hash: string, fields: Pick<AskedQuestion, 'shownAt' | 'expiredAt'>): void {
    const asked = this.#asked.get(hash);
    if (asked) this.#asked.set(hash, { ...fields, ...asked });
  }
}

function answerIn(message: Message, question: Question): Answer | undefined {
  const answers = message.parts.flatMap((part) => {
    const answer = member(part, 'answer');
    return answer ? [answer] : [];
  });
  const named = answers.find((answer) => answer['hash'] === question.hash);
  if (named && (named['decision'] === 'approve' || named['decision'] === 'deny')) {
    const text = named['text'];
    return {
      hash: question.hash,
      decision: named['decision'],
      ...(typeof text === 'string' ? { text } : {}),
    };
  }
  const text = textOf(message.parts).trim();
  if (question.kind === 'input' && answers.length === 0 && text !== '') {
    return { hash: question.hash, decision: 'approve', text };
  }
  return undefined;
}

function member(part: Part, name: string): Record<string, Json | undefined> | undefined {
  if (part.kind !== 'data' || !isJsonObject(part.data)) return undefined;
  const value = part.data[name];
  return isJsonObject(value) ? value : undefined;
}

const QUESTION_KINDS: readonly unknown[] = ['approval', 'outcome-unknown', 'input'];

function isTime(value: Json): boolean {
  return Number.isSafeInteger(value) && !Number.isNaN(new Date(value as number).getTime());
}

function isQuestion(value: Record<string, Json | undefined>): boolean {
  return (
    typeof value['hash'] === 'string' &&
    typeof value['text'] === 'string' &&
    typeof value['author'] === 'string' &&
    QUESTION_KINDS.includes(value['kind']) &&
    (value['expiresAt'] === undefined || isTime(value['expiresAt'])) &&
    (value['tool'] === undefined || typeof value['tool'] === 'string') &&
    (value['arguments'] === undefined || isJsonObject(value['arguments']))
  );
}
