import type { SendRequest } from '../a2a/client/client.js';
import type { ClientEvent, EndEvent } from '../a2a/client/reader.js';
import { textPart } from '../core/message.js';
import type { Part } from '../core/message.js';
import { answerPart } from '../core/questions.js';
import type { Question } from '../core/task.js';
import { isInterrupted } from '../core/task.js';
import type { Asker } from './asking.js';
import type { Connection } from './connection.js';
import { refusal } from './explain.js';
import type { View } from './view.js';

export interface Outcome {
  /** Undefined when the agent answered with a message instead of a task. */
  readonly taskId: string | undefined;
  readonly end: EndEvent;
}

export interface ConverseOptions {
  readonly connection: Connection;
  readonly view: View;
  readonly asker: Asker;
  readonly signal: AbortSignal;
}

/**
 * Sends a request and goes on until the task has ended, or waits for words that nobody gives. Throws when the
 * request was never accepted.
 */
export async function converse(request: SendRequest, options: ConverseOptions): Promise<Outcome> {
  const { connection, view, asker, signal } = options;
  const agent = request.agent;
  let next = request;
  for (;;) {
    const outcome = await follow(connection.client.send(next, signal), view);
    const { taskId, end } = outcome;
    if (taskId === undefined && end.state === 'failed' && !signal.aborted) {
      throw await refusal(connection, end.text, agent);
    }
    view.show(end);
    if (taskId === undefined || !isInterrupted(end.state)) return outcome;
    const parts = await answersTo(end.questions, asker);
    if (parts.length === 0) return outcome;
    next = { parts, taskId, ...(agent === undefined ? {} : { agent }) };
  }
}

/** Shows every event but the end, which is given back. */
export async function follow(events: AsyncIterable<ClientEvent>, view: View): Promise<Outcome> {
  let taskId: string | undefined;
  for await (const event of events) {
    if (event.type === 'end') return { taskId, end: event };
    if (event.type === 'task') taskId = event.taskId;
    view.show(event);
  }
  throw new Error('a stream of events had no end');
}

async function answersTo(questions: readonly Question[], asker: Asker): Promise<readonly Part[]> {
  const parts: Part[] = [];
  for (const question of questions) {
    const answer = await asker(question);
    if (!answer) continue;
    // An agent that does not know our extension asks one question in words, and takes words.
    const isPlain = question.kind === 'input' && questions.length === 1;
    parts.push(isPlain ? textPart(answer.text ?? '') : answerPart(answer));
  }
  return parts;
}
