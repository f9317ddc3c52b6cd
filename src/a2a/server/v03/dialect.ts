import { isJsonObject, objectIn, objectsIn, textIn, type Json, type JsonObject } from '../../../core/json.js';
import { commonRoutes, type Dialect, type RestDialect } from '../dialect.js';
import { PROTO_PARTS, SCHEMA_PARTS, type PartDialect } from '../../translate/old-parts.js';
import type { FieldViolation } from '../proto-json.js';
import type { OperationName } from '../requests.js';
import { toOldCard, type SecurityNotation } from './card.js';
import { OLD_ERRORS, fromProtoNames, fromPushConfig, toPushConfig } from './values.js';

type Kind = 'task' | 'message' | 'statusUpdate' | 'artifactUpdate';

/** The differences of the dialects of A2A 0.3: JSON schema (JSON-RPC, cards, webhooks) and proto (HTTP+JSON, gRPC). */
interface Notation {
  readonly parts: PartDialect;
  /** The member of a message that holds its parts. */
  readonly content: 'parts' | 'content';
  readonly fromRole: (role: Json | undefined) => Json | undefined;
  readonly toRole: (role: Json | undefined) => Json | undefined;
  readonly toState: (state: string) => string;
  /** Adds its kind to a value, where the dialect does so. */
  readonly withKind: (kind: Kind, value: JsonObject) => JsonObject;
  /** Writes a value of one of several kinds. */
  readonly choice: (kind: Kind, value: JsonObject) => JsonObject;
  /** Whether a send with this value of `blocking` waits for the end. */
  readonly waits: (blocking: Json | undefined) => boolean;
  readonly config: (config: JsonObject) => JsonObject;
  readonly configs: (configs: readonly JsonObject[]) => Json;
  readonly security: SecurityNotation;
  readonly fields: {
    readonly renames: Renames;
    /** The path of a push config in the parameters that create it. */
    readonly config: string;
    /** The names of the fields that name a push config, where they differ. */
    readonly configName: Readonly<Record<string, string>>;
    readonly role: string;
  };
}

type Renames = readonly (readonly [RegExp, string])[];

const FILE: Renames = [
  [/^(message\.parts\.\d+)\.mediaType/, '$1.file.mimeType'],
  [/^(message\.parts\.\d+)\.filename/, '$1.file.name'],
];
const ANY: Renames = [
  [/\bauthentication\.scheme\b/, 'authentication.schemes'],
  [/^configuration\.returnImmediately/, 'configuration.blocking'],
];

/** The names of the fields of 1.0 in JSON-RPC, where they differ. */
const SCHEMA_FIELDS: Renames = [
  ...FILE,
  [/^(message\.parts\.\d+)\.raw/, '$1.file.bytes'],
  [/^(message\.parts\.\d+)\.url/, '$1.file.uri'],
  ...ANY,
  [/^configuration\.taskPushNotificationConfig/, 'configuration.pushNotificationConfig'],
];

/** The same over HTTP+JSON and gRPC. */
const PROTO_FIELDS: Renames = [
  ...FILE,
  [/^(message\.parts\.\d+)\.raw/, '$1.file.fileWithBytes'],
  [/^(message\.parts\.\d+)\.url/, '$1.file.fileWithUri'],
  [/^message\.parts/, 'message.content'],
  ...ANY,
  [/^configuration\.taskPushNotificationConfig/, 'configuration.pushNotification'],
];

const STATE = 'TASK_STATE_';
const ENDS = ['COMPLETED', 'FAILED', 'CANCELED', 'REJECTED'];
const ENDS_OR_ASKS = [...ENDS, 'INPUT_REQUIRED', 'AUTH_REQUIRED'];
const KINDS: Readonly<Record<Kind, string>> = {
  task: 'task',
  message: 'message',
  statusUpdate: 'status-update',
  artifactUpdate: 'artifact-update',
};
const ROLES: Readonly<Record<string, string>> = { user: 'ROLE_USER', agent: 'ROLE_AGENT' };

/** The dialect of JSON-RPC. */
export const SCHEMA_DIALECT: Dialect = createDialect({
  parts: SCHEMA_PARTS,
  content: 'parts',
  fromRole: (role) => (typeof role === 'string' ? (ROLES[role] ?? 'none') : role),
  toRole: (role) => (role === 'ROLE_USER' ? 'user' : 'agent'),
  toState: (state) => state.slice(STATE.length).toLowerCase().replace('_', '-'),
  withKind: (kind, value) => ({ kind: KINDS[kind], ...value }),
  choice: (kind, value) => ({ kind: KINDS[kind], ...value }),
  waits: (blocking) => blocking !== false,
  config: (config) => ({ taskId: config['taskId'], pushNotificationConfig: toPushConfig(config) }),
  configs: (configs) => configs,
  security: 'schema',
  fields: {
    renames: SCHEMA_FIELDS,
    config: 'pushNotificationConfig',
    configName: { taskId: 'id', id: 'pushNotificationConfigId' },
    role: 'user',
  },
});

/** The dialect of HTTP+JSON and gRPC. */
export const PROTO_DIALECT: Dialect = createDialect({
  parts: PROTO_PARTS,
  content: 'content',
  fromRole: (role) => role,
  toRole: (role) => role,
  toState: (state) => (state === 'TASK_STATE_CANCELED' ? 'TASK_STATE_CANCELLED' : state),
  withKind: (_kind, value) => value,
  choice: (kind, value) => ({ [kind]: value }),
  // Proto JSON leaves out a false.
  waits: (blocking) => blocking === true,
  config: (config) => ({
    name: `tasks/${textIn(config['taskId'])}/pushNotificationConfigs/${textIn(config['id'])}`,
    pushNotificationConfig: toPushConfig(config),
  }),
  configs: (configs) => ({ configs }),
  security: 'proto',
  fields: {
    renames: PROTO_FIELDS,
    config: 'config.pushNotificationConfig',
    configName: {},
    role: 'ROLE_USER',
  },
});

/** The methods of A2A 0.3 (section 7), with the operation of 1.0 for each. */
export const OLD_METHODS: Readonly<Record<string, OperationName>> = {
  'message/send': 'SendMessage',
  'message/stream': 'SendStreamingMessage',
  'tasks/get': 'GetTask',
  'tasks/cancel': 'CancelTask',
  'tasks/resubscribe': 'SubscribeToTask',
  'tasks/pushNotificationConfig/set': 'CreateTaskPushNotificationConfig',
  'tasks/pushNotificationConfig/get': 'GetTaskPushNotificationConfig',
  'tasks/pushNotificationConfig/list': 'ListTaskPushNotificationConfigs',
  'tasks/pushNotificationConfig/delete': 'DeleteTaskPushNotificationConfig',
  'agent/getAuthenticatedExtendedCard': 'GetExtendedAgentCard',
};

/** The HTTP+JSON binding of A2A 0.3: all paths begin with `/v1`, and errors have no wrapper. */
export const REST_0_3: RestDialect = {
  ...PROTO_DIALECT,
  type: 'application/json',
  routes: commonRoutes('/v1', '/card'),
  params: (operation, params) => PROTO_DIALECT.params(operation, objectIn(fromProtoNames(params))),
  result: (operation, json) => PROTO_DIALECT.result(operation, json) ?? {},
  error: ({ jsonRpcCode, message, details }) => ({
    type: OLD_ERRORS[jsonRpcCode],
    code: jsonRpcCode,
    message,
    data: { details },
  }),
};

function createDialect(notation: Notation): Dialect {
  return {
    version: '0.3',
    params: (operation, params) => fromParams(notation, operation, params),
    result(operation, json) {
      const value = objectIn(json);
      switch (operation) {
        case 'SendMessage':
          return toChoice(notation, value, ENDS);
        case 'GetTask':
        case 'CancelTask':
          return notation.withKind('task', toTask(notation, value));
        case 'CreateTaskPushNotificationConfig':
        case 'GetTaskPushNotificationConfig':
          return notation.config(value);
        case 'ListTaskPushNotificationConfigs':
          return notation.configs(objectsIn(value['configs']).map(notation.config));
        case 'GetExtendedAgentCard':
          return toOldCard(value, notation.security) ?? json;
        default:
          return null;
      }
    },
    violation: (operation, violation) => toOldViolation(notation.fields, operation, violation),
    event: (operation, json) =>
      toChoice(notation, json, operation === 'SubscribeToTask' ? ENDS : ENDS_OR_ASKS),
  };
}

/** Says in the words of 0.3 what is wrong with a field. */
function toOldViolation(
  { renames, config, configName, role }: Notation['fields'],
  operation: OperationName,
  { field, description }: FieldViolation,
): FieldViolation {
  const words = description
    .replace('ROLE_USER', role)
    .replace('text, raw, url and data', 'text, file and data');
  const renamed = renames.reduce((name, [from, to]) => name.replace(from, to), field);
  const isConfig = operation === 'CreateTaskPushNotificationConfig' && field !== 'taskId';
  const isNamed = operation.endsWith('PushNotificationConfig') && !isConfig;
  return {
    field: isConfig ? `${config}.${renamed}` : (isNamed && configName[field]) || renamed,
    description: words,
  };
}

function fromParams(notation: Notation, operation: OperationName, params: JsonObject): JsonObject {
  const { id, taskId, historyLength, metadata, message, configuration, config } = params;
  switch (operation) {
    case 'SendMessage':
    case 'SendStreamingMessage':
      return {
        message: isJsonObject(message) ? fromMessage(notation, message) : message,
        configuration: fromConfiguration(notation, configuration),
        metadata,
      };
    case 'CreateTaskPushNotificationConfig': {
      const { pushNotificationConfig } = isJsonObject(config) ? config : params;
      return { ...fromPushConfig(pushNotificationConfig), taskId };
    }
    case 'GetTaskPushNotificationConfig':
    case 'DeleteTaskPushNotificationConfig':
    case 'ListTaskPushNotificationConfigs': {
      const names = notation.fields.configName;
      return { taskId: params[names['taskId'] ?? 'taskId'], id: params[names['id'] ?? 'id'] };
    }
    default:
      return { id, historyLength, metadata };
  }
}

function fromMessage(notation: Notation, message: JsonObject): JsonObject {
  const { [notation.content]: given, role, kind: _kind, ...rest } = message;
  // Proto JSON leaves out an empty list.
  const parts = notation.content === 'content' ? (given ?? []) : given;
  return {
    ...rest,
    role: notation.fromRole(role),
    parts: Array.isArray(parts) ? (parts as readonly Json[]).map((part) => notation.parts.from(part)) : parts,
  };
}

function fromConfiguration(notation: Notation, configuration: Json | undefined): Json | undefined {
  if (!isJsonObject(configuration)) return configuration;
  const { blocking, historyLength, acceptedOutputModes } = configuration;
  const config = configuration['pushNotificationConfig'] ?? configuration['pushNotification'];
  const isInvalid = blocking !== undefined && blocking !== null && typeof blocking !== 'boolean';
  return {
    acceptedOutputModes,
    historyLength,
    returnImmediately: isInvalid ? blocking : !notation.waits(blocking),
    taskPushNotificationConfig: config === undefined ? undefined : fromPushConfig(config),
  };
}

function toChoice(notation: Notation, json: JsonObject, last: readonly string[]): JsonObject {
  const { task, message, statusUpdate, artifactUpdate } = json;
  if (isJsonObject(task)) return notation.choice('task', toTask(notation, task));
  if (isJsonObject(message)) return notation.choice('message', toMessage(notation, message));
  if (isJsonObject(statusUpdate)) {
    const status = objectIn(statusUpdate['status']);
    const final = last.includes(textIn(status['state']).slice(STATE.length));
    return notation.choice('statusUpdate', { ...statusUpdate, status: toStatus(notation, status), final });
  }
  const update = objectIn(artifactUpdate);
  return notation.choice('artifactUpdate', {
    ...update,
    artifact: toArtifact(notation, objectIn(update['artifact'])),
  });
}

function toTask(notation: Notation, { status, artifacts, history, ...rest }: JsonObject): JsonObject {
  return {
    ...rest,
    status: toStatus(notation, objectIn(status)),
    artifacts: artifacts && objectsIn(artifacts).map((artifact) => toArtifact(notation, artifact)),
    history:
      history &&
      objectsIn(history).map((message) => notation.withKind('message', toMessage(notation, message))),
  };
}

function toStatus(notation: Notation, status: JsonObject): JsonObject {
  const { state, message } = status;
  return {
    ...status,
    state: notation.toState(textIn(state)),
    message: isJsonObject(message) ? notation.withKind('message', toMessage(notation, message)) : undefined,
  };
}

function toMessage(notation: Notation, { parts, role, ...rest }: JsonObject): JsonObject {
  return { ...rest, role: notation.toRole(role), [notation.content]: toParts(notation, parts) };
}

function toArtifact(notation: Notation, artifact: JsonObject): JsonObject {
  return { ...artifact, parts: toParts(notation, artifact['parts']) };
}

function toParts(notation: Notation, parts: Json | undefined): Json {
  return objectsIn(parts).map((part) => notation.parts.to(part));
}
