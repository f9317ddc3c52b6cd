import type { SendRequest } from '../a2a/client/client.js';
import type { ClientEvent, EndEvent } from '../a2a/client/reader.js';
import type { Part } from '../core/message.js';
import { textPart } from '../core/message.js';
import { answerPart } from '../core/questions.js';
import type { Question, Answer } from '../core/task.js';
import { isInterrupted } from '../core/task.js';
import type { Connection, ConnectionFlags } from './connection.js';
import { refusal } from './explain.js';
import { shellWord } from './safe-text.js';
import type { Terminal } from './terminal.js';
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

/** Says what becomes of a question; undefined leaves it open. */
export type Asker = (question: Question) => Promise<Answer | undefined>;

/** Asks the person at the terminal, who has the question in front of them already. */
export function terminalAsker({ progress }: Terminal): Asker {
  return async (question) => {
    progress.stop();
    const answer = await (question.kind === 'input' ? askForWords(question) : askForDecision(question));
    progress.start('working');
    return answer;
  };
}

/** Leaves every question open. */
export const nobody: Asker = async () => undefined;

/** Approves each call that waits for approval, and leaves other questions to `next`. */
export function approving(next: Asker): Asker {
  return async (question) =>
    question.kind === 'approval' ? { hash: question.hash, decision: 'approve' } : next(question);
}

/** How a task that waits is answered later, with the flags that lead to the same server. */
export function waysToAnswer(
  taskId: string,
  questions: readonly Question[],
  flags: ConnectionFlags,
): readonly string[] {
  const places = (['url', 'home', 'config'] as const).flatMap((name) =>
    flags[name] === undefined ? [] : [` --${name} ${shellWord(flags[name])}`],
  );
  const send = `lango send${places.join('')} --task ${shellWord(taskId)}`;
  return questions.flatMap(({ kind, hash }) => {
    if (kind === 'input') return [`To answer:  ${send} "your reply"`];
    const name = shellWord(hash);
    return [`To approve: ${send} --approve ${name}`, `To deny:    ${send} --deny ${name} --reason "why"`];
  });
}

async function askForWords({ hash }: Question): Promise<Answer | undefined> {
  const { isCancel, text } = await import('@clack/prompts');
  const reply = await text({ message: 'Your reply (empty: later)', output: process.stderr });
  if (isCancel(reply) || !reply.trim()) return undefined;
  return { hash, decision: 'approve', text: reply };
}

async function askForDecision({ hash, kind }: Question): Promise<Answer | undefined> {
  const { isCancel, select, text } = await import('@clack/prompts');
  const output = process.stderr;
  const choice = await select({
    message: kind === 'approval' ? 'Allow this call?' : 'Run it again?',
    output,
    initialValue: 'deny', // whoever presses Enter without looking, or typed ahead, has allowed nothing
    options: [
      { value: 'approve', label: 'Yes' },
      { value: 'deny', label: 'No' },
      { value: 'explain', label: 'No, and say why' },
      { value: 'later', label: 'Decide later' },
    ],
  });
  if (isCancel(choice) || choice === 'later') return undefined;
  if (choice === 'approve') return { hash, decision: 'approve' };
  if (choice === 'deny') return { hash, decision: 'deny' };
  const reason = await text({ message: 'Why not? The agent is told.', output });
  return isCancel(reason) ? undefined : { hash, decision: 'deny', text: reason };
}
