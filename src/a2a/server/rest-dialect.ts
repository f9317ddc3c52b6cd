import type { Json, JsonObject } from '../../core/json.js';
import type { WireError } from '../translate/errors.js';
import type { OperationName } from './operations.js';
import type { ProtocolVersion } from './service-parameters.js';

export interface RestRoute {
  /** Matches the path below the agent's; named groups are parameters. */
  readonly path: RegExp;
  readonly methods: Readonly<Partial<Record<string, OperationName>>>;
}

export type RestError = Pick<
  WireError,
  'jsonRpcCode' | 'httpStatus' | 'status' | 'message' | 'details' | 'retryAfterSeconds' | 'headers'
>;

/** How one version of the protocol writes the HTTP+JSON binding. */
export interface RestDialect {
  readonly version: ProtocolVersion;
  /** The media type of its answers. */
  readonly type: string;
  readonly routes: readonly RestRoute[];
  /** Translates the parameters to those of 1.0. */
  params(operation: OperationName, params: JsonObject): JsonObject;
  result(operation: OperationName, json: Json): Json;
  event(operation: OperationName, json: JsonObject): JsonObject;
  error(error: RestError): JsonObject;
}

const TASK = String.raw`/tasks/(?<id>[^/:]+)`;
const CONFIGS = String.raw`/tasks/(?<taskId>[^/:]+)/pushNotificationConfigs`;

/** Specification and proto name different methods for a subscription, so both work. */
const ROUTES: readonly RestRoute[] = [
  { path: /^\/message:send$/, methods: { POST: 'SendMessage' } },
  { path: /^\/message:stream$/, methods: { POST: 'SendStreamingMessage' } },
  { path: /^\/tasks$/, methods: { GET: 'ListTasks' } },
  { path: new RegExp(`^${TASK}$`), methods: { GET: 'GetTask' } },
  { path: new RegExp(`^${TASK}:cancel$`), methods: { POST: 'CancelTask' } },
  { path: new RegExp(`^${TASK}:subscribe$`), methods: { GET: 'SubscribeToTask', POST: 'SubscribeToTask' } },
  {
    path: new RegExp(`^${CONFIGS}$`),
    methods: { GET: 'ListTaskPushNotificationConfigs', POST: 'CreateTaskPushNotificationConfig' },
  },
  {
    path: new RegExp(`^${CONFIGS}/(?<id>[^/]+)$`),
    methods: { GET: 'GetTaskPushNotificationConfig', DELETE: 'DeleteTaskPushNotificationConfig' },
  },
  { path: /^\/extendedAgentCard$/, methods: { GET: 'GetExtendedAgentCard' } },
];

/** The HTTP+JSON binding of A2A 1.0 (section 11). */
export const REST_1_0: RestDialect = {
  version: '1.0',
  type: 'application/a2a+json',
  routes: ROUTES,
  params: (_operation, params) => params,
  result: (_operation, json) => json,
  event: (_operation, json) => json,
  error: ({ httpStatus, status, message, details }) => ({
    error: { code: httpStatus, status, message, details },
  }),
};
