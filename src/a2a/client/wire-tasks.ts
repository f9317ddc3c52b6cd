import { TaskState } from '@a2a-js/sdk';
import type { RequestOptions, Transport } from '@a2a-js/sdk/client';
import { ServiceParameters, withA2AExtensions, withA2AVersion } from '@a2a-js/sdk/client';
import type { Caller } from '../../core/identity.js';
import { toSendRequest } from '../translate/content.js';
import type { TaskCall, TaskCalls } from '../translate/task-calls.js';
import { fromWireTask, fromWireUpdate } from '../translate/updates.js';

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
export function wireTasks(facts: WireFacts): TaskCalls {
  const { transport, streams } = facts;
  return {
    /** Without streams, yields the one snapshot that the agent returns. */
    async *send(message, ids, call) {
      const request = toSendRequest(message, ids);
      const options = await requestOptions(facts, call);
      if (streams) {
        for await (const event of transport.sendMessageStream(request, options)) yield fromWireUpdate(event);
        return;
      }
      const result = await transport.sendMessage(request, options);
      const isMessage = 'messageId' in result;
      yield isMessage
        ? fromWireUpdate({ payload: { $case: 'message', value: result } })
        : fromWireTask(result);
    },

    async *subscribe(id, call) {
      const events = transport.resubscribeTask({ tenant: '', id }, await requestOptions(facts, call));
      for await (const event of events) yield fromWireUpdate(event);
    },

    async get(id, call) {
      const request = { tenant: '', id, historyLength: 0 };
      return fromWireTask(await transport.getTask(request, await requestOptions(facts, call)));
    },

    async cancel(id, call) {
      const request = { tenant: '', id, metadata: undefined };
      await transport.cancelTask(request, await requestOptions(facts, call));
    },

    async find({ contextId, id }, call) {
      const query = {
        tenant: '',
        contextId,
        status: TaskState.TASK_STATE_UNSPECIFIED,
        pageSize: MAX_TASKS,
        pageToken: '',
        historyLength: MAX_MESSAGES,
        statusTimestampAfter: undefined,
      };
      const { tasks } = await transport.listTasks(query, await requestOptions(facts, call));
      return tasks.find(({ history }) => history.some(({ messageId }) => messageId === id))?.id;
    },
  };
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
