import {
  AgentCard,
  CancelTaskRequest,
  DeleteTaskPushNotificationConfigRequest,
  GetExtendedAgentCardRequest,
  GetTaskPushNotificationConfigRequest,
  GetTaskRequest,
  ListTaskPushNotificationConfigsRequest,
  ListTaskPushNotificationConfigsResponse,
  ListTasksRequest,
  ListTasksResponse,
  SendMessageRequest,
  SendMessageResponse,
  SubscribeToTaskRequest,
  Task,
  TaskPushNotificationConfig,
} from '@a2a-js/sdk';
import type { MessageFns, StreamResponse } from '@a2a-js/sdk';
import { A2AService } from '@a2a-js/sdk/server/grpc';
import { LangoError } from '../../../core/errors.js';
import { isJsonObject } from '../../../core/json.js';
import type { OperationName } from '../operations.js';
import type { ProtocolVersion } from '../service-parameters.js';

/** One method of a gRPC service: its operation, and the translation of its messages to the JSON of A2A 1.0. */
export interface GrpcMethod {
  readonly path: string;
  readonly operation: OperationName;
  /** Decodes a request. Throws `invalid-input`. */
  decode(bytes: Buffer): GrpcRequest;
  /** Encodes a result. */
  encode(result: unknown): Buffer;
  /** Encodes one event of a stream. */
  encodeEvent(event: StreamResponse): Buffer;
}

interface GrpcRequest {
  /** The agent that the request names; empty when it names none, undefined when its protocol version cannot name one. */
  readonly tenant: string | undefined;
  readonly params: unknown;
}

export interface GrpcDialect {
  readonly version: ProtocolVersion;
  readonly methods: readonly GrpcMethod[];
}

/** The service of A2A 1.0 (section 10). Its messages have the same JSON as those of the other bindings. */
export const DIALECT_1_0: GrpcDialect = {
  version: '1.0',
  methods: [
    method('sendMessage', SendMessageRequest, SendMessageResponse),
    method('sendStreamingMessage', SendMessageRequest),
    method('getTask', GetTaskRequest, Task),
    method('listTasks', ListTasksRequest, ListTasksResponse),
    method('cancelTask', CancelTaskRequest, Task),
    method('subscribeToTask', SubscribeToTaskRequest),
    method('createTaskPushNotificationConfig', TaskPushNotificationConfig, TaskPushNotificationConfig),
    method('getTaskPushNotificationConfig', GetTaskPushNotificationConfigRequest, TaskPushNotificationConfig),
    method(
      'listTaskPushNotificationConfigs',
      ListTaskPushNotificationConfigsRequest,
      ListTaskPushNotificationConfigsResponse,
    ),
    method('deleteTaskPushNotificationConfig', DeleteTaskPushNotificationConfigRequest),
    method('getExtendedAgentCard', GetExtendedAgentCardRequest, AgentCard),
  ],
};

function method<Sent>(
  name: keyof A2AService,
  sent: MessageFns<Sent>,
  result?: MessageFns<unknown>,
): GrpcMethod {
  const definition = A2AService[name];
  const deserialize = definition.requestDeserialize as (bytes: Buffer) => Sent;
  const serialize = definition.responseSerialize as (message: unknown) => Buffer;
  return {
    path: definition.path,
    operation: (name[0]!.toUpperCase() + name.slice(1)) as OperationName,
    decode: (bytes) => requestOf(sent.toJSON(decoded(deserialize, bytes))),
    encode: (json) => serialize(result ? result.fromJSON(json) : {}),
    encodeEvent: serialize,
  };
}

/** Decodes bytes. Throws `invalid-input` when they are not such a message. */
export function decoded<Sent>(deserialize: (bytes: Buffer) => Sent, bytes: Buffer): Sent {
  try {
    return deserialize(bytes);
  } catch (cause) {
    throw new LangoError('invalid-input', 'the message cannot be decoded', { cause });
  }
}

/** Takes the tenant out of the parameters: it selects the agent. */
function requestOf(json: unknown): GrpcRequest {
  if (!isJsonObject(json)) return { tenant: '', params: {} };
  const { tenant, ...params } = json;
  return { tenant: typeof tenant === 'string' ? tenant : '', params };
}
