import { hashJson } from '../core/json.js';
import type { AgentLimits } from '../core/limits.js';
import { findAnswer } from '../core/questions.js';
import type { Run } from '../core/run.js';
import type { Answer, Question } from '../core/task.js';
import type { CallOutcome } from './agent-function.js';

/** The outcome of a question so far. */
export type Verdict =
  | Pick<Answer, 'decision' | 'text'>
  /** Nobody answered in time. */
  | { readonly decision: 'expired' }
  | { readonly decision: 'open'; readonly outcome: CallOutcome };

/**
 * Asks the person `question`, or returns the outcome when it was asked before. The journal records a question once, in
 * its first wording, and only a later entry can answer it.
 */
export function askPerson(question: Question, run: Run, step: string): Verdict {
  const asked = run.questions.get(question.hash);
  if (!asked) {
    run.emit({ type: 'question', step, question });
    return open(question);
  }
  const given = findAnswer(asked, run.inputs);
  if (given) return given.answer;
  return asked.expiredAt === undefined ? open(asked.question) : { decision: 'expired' };
}

/** Returns `question` with an expiry of at most `approvalSeconds` from now. */
export function withinAnswerTime(question: Question, limits: Pick<AgentLimits, 'approvalSeconds'>): Question {
  const latest = Date.now() + 1_000 * limits.approvalSeconds;
  return { ...question, expiresAt: Math.min(latest, question.expiresAt ?? Infinity) };
}

/** Returns the hash of a question `about` a call that has the key `key`. */
export function questionHash(key: string, about: string): string {
  return hashJson([key, about]);
}

function open(question: Question): Verdict {
  return {
    decision: 'open',
    outcome: { type: 'waiting', state: 'input-required', questions: [question] },
  };
}
