import type { Json, JsonObject } from '../../core/json.js';
import type { WireError } from '../translate/errors.js';
import type { FieldViolation } from './proto-json.js';
import type { ProtocolVersion } from './service-parameters.js';
import type { OperationName } from './requests.js';

/** The form of parameters, results and events in one version. Operations, checks and errors are those of A2A 1.0. */
export interface Dialect {
  readonly version: ProtocolVersion;
  /** Translates parameters to those of 1.0. Invalid values stay as they are, for the checks of 1.0 to refuse. */
  params(operation: OperationName, params: JsonObject): JsonObject;
  result(operation: OperationName, json: Json): Json;
  /** Says in the words of the version what is wrong with a field. */
  violation(operation: OperationName, violation: FieldViolation): FieldViolation;
  /** Translates an event. In 0.3 a question sets `final` on the stream of a send, but not on that of a subscription. */
  event(operation: OperationName, json: JsonObject): JsonObject;
}

export const DIALECT_1_0: Dialect = {
  version: '1.0',
  params: (_operation, params) => params,
  result: (_operation, json) => json,
  violation: (_operation, violation) => violation,
  event: (_operation, json) => json,
};

export interface RestRoute {
  /** Matches the path below the agent's; named groups are parameters. */
  readonly path: RegExp;
  readonly methods: Readonly<Partial<Record<string, OperationName>>>;
}

export interface RestDialect extends Dialect {
  readonly type: string;
  readonly routes: readonly RestRoute[];
  error(error: WireError): JsonObject;
}

/** The HTTP+JSON binding of A2A 1.0 (section 11). */
export const REST_1_0: RestDialect = {
  ...DIALECT_1_0,
  type: 'application/a2a+json',
  routes: [route('/tasks', { GET: 'ListTasks' }), ...commonRoutes('', '/extendedAgentCard')],
  error: ({ httpStatus, status, message, details }) => ({
    error: { code: httpStatus, status, message, details },
  }),
};

/** The routes that 1.0 and 0.3 share. Specification and proto name different methods for a subscription; both work. */
export function commonRoutes(prefix: string, cardPath: string): readonly RestRoute[] {
  const task = `${prefix}/tasks/(?<id>[^/:]+)`;
  const configs = `${prefix}/tasks/(?<taskId>[^/:]+)/pushNotificationConfigs`;
  return [
    route(`${prefix}/message:send`, { POST: 'SendMessage' }),
    route(`${prefix}/message:stream`, { POST: 'SendStreamingMessage' }),
    route(task, { GET: 'GetTask' }),
    route(`${task}:cancel`, { POST: 'CancelTask' }),
    route(`${task}:subscribe`, { GET: 'SubscribeToTask', POST: 'SubscribeToTask' }),
    route(configs, { GET: 'ListTaskPushNotificationConfigs', POST: 'CreateTaskPushNotificationConfig' }),
    route(`${configs}/(?<id>[^/]+)`, {
      GET: 'GetTaskPushNotificationConfig',
      DELETE: 'DeleteTaskPushNotificationConfig',
    }),
    route(prefix + cardPath, { GET: 'GetExtendedAgentCard' }),
  ];
}

function route(path: string, methods: RestRoute['methods']): RestRoute {
  return { path: new RegExp(`^${path}$`), methods };
}
