import { hashJson, isJsonObject, type Json, type JsonObject } from './json.js';
import type { Part } from './message.js';
import type { Answer, Question } from './task.js';

/** An answer as a part of a message: a data part `{ "answer": { "hash", "decision", "text"? } }`. */
export function answerPart(answer: Answer): Part {
  return { kind: 'data', data: { answer: { ...answer } }, mediaType: 'application/json' };
}

/** The short code of a question, as a person types it: four characters without those that look alike. */
export function codeOf(hash: string): string {
  const bits = Number.parseInt(hashJson(hash).slice(0, 5), 16);
  return [15, 10, 5, 0].map((shift) => CODE_CHARACTERS[(bits >> shift) & 31]).join('');
}

const CODE_CHARACTERS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
export const DECISION = /^(?:(approve|deny) ([0-9a-z]{4})|(no|deny))[.!]?$/i;

/** Returns the decision of a text about an approval: `approve` or `deny` with the code of its hash, or a plain "no". */
export function decisionIn(text: string, hash: string): Answer['decision'] | undefined {
  const [, decision, code, no] = DECISION.exec(text.trim()) ?? [];
  if (no) return 'deny';
  if (code?.toUpperCase() !== codeOf(hash)) return undefined;
  return decision?.toLowerCase() === 'approve' ? 'approve' : 'deny';
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
