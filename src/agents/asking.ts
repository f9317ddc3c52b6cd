import { hashJson } from '../core/json.js';
import type { AgentLimits } from '../core/limits.js';
import { findAnswer } from '../core/questions.js';
import type { Run } from '../core/run.js';
import type { Answer, Question } from '../core/task.js';
import type { CallOutcome } from './agent-function.js';

/** What came of a question so far. */
export type Verdict =
  | Pick<Answer, 'decision' | 'text'>
  /** Nobody said a word in time. */
  | { readonly decision: 'expired' }
  | { readonly decision: 'open'; readonly outcome: CallOutcome };

/**
 * Puts `question` to the person, or says what came of it. It stands in the journal once, as it was asked first, and
 * only what comes after it there can answer it.
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

/** The same question, which runs out when it is not answered within the time of this server, or sooner. */
export function withinAnswerTime(question: Question, limits: Pick<AgentLimits, 'approvalSeconds'>): Question {
  const latest = Date.now() + 1_000 * limits.approvalSeconds;
  return { ...question, expiresAt: Math.min(latest, question.expiresAt ?? Infinity) };
}

/** The hash of a question about something that already has a key of its own. */
export function questionHash(key: string, about: string): string {
  return hashJson([key, about]);
}

function open(question: Question): Verdict {
  return {
    decision: 'open',
    outcome: { type: 'waiting', state: 'input-required', questions: [question] },
  };
}
