import { isInterrupted } from '../core/task.js';
import { connect, type Call } from './connection.js';
import { follow, replyCommands, type ConverseOptions, type Outcome } from './conversation.js';
import { exitCodeOfState, onInterrupt } from '../terminal/exit.js';
import { ask, refusal } from './explain.js';
import { locateTask, type TaskFlags } from './tasks.js';
import { viewOf } from './render.js';

interface WatchFlags extends TaskFlags {
  /** False with `--no-stream`. */
  readonly stream: boolean;
}

/** `lango tasks watch`: shows a task from its first event to its end. Ctrl-C leaves the task as it is. */
export async function watch(given: string, call: Call<WatchFlags>): Promise<number> {
  const { flags, terminal } = call;
  const connection = await connect(call);
  const { agent, id: taskId } = await locateTask(connection, given, flags.agent);
  const leaving = new AbortController();
  using interrupt = onInterrupt(() => leaving.abort(new Error('no longer watched')));
  const view = viewOf(flags.json ? 'json' : flags.stream ? 'story' : 'output', terminal);
  terminal.progress.start('watching');
  const options = { connection, view, signal: leaving.signal };
  const watching = watched({ taskId, agent }, options).finally(() => terminal.progress.stop());
  const { end, taskId: seen } = await watching;
  if (interrupt.exitCode !== undefined) return interrupt.exitCode;
  if (seen === undefined) throw await refusal(connection, end.text, agent);
  view(end);
  if (!flags.json) replyCommands(taskId, end.questions, flags).map(terminal.typed).forEach(terminal.note);
  return exitCodeOfState(end.state);
}

/** Follows the task from its first event to a question; when somebody replied to it since, from its present state on. */
async function watched(
  task: { readonly taskId: string; readonly agent: string | undefined },
  { connection, view, signal }: Omit<ConverseOptions, 'asker'>,
): Promise<Outcome> {
  const replay = await follow(connection.client.subscribe({ ...task, after: 0 }, signal), view);
  if (signal.aborted || !isInterrupted(replay.end.state)) return replay;
  const now = await ask(connection, connection.client.get(task));
  const open = new Set(now.questions.map(({ hash }) => hash));
  const isOpen = now.state === replay.end.state && replay.end.questions.every(({ hash }) => open.has(hash));
  return isOpen ? replay : follow(connection.client.subscribe(task, signal), view);
}
