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

/** One method of a gRPC service: which operation it is, and how its messages look in the JSON of A2A 1.0. */
export interface GrpcMethod {
  readonly path: string;
  readonly operation: OperationName;
  /** What the client sent. Throws `invalid-input`. */
  decode(bytes: Buffer): GrpcRequest;
  /** The bytes of a result. */
  encode(result: unknown): Buffer;
  /** The bytes of one event of a stream. */
  encodeEvent(event: StreamResponse): Buffer;
}

interface GrpcRequest {
  /** The agent it is for; empty when it says none, undefined when it cannot say one. */
  readonly tenant: string | undefined;
  readonly params: unknown;
}

export interface GrpcDialect {
  readonly version: ProtocolVersion;
  readonly methods: readonly GrpcMethod[];
}

/** A2A 1.0 section 10: every message is the one that the other bindings write in JSON. */
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

/** Throws `invalid-input` for bytes that are no such message. */
export function decoded<Sent>(deserialize: (bytes: Buffer) => Sent, bytes: Buffer): Sent {
  try {
    return deserialize(bytes);
  } catch (cause) {
    throw new LangoError('invalid-input', 'the message cannot be decoded', { cause });
  }
}

/** The tenant chooses the agent; it is no parameter of the operation. */
function requestOf(json: unknown): GrpcRequest {
  if (!isJsonObject(json)) return { tenant: '', params: {} };
  const { tenant, ...params } = json;
  return { tenant: typeof tenant === 'string' ? tenant : '', params };
}
