import type { StreamResponse, Task } from '@a2a-js/sdk';
import { isLangoError } from '../../../core/errors.js';
import { newId } from '../../../core/ids.js';
import { defined, type JsonObject } from '../../../core/json.js';
import { toCallContext, type Call } from '../../translate/call.js';
import { isInWork } from '../../translate/content.js';
import { authorIn } from '../../translate/extensions.js';
import { OPERATIONS, type PublishedAgent, type Request, type UnaryOperation } from '../operations.js';
import type { CallArguments } from './tools.js';

/** The outcome of a call: the task, or the message that an executor publishes in place of a task. */
export type Outcome = Task | Extract<StreamResponse['payload'], { $case: 'message' }>['value'];

interface AgentCallOptions {
  readonly agent: PublishedAgent;
  readonly call: Call;
  /** Reports one step of an agent, in one line. */
  readonly progress: (line: string) => Promise<void>;
  /** Whether a client that closed the connection meant to cancel. Called after `call.signal` has aborted. */
  readonly isCanceled: () => boolean;
}

/**
 * Carries out one tool call by the operations of A2A, which admit the caller, check, limit and audit it. Resolves once the
 * task has ended or waits for a person, or the client has closed the connection. Throws like the operations.
 */
export async function callAgent(given: CallArguments, options: AgentCallOptions): Promise<Outcome> {
  const { message, answers: replies, taskId } = given;
  if (given.cancel) return taskOf(OPERATIONS.CancelTask, taskId!, options);
  const isSent = message !== undefined || replies !== undefined;
  if (!isSent) {
    const task = await taskOf(OPERATIONS.GetTask, taskId!, options);
    if (!isInWork(task.status)) return task;
  }
  const events = isSent
    ? OPERATIONS.SendStreamingMessage.events(requestOf({ message: toMessage(given) }, options))
    : OPERATIONS.SubscribeToTask.events(requestOf({ id: taskId! }, options));
  const { reply, id = taskId } = await follow(events, { ...options, isSent });
  if (reply) return reply;
  // A copy, since its members outlive the HTTP request that they are read from.
  const { scope, signal, from, trace } = options.call;
  const detached = { scope, trace, after: undefined, ...defined({ from }), signal: AbortSignal.any([]) };
  const later = { ...options, call: detached };
  const task = await taskOf(OPERATIONS.GetTask, id!, later);
  if (!signal.aborted || !options.isCanceled() || !isInWork(task.status)) return task;
  return taskOf(OPERATIONS.CancelTask, task.id, later);
}

function toMessage(given: CallArguments) {
  const { message, files = [], answers: replies = [], taskId, contextId, messageId = newId() } = given;
  return {
    messageId,
    role: 'ROLE_USER',
    parts: [
      ...(message === undefined ? [] : [{ text: message }]),
      ...files.map(({ bytes, mediaType, name }) => ({ raw: bytes, mediaType, filename: name })),
      ...replies.map((reply) => ({ data: { answer: reply }, mediaType: 'application/json' })),
    ],
    ...defined({ taskId, contextId }),
  };
}

/** Reports progress until the task is no longer in work. A task that has ended in the meantime is no error. */
async function follow(
  events: AsyncIterable<StreamResponse>,
  { progress, isSent }: Pick<AgentCallOptions, 'progress'> & { readonly isSent: boolean },
): Promise<{ readonly id?: string; readonly reply?: Exclude<Outcome, Task> }> {
  let id: string | undefined;
  try {
    for await (const { payload } of events) {
      if (payload?.$case === 'message') return { reply: payload.value };
      if (payload?.$case === 'task') {
        ({ id } = payload.value);
        await progress(`task ${id}`);
        // The task that a reply was sent to may still wait for it.
        if (!isSent && !isInWork(payload.value.status)) break;
        continue;
      }
      if (payload?.$case !== 'statusUpdate') continue;
      const line = lineOf(payload.value.metadata);
      if (line !== undefined) await progress(line);
      if (!isInWork(payload.value.status)) break;
    }
  } catch (error) {
    // The task has ended since it was read above.
    if (isSent || !isLangoError(error, 'already-ended')) throw error;
  }
  return id === undefined ? {} : { id };
}

/** One line for an activity; undefined for texts, which come in small chunks and are whole in the result. */
function lineOf(metadata: unknown): string | undefined {
  const { author, activity } = authorIn(metadata) ?? {};
  switch (activity?.type) {
    case 'tool-call':
      return `${author}: calls ${activity.tool}`;
    case 'tool-result':
      return `${author}: ${activity.tool} ${activity.isError ? 'failed' : 'is done'}`;
    case 'delegation-start':
      return `${author}: asks ${activity.agent}`;
    case 'delegation-end':
      return `${author}: ${activity.agent} is ${activity.state}`;
    default:
      return undefined;
  }
}

async function taskOf(operation: UnaryOperation, id: string, options: AgentCallOptions): Promise<Task> {
  const { message } = await operation.call(requestOf({ id }, options));
  return message as Task;
}

function requestOf(params: JsonObject, { agent, call }: AgentCallOptions): Request {
  return { agent, params, context: toCallContext(call) };
}
