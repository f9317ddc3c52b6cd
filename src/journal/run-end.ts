import { errorText, isLangoError, type ErrorCode, type LangoError } from '../core/errors.js';
import { textPart, type Message, type Part } from '../core/message.js';
import { defined } from '../core/json.js';
import type { RunEnd } from '../core/run.js';
import { isInterrupted, type BodyOf, type EventBody, type Question } from '../core/task.js';
import type { TaskRun } from './task-run.js';

/** The result of a run: from its agent, or from the abort or failure that ended it. */
export type RunResult = Omit<RunEnd, 'state'> & Pick<BodyOf<'run-end'>, 'state'>;

/** Reasons for an abort after which the task is taken up again. */
const LATER: ReadonlySet<ErrorCode> = new Set(['unavailable', 'fenced', 'storage']);

/** True when a message that arrived during the run could still change the result, so the task runs again. */
export function acceptsMoreInput(result: RunResult): boolean {
  return result.state === 'completed' || isInterrupted(result.state);
}

/** Undefined when this process must not close the task, because it continues elsewhere, later, or after a restart. */
export function resultOfAbort(reason: LangoError | undefined): RunResult | undefined {
  if (reason && LATER.has(reason.code)) return undefined;
  if (isLangoError(reason, 'canceled')) return { state: 'canceled' };
  const code = isLangoError(reason, 'timeout') ? 'limit-seconds' : 'internal';
  return { state: 'failed', reason: code, text: errorText(reason) };
}

/** The text of an unexpected error goes to the server log only. Clients never see it. */
export function resultOfFailure(run: TaskRun, error: unknown): RunResult {
  if (isLangoError(error)) return { state: 'failed', reason: error.code, text: error.message };
  run.logger.error('an agent failed', { error: error instanceof Error ? error.stack : String(error) });
  return { state: 'failed', reason: 'internal', text: 'Internal error. The log of the server says more.' };
}

/** The event that closes a run: the last one that its epoch may write. */
export function runEndEvent(run: TaskRun, result: RunResult): EventBody {
  const { reason, metadata, questions, refused } = result;
  const message = closingMessage(run, result);
  return {
    type: 'run-end',
    state: result.state,
    ...defined({ reason, message, metadata, questions, refused }),
    usage: run.usage(),
    ...(run.hasReadOutside() ? { fromOutside: true } : {}),
  };
}

/** A question as a part of a message: a data part `{ "question": { … } }` (the approval extension). */
export function questionPart(question: Question): Part {
  return { kind: 'data', data: { question: { ...question } }, mediaType: 'application/json' };
}

function closingMessage(run: TaskRun, result: RunResult): Message | undefined {
  if (result.message) return result.message;
  const parts = [
    ...(result.text === undefined ? [] : [textPart(result.text)]),
    ...(result.questions ?? []).map(questionPart),
  ];
  if (parts.length === 0) return undefined;
  return { id: `${run.task.id}:end:${run.attempt}`, role: 'agent', parts };
}
