import { TaskState, type SendMessageRequest, type Task } from '@a2a-js/sdk';
import type { RequestOptions, Transport } from '@a2a-js/sdk/client';
import { ServiceParameters, withA2AExtensions, withA2AVersion } from '@a2a-js/sdk/client';
import type { Caller } from '../../core/identity.js';
import type { Message } from '../../core/message.js';
import { toSendRequest, type MessageIds } from '../translate/content.js';
import type { TaskCall, TaskCalls } from '../translate/task-calls.js';
import { fromWireTask, fromWireUpdate, type TaskUpdate } from '../translate/updates.js';

/** Makes the bearer token that names a caller to a node that trusts this one, for a delegation of `task`. */
export type CredentialFor = (caller: Caller, task: string | undefined) => Promise<string>;

/** The way to an agent of another server, and what the agent supports. */
export interface WireFacts {
  readonly transport: Transport;
  /** Whether sends and subscriptions are event streams. Otherwise the task is polled. */
  readonly streams: boolean;
  readonly extensions: readonly string[];
  /** Undefined for servers that must not learn the caller. */
  readonly credentialFor?: CredentialFor | undefined;
}

/** The number of tasks of a context, and of messages of each, that are searched for a message: the newest. */
const MAX_TASKS = 20;
const MAX_MESSAGES = 50;

/** The calls about the tasks of an agent of another server. */
export class WireTasks implements TaskCalls {
  readonly #facts: WireFacts;

  constructor(facts: WireFacts) {
    this.#facts = facts;
  }

  /** Without streams, yields the one snapshot that the agent returns. */
  async *send(
    message: Message,
    ids: MessageIds,
    call: TaskCall,
  ): AsyncGenerator<TaskUpdate | undefined, void, undefined> {
    const { transport, streams } = this.#facts;
    const request = toSendRequest(message, ids);
    const options = await requestOptions(this.#facts, call);
    if (!streams) yield await sendAlone(transport, request, options);
    else for await (const event of transport.sendMessageStream(request, options)) yield fromWireUpdate(event);
  }

  async *subscribe(id: string, call: TaskCall): AsyncGenerator<TaskUpdate | undefined, void, undefined> {
    const options = await requestOptions(this.#facts, call);
    const events = this.#facts.transport.resubscribeTask({ tenant: '', id }, options);
    for await (const event of events) yield fromWireUpdate(event);
  }

  async get(id: string, call: TaskCall): Promise<TaskUpdate> {
    const request = { tenant: '', id, historyLength: 0 };
    return fromWireTask(
      await this.#facts.transport.getTask(request, await requestOptions(this.#facts, call)),
    );
  }

  async cancel(id: string, call: TaskCall): Promise<void> {
    const request = { tenant: '', id, metadata: undefined };
    await this.#facts.transport.cancelTask(request, await requestOptions(this.#facts, call));
  }

  async find(
    { contextId, id }: { readonly contextId: string; readonly id: string },
    call: TaskCall,
  ): Promise<string | undefined> {
    const query = {
      tenant: '',
      contextId,
      status: TaskState.TASK_STATE_UNSPECIFIED,
      pageSize: MAX_TASKS,
      pageToken: '',
      historyLength: MAX_MESSAGES,
      statusTimestampAfter: undefined,
    };
    const options = await requestOptions(this.#facts, call);
    const { tasks } = await this.#facts.transport.listTasks(query, options);
    return tasks.find(({ history }: Task) => history.some(({ messageId }) => messageId === id))?.id;
  }
}

async function sendAlone(
  transport: Transport,
  request: SendMessageRequest,
  options: RequestOptions,
): Promise<TaskUpdate | undefined> {
  const result = await transport.sendMessage(request, options);
  const isMessage = 'messageId' in result;
  return isMessage ? fromWireUpdate({ payload: { $case: 'message', value: result } }) : fromWireTask(result);
}

export async function requestOptions(
  { transport, extensions, credentialFor }: WireFacts,
  { scope, task, signal, after, trace }: TaskCall,
): Promise<RequestOptions> {
  const serviceParameters = ServiceParameters.create(withA2AVersion(transport.protocolVersion));
  if (extensions.length > 0) withA2AExtensions(...extensions)(serviceParameters);
  if (after !== undefined) serviceParameters['Last-Event-ID'] = String(after);
  Object.assign(serviceParameters, trace);
  if (scope && credentialFor)
    serviceParameters['authorization'] = `Bearer ${await credentialFor(scope, task)}`;
  return { signal, serviceParameters };
}
