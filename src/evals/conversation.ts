import type { AgentClient } from '../a2a/client/client.js';
import { LangoError } from '../core/errors.js';
import { replyPart } from '../core/questions.js';
import type { Cell } from './cells.js';

/**
 * Sends the messages of a case. Returns the id of the last task. The ids of messages and of the context are the same
 * in each attempt, so a server that goes on after a crash finds the tasks that it has.
 */
export async function converse({ id, one, messages, agent }: Cell, client: AgentClient): Promise<string> {
  const to = agent === undefined ? {} : { agent };
  let taskId = '';
  let waits = false;
  for (const [index, parts] of messages.entries()) {
    const messageId = `message-${index + 1}`;
    const about = { contextId: id, ...(waits && { taskId }) };
    const isKnown = taskId !== '' && (await hasMessage(client, { taskId, ...to }, messageId));
    if (!isKnown) taskId = await send(client, { parts, messageId, ...about, ...to });
    let task = await client.get({ taskId, ...to });
    for (let round = 0; one.approve && round < MAX_ROUNDS && task.questions.length > 0; round += 1) {
      const { questions } = task;
      const approvals = questions.filter(({ kind }) => kind === 'approval');
      if (approvals.length === 0) break;
      const replies = approvals.map(({ hash }) => replyPart({ hash, decision: 'approve' }));
      await send(client, {
        parts: replies,
        messageId: `approve-${approvals[0]!.hash}`,
        taskId,
        questions,
        ...to,
      });
      task = await client.get({ taskId, ...to });
    }
    waits = task.state === 'input-required';
  }
  return taskId;
}

/** The most rounds of approvals after one message. */
const MAX_ROUNDS = 100;

async function hasMessage(
  client: AgentClient,
  task: Parameters<AgentClient['get']>[0],
  messageId: string,
): Promise<boolean> {
  const { history } = await client.get(task);
  return history.some(({ id }) => id === messageId);
}

/** Sends a message and waits until the task has ended, or waits for a person. Resolves with its id. Rejects without a task. */
export async function send(
  client: AgentClient,
  request: Parameters<AgentClient['send']>[0],
): Promise<string> {
  let taskId = request.taskId;
  let said = '';
  // The task has a limit of time of its own.
  for await (const event of client.send(request, new AbortController().signal)) {
    if (event.type === 'task') ({ taskId } = event);
    if (event.type === 'end') said = event.text;
  }
  if (taskId === undefined) throw new LangoError('unavailable', `The message made no task: ${said}`);
  return taskId;
}
