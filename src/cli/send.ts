import { text as readAll } from 'node:stream/consumers';
import type { SendRequest } from '../a2a/client/client.js';
import { LangoError } from '../core/errors.js';
import type { Part } from '../core/message.js';
import { textPart } from '../core/message.js';
import { answerPart } from '../core/questions.js';
import type { Connection, ConnectionFlags } from './connection.js';
import { connect } from './connection.js';
import type { Asker, Outcome } from './conversation.js';
import { approving, leavingOpen, terminalAsker, answerCommands, converse } from './conversation.js';
import { exitCodeOfState, usageError, onInterrupt } from './exit.js';
import { jsonLine } from './safe-text.js';
import { locateTask } from './tasks.js';
import type { CommandContext, Terminal } from './terminal.js';
import type { View } from './view.js';
import { answerView, jsonLinesView, silentView, storyView } from './view.js';

export interface SendFlags extends ConnectionFlags {
  readonly agent?: string;
  readonly context?: string;
  readonly task?: string;
  readonly stream?: boolean;
  readonly json?: boolean;
  readonly yes?: boolean;
  /** False with `--no-input`. */
  readonly input: boolean;
  readonly approve?: readonly string[];
  readonly deny?: readonly string[];
  readonly reason?: string;
}

/** `lango send`: sends one request and shows its task to the end. */
export async function send(
  words: readonly string[],
  flags: SendFlags,
  { env, terminal }: CommandContext,
): Promise<number> {
  const parts = await partsOf(words, flags);
  const connection = await connect(flags, env);
  const request = await requestOf(parts, flags, connection);

  const canceling = new AbortController();
  using interrupt = onInterrupt(() => {
    terminal.note('Canceling the task; once more leaves at once.');
    canceling.abort(new LangoError('canceled', 'Canceled from the command line.'));
  });
  terminal.progress.start('waiting for the server');
  const { signal } = canceling;
  const options = { connection, view: viewOf(flags, terminal), asker: askerOf(flags, terminal), signal };
  const outcome = await converse(request, options).finally(() => terminal.progress.stop());

  if (flags.json && !flags.stream) terminal.print(jsonLine(await summary(outcome, request, connection)));
  if (outcome.taskId !== undefined && !flags.json) {
    for (const line of answerCommands(outcome.taskId, outcome.end.questions, flags)) terminal.note(line);
  }
  return interrupt.exitCode ?? exitCodeOfState(outcome.end.state);
}

/** The parts of the message: text, answers to questions, or both. */
async function partsOf(words: readonly string[], flags: SendFlags): Promise<readonly Part[]> {
  const { approve = [], deny = [], reason, task } = flags;
  const answers = [
    ...approve.map((hash) => answerPart({ hash, decision: 'approve' })),
    ...deny.map((hash) => answerPart({ hash, decision: 'deny', ...(reason ? { text: reason } : {}) })),
  ];
  if (answers.length > 0 && task === undefined) {
    throw usageError('--approve and --deny answer a question of a task: name it with --task.');
  }
  if (reason !== undefined && deny.length === 0) throw usageError('--reason goes with --deny.');
  const isPiped = words.length === 1 && words[0] === '-';
  const text = (isPiped ? await readAll(process.stdin) : words.join(' ')).trim();
  if (text === '' && answers.length === 0) {
    throw usageError(
      'There is nothing to send.',
      'Write the request behind "send", or - to read it from a pipe.',
    );
  }
  return [...(text === '' ? [] : [textPart(text)]), ...answers];
}

async function requestOf(
  parts: readonly Part[],
  { agent, context, task }: SendFlags,
  connection: Connection,
): Promise<SendRequest> {
  const owner = task === undefined ? agent : (await locateTask(connection, task, agent)).agent;
  return {
    parts,
    ...(owner === undefined ? {} : { agent: owner }),
    ...(context === undefined ? {} : { contextId: context }),
    ...(task === undefined ? {} : { taskId: task }),
  };
}

function viewOf({ json, stream }: SendFlags, terminal: Terminal): View {
  if (json) return stream ? jsonLinesView(terminal) : silentView;
  return (stream ?? terminal.isLive) ? storyView(terminal) : answerView(terminal);
}

function askerOf({ json, yes, input }: SendFlags, terminal: Terminal): Asker {
  const asker = terminal.canAsk && input && !json ? terminalAsker(terminal) : leavingOpen;
  return yes ? approving(asker) : asker;
}

/** What `--json` prints. docs/reference/cli.md describes its shape. */
async function summary({ taskId, end }: Outcome, { agent }: SendRequest, { client }: Connection) {
  const { state, text, author, questions, usage } = end;
  const task =
    taskId === undefined
      ? undefined
      : await client.get({ taskId, ...(agent === undefined ? {} : { agent }) }).catch(() => undefined);
  return {
    taskId: taskId ?? null,
    contextId: task?.contextId ?? null,
    state,
    author,
    text,
    questions,
    artifacts: task?.artifacts ?? [],
    usage,
  };
}
