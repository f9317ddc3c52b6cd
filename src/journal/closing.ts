import type { LangoError } from '../core/errors.js';
import { errorText, isLangoError } from '../core/errors.js';
import type { Message } from '../core/message.js';
import { textPart } from '../core/message.js';
import { questionPart } from '../core/questions.js';
import type { RunEnd } from '../core/run.js';
import type { EventBody } from '../core/task.js';
import { isInterrupted } from '../core/task.js';
import type { TaskRun } from './task-run.js';

/** How a run ends, by its agent or by what cut it off. */
export type Closing = Omit<RunEnd, 'state'> & {
  readonly state: Extract<EventBody, { type: 'run-end' }>['state'];
};

/** Whether another message could still change the outcome. */
export function isOpenTo(end: Closing): boolean {
  return end.state === 'completed' || isInterrupted(end.state);
}

/** Undefined when the task goes on elsewhere or later: nothing closes it here. */
export function closingOfAbort(reason: LangoError | undefined): Closing | undefined {
  if (isLangoError(reason, 'canceled')) return { state: 'canceled' };
  if (isLangoError(reason, 'unavailable') || isLangoError(reason, 'fenced')) return undefined;
  const code = isLangoError(reason, 'timeout') ? 'limit-seconds' : 'internal';
  return { state: 'failed', reason: code, text: errorText(reason) };
}

/** The entry that closes the run. */
export function runEnd(run: TaskRun, end: Closing): EventBody {
  const message = closingMessage(run, end);
  return {
    type: 'run-end',
    state: end.state,
    ...(end.reason === undefined ? {} : { reason: end.reason }),
    ...(message ? { message } : {}),
    ...(end.questions ? { questions: end.questions } : {}),
    usage: run.usage(),
    ...(run.hasReadOutside() ? { fromOutside: true } : {}),
  };
}

function closingMessage(run: TaskRun, end: Closing): Message | undefined {
  const parts = [
    ...(end.text === undefined ? [] : [textPart(end.text)]),
    ...(end.questions ?? []).map(questionPart),
  ];
  if (parts.length === 0) return undefined;
  return { id: `${run.task.id}:end:${run.attempt}`, role: 'agent', parts };
}
