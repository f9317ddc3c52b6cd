import { isJsonObject, type Json, type JsonObject } from './json.js';
import type { Part } from './message.js';
import type { Question, Reply } from './task.js';

/** A reply as a part of a message: a data part `{ "answer": { "hash", "decision", "text"? } }`. */
export function replyPart(reply: Reply): Part {
  return { kind: 'data', data: { answer: { ...reply } }, mediaType: 'application/json' };
}

/** The questions in a message from outside. Malformed ones are left out. */
export function questionsIn(parts: readonly object[]): readonly Question[] {
  return membersIn(parts, 'question').filter(isQuestion);
}

/** The objects in a message that claim to be replies, unchecked. */
export function repliesIn(parts: readonly object[]): readonly JsonObject[] {
  return membersIn(parts, 'answer');
}

/** Reads parts in our form and in that of A2A's JSON: the data of both has the same name. */
function membersIn(parts: readonly object[], name: string): readonly JsonObject[] {
  return parts.flatMap((part) => {
    const member = 'data' in part && isJsonObject(part.data) ? part.data[name] : undefined;
    return isJsonObject(member) ? [member] : [];
  });
}

export function isReply(value: JsonObject): value is JsonObject & Reply {
  const { hash, decision, text } = value;
  const isComplete = typeof hash === 'string' && (decision === 'approve' || decision === 'deny');
  return isComplete && (text === undefined || typeof text === 'string');
}

const QUESTION_KINDS: readonly unknown[] = ['approval', 'outcome-unknown', 'input'];

function isQuestion(value: JsonObject): value is JsonObject & Question {
  const { hash, text, author, kind, expiresAt, tool, arguments: args, answerSchema } = value;
  return (
    [hash, text, author].every((member) => typeof member === 'string') &&
    QUESTION_KINDS.includes(kind) &&
    (expiresAt === undefined || isTime(expiresAt)) &&
    (tool === undefined || typeof tool === 'string') &&
    [args, answerSchema].every((member) => member === undefined || isJsonObject(member))
  );
}

function isTime(value: Json): boolean {
  return Number.isSafeInteger(value) && !Number.isNaN(new Date(value as number).getTime());
}
