import { text as readAll } from 'node:stream/consumers';
import type { SendRequest } from '../a2a/client/client.js';
import { LangoError } from '../core/errors.js';
import { textPart } from '../core/message.js';
import { replyPart } from '../core/questions.js';
import type { Question } from '../core/task.js';
import { attach, partsFor, saveFilesOf } from './attached-files.js';
import { connect, type Call, type Connection, type ConnectionFlags } from './connection.js';
import type { Asker, Outcome } from './conversation.js';
import { approving, converse, isWhole, leavingOpen, replyCommands, terminalAsker } from './conversation.js';
import { noteAbsentAgents } from './explain.js';
import { exitCodeOfState, onInterrupt, usageError } from '../terminal/exit.js';
import { jsonLine, safeLine } from '../terminal/safe-text.js';
import { contextOf, locateTask } from './tasks.js';
import type { Terminal } from '../terminal/terminal.js';
import { viewOf, type View } from './render.js';

/** The shortest beginning of a hash that is accepted: enough to tell apart the calls that wait. */
const SHORTEST_HASH = 8;

interface SendFlags extends ConnectionFlags {
  readonly agent?: string;
  readonly file?: readonly string[];
  readonly out?: string;
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
export async function send(words: readonly string[], call: Call<SendFlags>): Promise<number> {
  const { flags, terminal } = call;
  const text = await textGiven(words, flags);
  const files = await Promise.all((flags.file ?? []).map(attach));
  const connection = await connect(call);
  const located =
    flags.task === undefined ? undefined : await locateTask(connection, flags.task, flags.agent);
  const { id: taskId, questions = [] } = located ?? {};
  const { agent } = located ?? flags;
  const contextId = flags.context === undefined ? undefined : await contextOf(connection, flags.context);
  const parts = [
    ...(text === '' ? [] : [textPart(text)]),
    ...(await partsFor(files, connection, agent)),
    ...decisionsIn(flags, questions),
  ];

  const canceling = new AbortController();
  using interrupt = onInterrupt(() => {
    terminal.note('Canceling the task. Press Ctrl-C again to leave at once.');
    canceling.abort(new LangoError('canceled', 'Canceled from the command line.'));
  });
  terminal.progress.start('waiting for the server');
  const { signal } = canceling;
  const options = { connection, view: chooseView(flags, terminal), asker: askerOf(flags, terminal), signal };
  const request: SendRequest = { parts, agent, contextId, taskId, questions };
  const outcome = await converse(request, options).finally(() => terminal.progress.stop());

  if (flags.json && !flags.stream) terminal.print(jsonLine(await summary(outcome, agent, connection)));
  if (outcome.taskId !== undefined && !flags.json)
    replyCommands(outcome.taskId, outcome.end.questions, flags).map(terminal.typed).forEach(terminal.note);
  const { out } = flags;
  if (out !== undefined && outcome.taskId !== undefined)
    await saveFilesOf({ taskId: outcome.taskId, agent }, out, { connection, terminal });
  if (agent === undefined && !outcome.hasDelegated && interrupt.exitCode === undefined)
    await noteAbsentAgents(connection, terminal);
  return interrupt.exitCode ?? exitCodeOfState(outcome.end.state);
}

/** The text of the message; empty when the flags bring something else to send. */
async function textGiven(words: readonly string[], flags: SendFlags): Promise<string> {
  const { approve = [], deny = [], reason, task } = flags;
  const hasDecisions = approve.length + deny.length > 0;
  if (hasDecisions && task === undefined)
    throw usageError('--approve and --deny reply to a question of a task: name it with --task.');
  if (reason !== undefined && deny.length === 0) throw usageError('--reason goes with --deny.');
  const isPiped = words.length === 1 && words[0] === '-';
  const text = (isPiped ? await readAll(process.stdin) : words.join(' ')).trim();
  if (text !== '' || hasDecisions || flags.file !== undefined) return text;
  const hint = 'Write the request after "send", or - to read it from a pipe.';
  throw usageError('There is nothing to send.', hint);
}

/** The decisions on the open questions of a task. A beginning of a hash is enough when no other question has it. */
function decisionsIn({ approve = [], deny = [], reason }: SendFlags, open: readonly Question[]) {
  const all = open.map(({ hash }) => hash);
  const names = all.map((hash) => safeLine(hash)).join(', ');
  const hashOf = (given: string): string => {
    if (all.includes(given)) return given;
    const hashes = all.filter((hash) => hash.startsWith(given.toLowerCase()));
    if (given.length < SHORTEST_HASH || hashes.length === 0) {
      const hint = names === '' ? 'It asks nothing.' : `It asks: ${names}`;
      throw usageError(`The task does not ask ${safeLine(given)}.`, hint);
    }
    if (hashes.length === 1) return hashes[0]!;
    throw usageError(`Several questions begin with ${safeLine(given)}: ${hashes.join(', ')}.`);
  };
  const denial = { decision: 'deny' as const, ...(reason && { text: reason }) };
  const decisions = [
    ...approve.map((given) => replyPart({ hash: hashOf(given), decision: 'approve' })),
    ...deny.map((given) => replyPart({ hash: hashOf(given), ...denial })),
  ];
  if (isWhole(open, decisions)) return decisions;
  throw usageError('The agent of this task takes its decisions together.', `Reply to each of: ${names}`);
}

function chooseView({ json, stream }: SendFlags, terminal: Terminal): View {
  if (json) return stream ? viewOf('json', terminal) : () => {};
  return viewOf((stream ?? terminal.isLive) ? 'story' : 'output', terminal);
}

function askerOf({ json, yes, input }: SendFlags, terminal: Terminal): Asker {
  const asker = terminal.canAsk && input && !json ? terminalAsker(terminal) : leavingOpen;
  return yes ? approving(asker) : asker;
}

/** The output of `--json`. docs/reference/cli.md describes its shape. */
async function summary({ taskId, end }: Outcome, agent: string | undefined, { client }: Connection) {
  const { state, text, author, questions, usage } = end;
  const task = taskId === undefined ? undefined : await client.get({ taskId, agent }).catch(() => undefined);
  const contextId = task?.contextId ?? null;
  const artifacts = task?.artifacts ?? [];
  return { taskId: taskId ?? null, contextId, state, author, text, questions, artifacts, usage };
}
