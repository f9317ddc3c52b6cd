import type { EndEvent } from '../a2a/client/reader.js';
import type { TaskView } from '../a2a/client/client.js';
import { isInterrupted } from '../core/task.js';
import { connect } from './connection.js';
import type { ConverseOptions, Outcome } from './conversation.js';
import { answerCommands, follow } from './conversation.js';
import { exitCodeOfState, onInterrupt } from './exit.js';
import { ask, refusal } from './explain.js';
import type { TaskRef, TaskFlags } from './tasks.js';
import { locateTask, refTo } from './tasks.js';
import type { CommandContext, Terminal } from './terminal.js';
import type { View } from './view.js';
import { answerView, jsonLinesView, storyView } from './view.js';

export interface WatchFlags extends TaskFlags {
  /** False with `--no-stream`. */
  readonly stream: boolean;
}

/** `lango tasks watch`: shows a task from its first event to its end. Ctrl-C leaves the task as it is. */
export async function watch(taskId: string, flags: WatchFlags, context: CommandContext): Promise<number> {
  const { env, terminal } = context;
  const connection = await connect(flags, env);
  const { agent } = await locateTask(connection, taskId, flags.agent);
  const leaving = new AbortController();
  using interrupt = onInterrupt(() => leaving.abort(new Error('no longer watched')));
  const view = viewOf(flags, terminal);
  terminal.progress.start('watching');
  const { end, taskId: seen } = await watched(refTo(taskId, agent), {
    connection,
    view,
    signal: leaving.signal,
  }).finally(() => terminal.progress.stop());
  if (interrupt.exitCode !== undefined) return interrupt.exitCode;
  if (seen === undefined) throw await refusal(connection, end.text, agent);
  view.show(end);
  if (!flags.json) for (const line of answerCommands(taskId, end.questions, flags)) terminal.note(line);
  return exitCodeOfState(end.state);
}

function viewOf({ json, stream }: WatchFlags, terminal: Terminal): View {
  if (json) return jsonLinesView(terminal);
  return stream ? storyView(terminal) : answerView(terminal);
}

/**
 * Follows the task from its first event. That stream ends at the first question. When the question has been answered
 * since, the task is shown in its present state and followed from there.
 */
async function watched(task: TaskRef, options: Omit<ConverseOptions, 'asker'>): Promise<Outcome> {
  const { connection, view, signal } = options;
  const replay = await follow(connection.client.subscribe({ ...task, after: 0 }, signal), view);
  if (signal.aborted || !isInterrupted(replay.end.state)) return replay;
  const now = await ask(connection, connection.client.get(task));
  return isStillAt(replay.end, now) ? replay : follow(connection.client.subscribe(task, signal), view);
}

function isStillAt(end: EndEvent, now: TaskView): boolean {
  const open = new Set(now.questions.map(({ hash }) => hash));
  return now.state === end.state && end.questions.every(({ hash }) => open.has(hash));
}
