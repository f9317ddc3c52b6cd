import type { AgentClient, TaskView } from '../a2a/client/client.js';
import { LangoError } from '../core/errors.js';
import { defined } from '../core/json.js';
import { textOf } from '../core/message.js';
import { replyPart } from '../core/questions.js';
import type { Work } from './cells.js';
import type { EvalNode } from './node.js';

/**
 * Sends the messages of a case. Returns the id of the last task. The ids of messages and of the context are the same
 * in each attempt, so a server that goes on after a crash finds the tasks that it has.
 */
export async function converse(work: Work, node: EvalNode): Promise<string> {
  const { id, one, messages, agent } = work;
  const { client } = node;
  const to = defined({ agent });
  const hasNews = one.messages !== undefined;
  let task: TaskView | undefined;
  if (one.at !== undefined) {
    const message = hasNews ? textOf(messages[0]!) : undefined;
    const taskId = await node.fork(work.record!, one.at, defined({ message, agent }));
    for await (const event of client.subscribe({ taskId, ...to }, neverAborted()))
      if (event.type === 'end') break;
    task = await answered(client, { taskId, ...to }, one.approve);
  }
  const begunWith = task && hasNews ? 1 : 0;
  const { contextId = id } = task ?? {};
  for (const [index, parts] of messages.entries()) {
    const messageId = `message-${index + 1}`;
    if (index < begunWith || task?.history.some((known) => known.id === messageId)) continue;
    const waiting = task?.state === 'input-required' ? { taskId: task.id } : {};
    const taskId = await send(client, { parts, messageId, contextId, ...waiting, ...to });
    task = await answered(client, { taskId, ...to }, one.approve);
  }
  return task!.id;
}

/** The most rounds of approvals after one message. */
const MAX_ROUNDS = 100;

/** Approves what a task asks, if the case says so. Resolves with the task, which has ended or waits for a person. */
async function answered(
  client: AgentClient,
  to: Parameters<AgentClient['get']>[0],
  approve = false,
): Promise<TaskView> {
  for (let round = 0; ; round += 1) {
    const task = await client.get(to);
    const { questions } = task;
    const approvals = questions.filter(({ kind }) => kind === 'approval');
    if (!approve || approvals.length === 0 || round === MAX_ROUNDS) return task;
    const parts = approvals.map(({ hash }) => replyPart({ hash, decision: 'approve' }));
    await send(client, { ...to, parts, messageId: `approve-${approvals[0]!.hash}`, questions });
  }
}

/** The task has a limit of time of its own. */
const neverAborted = (): AbortSignal => new AbortController().signal;

/** Sends a message and waits until the task has ended, or waits for a person. Resolves with its id. Rejects without a task. */
export async function send(
  client: AgentClient,
  request: Parameters<AgentClient['send']>[0],
): Promise<string> {
  let { taskId } = request;
  let said = '';
  for await (const event of client.send(request, neverAborted())) {
    if (event.type === 'task') ({ taskId } = event);
    if (event.type === 'end') said = event.text;
  }
  if (taskId === undefined) throw new LangoError('unavailable', `The message made no task: ${said}`);
  return taskId;
}
