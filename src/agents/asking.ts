import { hashJson } from '../core/canonical-json.js';
import type { AgentLimits } from '../core/agent.js';
import { textOf } from '../core/message.js';
import { repliesIn } from '../core/questions.js';
import { codeOf, decisionIn } from '../core/decisions.js';
import type { AskedQuestion, Run, RunInput } from '../core/run.js';
import type { Question, Reply } from '../core/task.js';
import type { CallOutcome } from './agent-function.js';

/** The state of a question. */
export type Verdict =
  | Pick<Reply, 'decision' | 'text'>
  /** The time to reply is over. */
  | { readonly decision: 'expired' }
  /** The question was not asked, because too many questions of the task are open. */
  | { readonly decision: 'refused' }
  | { readonly decision: 'open'; readonly outcome: Extract<CallOutcome, { type: 'waiting' }> };

/** Asks the person, or returns the outcome of an earlier ask. The journal keeps the first wording; only later entries reply. */
export function askPerson(question: Question, run: Run, step: string): Verdict {
  const asked = run.questions.get(question.hash);
  if (!asked) {
    if (countOpen(run) >= MAX_OPEN_QUESTIONS) return { decision: 'refused' };
    const visible = { ...question, text: withVisibleCharacters(question.text) };
    run.emit({ type: 'question', step, question: visible });
    return open(visible);
  }
  const given = findReply(asked, run.inputs);
  if (given) return given.reply;
  return asked.expiredAt === undefined ? open(asked.question) : { decision: 'expired' };
}

/** The most open questions of one task: a person would not read more. */
export const MAX_OPEN_QUESTIONS = 16;

function countOpen({ questions, inputs }: Run): number {
  const asked = [...questions.values()];
  return asked.filter((one) => one.expiredAt === undefined && !findReply(one, inputs)).length;
}

/** Characters that cannot be seen, or that change the order in which others are shown. Emoji need U+FE0F. */
const HIDDEN = /(?!\n|\t|\ufe0f)[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2028\u2029]/gu;

/** Replaces each hidden character of a question by its name, such as "<U+202E>", so that a person sees all of it. */
export function withVisibleCharacters(text: string): string {
  return text.replace(
    HIDDEN,
    (character) => `<U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}>`,
  );
}

/** Returns `question` with an expiry of at most `approvalSeconds` from now. */
export function withinReplyTime(question: Question, limits: Pick<AgentLimits, 'approvalSeconds'>): Question {
  const latest = Date.now() + 1_000 * limits.approvalSeconds;
  return { ...question, expiresAt: Math.min(latest, question.expiresAt ?? Infinity) };
}

/** Returns the hash of a question `about` a call that has the key `key`. */
export function questionHash(key: string, about: string): string {
  return hashJson([key, about]);
}

function open(question: Question): Extract<Verdict, { decision: 'open' }> {
  return { decision: 'open', outcome: { type: 'waiting', state: 'input-required', questions: [question] } };
}

/** A reply, and the message that holds it. */
interface GivenReply extends RunInput {
  readonly reply: Reply;
  /** Whether the words of the message are the reply. */
  readonly isText: boolean;
}

/**
 * The first reply to a question that came after it was asked and before it expired; undefined without one. A data part
 * counts when it names the hash of the question. Without such a part, the text of a message replies to a question for input
 * that was shown alone or whose code it begins with, and decides an approval that was shown before when it is exactly what
 * the question asked for (see `decisionIn`).
 */
export function findReply(asked: AskedQuestion, inputs: readonly RunInput[]): GivenReply | undefined {
  const { seq, expiredAt = Infinity, question } = asked;
  const { expiresAt = Infinity } = question;
  for (const input of inputs) {
    if (input.seq <= seq || input.seq >= expiredAt) continue;
    const reply = replyIn(input, asked);
    // `input.at` is the time of the transaction that stored the message. A late denial counts: an expiry denies too.
    const isLate = input.at > expiresAt && reply?.reply.decision === 'approve';
    if (reply && !isLate) return { ...reply, ...input };
  }
  return undefined;
}

function replyIn(
  { seq, message: { parts } }: RunInput,
  { question: { hash, kind }, shownAt = Infinity, aloneAt = Infinity }: AskedQuestion,
): Pick<GivenReply, 'reply' | 'isText'> | undefined {
  const replies = repliesIn(parts);
  const named = replies.find((reply) => reply['hash'] === hash);
  if (named && (named['decision'] === 'approve' || named['decision'] === 'deny')) {
    const { decision, text } = named;
    return { reply: { hash, decision, ...(typeof text === 'string' ? { text } : {}) }, isText: false };
  }
  const text = textOf(parts).trim();
  if (replies.length > 0 || text === '') return undefined;
  if (kind === 'input') {
    const named = new RegExp(`^${codeOf(hash)}[:,]?\\s+`, 'i').exec(text)?.[0];
    if (named === undefined && seq < aloneAt) return undefined;
    return { reply: { hash, decision: 'approve', text: text.slice(named?.length ?? 0) }, isText: true };
  }
  // A text decides only a question that was shown to the person before.
  const decision = seq > shownAt ? decisionIn(text, hash) : undefined;
  return decision && { reply: { hash, decision }, isText: true };
}

/** The text of a question, with the words that decide it. A question for input beside another is replied to by its code. */
export function questionText({ kind, text, hash }: Question, all: readonly Question[]): string {
  if (kind === 'input') {
    const isAlone = all.filter((one) => one.kind === 'input').length === 1;
    return isAlone ? text : `${text}\nReply: ${codeOf(hash)} and your reply.`;
  }
  return `${text}\nReply: approve ${codeOf(hash)}, or: deny ${codeOf(hash)}.`;
}
