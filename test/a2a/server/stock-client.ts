import type { Part, StreamResponse, Task } from '@a2a-js/sdk';
import { Role } from '@a2a-js/sdk';
import type { CallInterceptor, ClientConfig } from '@a2a-js/sdk/client';
import {
  ClientFactory,
  ClientFactoryOptions,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client';
import { GrpcTransportFactory } from '@a2a-js/sdk/client/grpc';
import { newId } from '../../../src/core/ids.js';
import { TOKEN } from '../../support/a2a-node.js';

/** The published client of the SDK, with a token and nothing else of ours. */

/** Adds the token to every call, on every transport, by the SDK's interceptor. */
const withToken: CallInterceptor = {
  async before(call) {
    const serviceParameters = { ...call.options?.serviceParameters, authorization: `Bearer ${TOKEN}` };
    call.options = { ...call.options, serviceParameters };
  },
  async after() {},
};

export function clientFactory(transport: string, config: ClientConfig = {}): ClientFactory {
  return new ClientFactory(
    ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
      transports: [new JsonRpcTransportFactory(), new RestTransportFactory(), new GrpcTransportFactory()],
      preferredTransports: [transport],
      clientConfig: { ...config, interceptors: [withToken] },
    }),
  );
}

const PLAIN = { metadata: undefined, filename: '', mediaType: '' };

export function textPart(value: string): Part {
  return { ...PLAIN, content: { $case: 'text', value } };
}

export interface Place {
  readonly taskId?: string;
  readonly contextId?: string;
}

export function textRequest(text: string, place: Place = {}) {
  return partsRequest([textPart(text)], place);
}

export function partsRequest(parts: Part[], place: Place = {}) {
  return {
    tenant: '',
    message: {
      messageId: newId(),
      role: Role.ROLE_USER,
      parts,
      contextId: place.contextId ?? '',
      taskId: place.taskId ?? '',
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    },
    configuration: undefined,
    metadata: undefined,
  };
}

export const RETURN_AT_ONCE = {
  acceptedOutputModes: [],
  taskPushNotificationConfig: undefined,
  returnImmediately: true,
};

export function asTask(result: object): Task {
  if (!('status' in result)) throw new Error('a message where a task was due');
  return result as Task;
}

export function answerOf(task: Task): string {
  return task.artifacts
    .flatMap(({ parts }) => parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')))
    .join('');
}

export async function collect(stream: AsyncIterable<StreamResponse>): Promise<StreamResponse[]> {
  const events: StreamResponse[] = [];
  for await (const event of stream) events.push(event);
  return events;
}
