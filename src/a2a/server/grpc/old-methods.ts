import { StreamResponse } from '@a2a-js/sdk';
import { LegacyA2AService } from '@a2a-js/sdk/compat/v0_3/server/grpc';
import { LangoError } from '../../../core/errors.js';
import { isJsonObject, objectIn, textIn, type JsonObject } from '../../../core/json.js';
import { OPERATIONS } from '../operations.js';
import type { OperationName } from '../requests.js';
import { PROTO_DIALECT } from '../v03/dialect.js';
import { decoded, type GrpcMethod } from './methods.js';
import { decodesProtoKey, encodesProtoKey } from './proto-key.js';
import { fromDecoded, toCard, toChoice, toConfig, toConfigs, toTask } from '../../translate/old-messages.js';

/** The service of A2A 0.3. Its requests cannot name an agent, so all calls go to the root agent. */
export const SERVICE_0_3: readonly GrpcMethod[] = [
  method('sendMessage', 'SendMessage', toChoice),
  method('sendStreamingMessage', 'SendStreamingMessage'),
  method('getTask', 'GetTask', toTask),
  method('cancelTask', 'CancelTask', toTask),
  method('taskSubscription', 'SubscribeToTask'),
  method('createTaskPushNotificationConfig', 'CreateTaskPushNotificationConfig', toConfig),
  method('getTaskPushNotificationConfig', 'GetTaskPushNotificationConfig', toConfig),
  method('listTaskPushNotificationConfig', 'ListTaskPushNotificationConfigs', toConfigs),
  method('deleteTaskPushNotificationConfig', 'DeleteTaskPushNotificationConfig'),
  method('getAgentCard', 'GetExtendedAgentCard', toCard),
];

const NAME = /^tasks\/([^/]+)(?:\/pushNotificationConfigs(?:\/([^/]+))?)?$/;

function method(
  name: keyof LegacyA2AService,
  operation: OperationName,
  toMessage: (json: JsonObject) => object = () => ({}),
): GrpcMethod {
  const definition = LegacyA2AService[name];
  const deserialize = decodesProtoKey<object>(definition.requestDeserialize);
  const serialize = encodesProtoKey(definition.responseSerialize as (message: unknown) => Buffer);
  return {
    path: definition.path,
    dialect: PROTO_DIALECT,
    operation: OPERATIONS[operation],
    decode(bytes) {
      const sent = fromDecoded(decoded(deserialize, bytes));
      return { tenant: '', params: PROTO_DIALECT.params(operation, paramsOf(operation, sent)) };
    },
    encode: (result) => serialize(toMessage(objectIn(PROTO_DIALECT.result(operation, result.toJson())))),
    encodeEvent: (event) =>
      serialize(toChoice(PROTO_DIALECT.event(operation, StreamResponse.toJSON(event) as JsonObject))),
  };
}

/** Replaces resource names by ids of tasks and configs. A history length of 0 means unlimited. */
function paramsOf(operation: OperationName, sent: JsonObject): JsonObject {
  const { request: message, name, parent, historyLength, configuration, ...rest } = sent;
  if (message !== undefined || configuration !== undefined) {
    if (!isJsonObject(configuration)) return { ...rest, message };
    const history = { historyLength: configuration['historyLength'] || undefined };
    return { ...rest, message, configuration: { ...configuration, ...history } };
  }
  const resource = name ?? parent;
  if (resource === undefined) return rest;
  const [, taskId, config] = NAME.exec(textIn(resource)) ?? [];
  if (taskId === undefined) throw new LangoError('invalid-input', 'name must have the form tasks/ID.');
  const id = operation.endsWith('Config') ? config : taskId;
  return { ...rest, taskId, id, historyLength: historyLength || undefined };
}
