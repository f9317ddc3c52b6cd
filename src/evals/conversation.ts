import type { AgentClient } from '../a2a/client/client.js';
import { LangoError } from '../core/errors.js';
import { textOf } from '../core/message.js';
import { replyPart } from '../core/questions.js';
import type { Cell } from './cells.js';
import type { EvalNode } from './node.js';

/**
 * Sends the messages of a case. Returns the id of the last task. The ids of messages and of the context are the same
 * in each attempt, so a server that goes on after a crash finds the tasks that it has.
 */
export async function converse(cell: Cell, node: EvalNode): Promise<string> {
  const { id, one, messages, agent } = cell;
  const { client } = node;
  const to = agent === undefined ? {} : { agent };
  const begun = one.at === undefined ? undefined : await forkOf(cell, one.at, node);
  const contextId = begun?.contextId ?? id;
  let taskId = begun?.taskId ?? '';
  let waits = begun !== undefined && (await approved(client, { taskId, ...to }, one.approve));
  for (const [index, parts] of messages.entries()) {
    if (index === 0 && begun?.hasMessage) continue;
    const messageId = `message-${index + 1}`;
    const about = { contextId, ...(waits && { taskId }) };
    const isKnown = taskId !== '' && (await hasMessage(client, { taskId, ...to }, messageId));
    if (!isKnown) taskId = await send(client, { parts, messageId, ...about, ...to });
    waits = await approved(client, { taskId, ...to }, one.approve);
  }
  return taskId;
}

/** Approves what a task asks, if the case says so. Returns whether the task waits for a person. */
async function approved(client: AgentClient, task: TaskRef, approve = false): Promise<boolean> {
  let { state, questions } = await client.get(task);
  for (let round = 0; approve && round < MAX_ROUNDS; round += 1) {
    const approvals = questions.filter(({ kind }) => kind === 'approval');
    if (approvals.length === 0) break;
    const parts = approvals.map(({ hash }) => replyPart({ hash, decision: 'approve' }));
    await send(client, { ...task, parts, messageId: `approve-${approvals[0]!.hash}`, questions });
    ({ state, questions } = await client.get(task));
  }
  return state === 'input-required';
}

/** Begins the task of a case that goes on after an event of its record, and waits until it has ended or waits for a person. */
async function forkOf({ one, messages, record, agent }: Cell, at: number, node: EvalNode) {
  const hasMessage = one.messages !== undefined;
  const message = hasMessage ? textOf(messages[0]!) : undefined;
  const { taskId, contextId } = await node.fork(record!, { at, message, agent });
  const events = node.client.subscribe({ taskId, ...(agent !== undefined && { agent }) }, neverAborted());
  for await (const event of events) if (event.type === 'end') break;
  return { taskId, contextId, hasMessage };
}

type TaskRef = Parameters<AgentClient['get']>[0];

/** The task has a limit of time of its own. */
const neverAborted = (): AbortSignal => new AbortController().signal;

/** The most rounds of approvals after one message. */
const MAX_ROUNDS = 100;

async function hasMessage(client: AgentClient, task: TaskRef, messageId: string): Promise<boolean> {
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
  for await (const event of client.send(request, neverAborted())) {
    if (event.type === 'task') ({ taskId } = event);
    if (event.type === 'end') said = event.text;
  }
  if (taskId === undefined) throw new LangoError('unavailable', `The message made no task: ${said}`);
  return taskId;
}
