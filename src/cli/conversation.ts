import type { SendRequest } from '../a2a/client/client.js';
import type { ClientEvent, EndEvent } from '../a2a/client/reader.js';
import type { Capability } from '../core/capability.js';
import { textPart, type Part } from '../core/message.js';
import { replyPart, repliesIn } from '../core/questions.js';
import { isInterrupted, type Reply, type Question } from '../core/task.js';
import type { Connection, ConnectionFlags } from './connection.js';
import { refusal } from './explain.js';
import { safeLine, shellWord } from '../terminal/safe-text.js';
import type { Terminal } from '../terminal/terminal.js';
import type { View } from './render.js';

export interface Outcome {
  /** Undefined when the agent replied with a message and made no task. */
  readonly taskId: string | undefined;
  readonly end: EndEvent;
  /** Whether the agent asked another one. */
  readonly hasDelegated: boolean;
}

export interface ConverseOptions {
  readonly connection: Connection;
  readonly view: View;
  readonly asker: Asker;
  readonly signal: AbortSignal;
}

/**
 * Sends a request, replies to the questions of its task, and follows the task until it ends or waits for a reply that the
 * asker leaves open. Rejects when the server never accepted the request.
 */
export async function converse(request: SendRequest, options: ConverseOptions): Promise<Outcome> {
  const { connection, view, asker, signal } = options;
  const { agent } = request;
  let next = request;
  for (;;) {
    const outcome = await follow(connection.client.send(next, signal), view);
    const { taskId, end } = outcome;
    if (taskId === undefined && end.state === 'failed' && !signal.aborted)
      throw await refusal(connection, end.text, agent);
    view(end);
    if (taskId === undefined || !isInterrupted(end.state)) return outcome;
    const { questions } = end;
    const parts = await repliesTo(questions, asker);
    if (parts.length === 0 || !isWhole(questions, parts)) return outcome;
    next = { parts, taskId, agent, questions };
  }
}

/** Shows all events but the last one, and resolves with that one. */
export async function follow(events: AsyncIterable<ClientEvent>, view: View): Promise<Outcome> {
  let taskId: string | undefined;
  let hasDelegated = false;
  for await (const event of events) {
    if (event.type === 'end') return { taskId, end: event, hasDelegated };
    if (event.type === 'task') taskId = event.taskId;
    if (event.type === 'activity' && event.activity.type === 'delegation-start') hasDelegated = true;
    view(event);
  }
  throw new Error('The stream of events had no end.');
}

async function repliesTo(questions: readonly Question[], asker: Asker): Promise<readonly Part[]> {
  const parts: Part[] = [];
  for (const question of questions) {
    const reply = await asker(question);
    if (!reply) continue;
    // An agent that does not know our extension asks one question in words, and takes words.
    const isPlain = question.kind === 'input' && questions.length === 1;
    parts.push(isPlain ? textPart(reply.text ?? '') : replyPart(reply));
  }
  return parts;
}

/** Whether these parts can be sent. An agent of another framework takes its decisions at once, and may not ask again. */
export function isWhole(questions: readonly Question[], parts: readonly Part[]): boolean {
  const decided = new Set(repliesIn(parts).map(({ hash }) => hash));
  return decided.size === 0 || questions.every(({ hash, replies }) => !replies || decided.has(hash));
}

/** Replies to a question. Resolves with undefined to leave it open. */
export type Asker = (question: Question) => Promise<Reply | undefined>;

/**
 * Asks the person at the terminal, which rings. The view has shown the question already. With `standing` the person can
 * also allow every further call of that tool by that agent; such calls are allowed without a question.
 */
export function terminalAsker(terminal: Terminal, standing?: StandingApprovals): Asker {
  const { progress, note, ring } = terminal;
  return async (question) => {
    if (standing?.covers(question)) {
      note(safeLine(`Allowed: ${question.tool} by ${question.author}, as you said.`));
      return { hash: question.hash, decision: 'approve' };
    }
    progress.stop();
    ring();
    const asking = question.kind === 'input' ? askForText(question) : askForDecision(question, standing);
    const reply = await asking;
    progress.start('working');
    return reply;
  };
}

const SECRET_REFERENCE = '{{secret:';

/** The approvals that a person gave for all further calls of one tool by one agent, for as long as this object is kept. */
export class StandingApprovals {
  readonly #capabilities: readonly Capability[];
  readonly #allowed = new Set<string>();

  constructor(capabilities: readonly Capability[]) {
    this.#capabilities = capabilities;
  }

  /** Whether calls such as this one may be allowed ahead: nothing that moves money, uses a key or holds a secret. */
  mayCover({ kind, tool, arguments: given }: Question): boolean {
    if (kind !== 'approval' || tool === undefined) return false;
    if (this.#capabilities.some(({ decidedSingly }) => decidedSingly?.test(tool))) return false;
    return !JSON.stringify(given ?? {}).includes(SECRET_REFERENCE);
  }

  covers(question: Question): boolean {
    return this.mayCover(question) && this.#allowed.has(keyOf(question));
  }

  add(question: Question): void {
    this.#allowed.add(keyOf(question));
  }
}

const keyOf = ({ author, tool }: Question): string => JSON.stringify([author, tool]);

/** Leaves all questions open. */
export const leavingOpen: Asker = async () => undefined;

/** Approves each call that waits for approval. Other questions go to `next`. */
export function approving(next: Asker): Asker {
  return async (question) =>
    question.kind === 'approval' ? { hash: question.hash, decision: 'approve' } : next(question);
}

/** The command lines that reply to the questions of a waiting task, with the flags of the same server. */
export function replyCommands(taskId: string, questions: readonly Question[], flags: ConnectionFlags) {
  const flagWords = (['url', 'home', 'config'] as const).map((name) =>
    flags[name] === undefined ? '' : ` --${name} ${shellWord(flags[name])}`,
  );
  const send = `lango send${flagWords.join('')} --task ${shellWord(taskId)}`;
  return questions.flatMap(({ kind, hash }) => {
    if (kind === 'input') return [`To reply:   ${send} "your reply"`];
    const name = shellWord(hash);
    return [`To approve: ${send} --approve ${name}`, `To deny:    ${send} --deny ${name} --reason "why"`];
  });
}

async function askForText({ hash }: Question): Promise<Reply | undefined> {
  const { isCancel, text } = await import('@clack/prompts');
  const reply = await text({ message: 'Your reply (empty: later)', output: process.stderr });
  if (isCancel(reply) || !reply.trim()) return undefined;
  return { hash, decision: 'approve', text: reply };
}

async function askForDecision(question: Question, standing?: StandingApprovals): Promise<Reply | undefined> {
  const { isCancel, select, text } = await import('@clack/prompts');
  const { hash, kind, tool = '', author } = question;
  const output = process.stderr;
  const always = safeLine(`Yes, and every further call of ${tool} by ${author} in this conversation`);
  const choice = await select({
    message: kind === 'approval' ? 'Allow this call?' : 'Run it again?',
    output,
    // The first one, so that Enter, pressed without reading, allows nothing. The list goes round: neither end is a yes.
    initialValue: 'deny',
    options: [
      { value: 'deny', label: 'No' },
      { value: 'approve', label: 'Yes' },
      ...(standing?.mayCover(question) ? [{ value: 'always', label: always }] : []),
      { value: 'explain', label: 'No, and say why' },
      { value: 'later', label: 'Decide later' },
    ],
  });
  if (isCancel(choice) || choice === 'later') return undefined;
  if (choice === 'always') standing?.add(question);
  if (choice === 'approve' || choice === 'always') return { hash, decision: 'approve' };
  if (choice === 'deny') return { hash, decision: 'deny' };
  const reason = await text({ message: 'Why not? The agent gets this reason.', output });
  return isCancel(reason) ? undefined : { hash, decision: 'deny', text: reason };
}
