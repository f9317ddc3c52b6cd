import { hashJson } from '../core/json.js';
import { findAnswer } from '../core/questions.js';
import type { Run } from '../core/run.js';
import type { Answer, Question } from '../core/task.js';
import type { CallOutcome } from './agent-function.js';

/**
 * What the person said to `question`. Undefined when there is no word yet: then the question stands in
 * the journal, once, and only what comes after it can answer it.
 */
export function answerTo(question: Question, run: Run, step: string): Answer | undefined {
  const asked = run.questions.get(question.hash);
  if (asked) return findAnswer(asked, run.inputs)?.answer;
  run.emit({ type: 'question', step, question });
  return undefined;
}

export function waitFor(question: Question): CallOutcome {
  return { type: 'waiting', state: 'input-required', questions: [question] };
}

/** The hash of a question about something that already has a key of its own. */
export function questionHash(key: string, about: string): string {
  return hashJson([key, about]);
}
