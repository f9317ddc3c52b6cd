import { isJsonObject, type Json, type JsonObject } from './json.js';
import type { Part } from './message.js';
import type { Answer, Question } from './task.js';

/** A question as a part of a message: a data part `{ "question": { … } }` (the approval extension). */
export function questionPart(question: Question): Part {
  return { kind: 'data', data: { question: { ...question } }, mediaType: 'application/json' };
}

/** An answer as a part of a message: a data part `{ "answer": { "hash", "decision", "text"? } }`. */
export function answerPart(answer: Answer): Part {
  return { kind: 'data', data: { answer: { ...answer } }, mediaType: 'application/json' };
}

/** The questions in a message from outside. Malformed ones are left out. */
export function questionsIn(parts: readonly Part[]): readonly Question[] {
  return membersIn(parts, 'question').filter(isQuestion);
}

/** The objects in a message that claim to be answers, unchecked. */
export function answersIn(parts: readonly Part[]): readonly JsonObject[] {
  return membersIn(parts, 'answer');
}

function membersIn(parts: readonly Part[], name: string): readonly JsonObject[] {
  return parts.flatMap((part) => {
    const member = part.kind === 'data' && isJsonObject(part.data) ? part.data[name] : undefined;
    return isJsonObject(member) ? [member] : [];
  });
}

const QUESTION_KINDS: readonly unknown[] = ['approval', 'outcome-unknown', 'input'];

function isQuestion(value: JsonObject): value is JsonObject & Question {
  const { hash, text, author, kind, expiresAt, tool, arguments: args } = value;
  return (
    [hash, text, author].every((member) => typeof member === 'string') &&
    QUESTION_KINDS.includes(kind) &&
    (expiresAt === undefined || isTime(expiresAt)) &&
    (tool === undefined || typeof tool === 'string') &&
    (args === undefined || isJsonObject(args))
  );
}

function isTime(value: Json): boolean {
  return Number.isSafeInteger(value) && !Number.isNaN(new Date(value as number).getTime());
}
