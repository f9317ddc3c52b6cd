import type { RestDialect } from '../rest-dialect.js';
import { PROTO_DIALECT } from './dialect.js';

const TASK = String.raw`/v1/tasks/(?<id>[^/:]+)`;
const CONFIGS = 'pushNotificationConfigs';

/** The HTTP+JSON binding of A2A 0.3: everything below `/v1`, in the JSON of its proto, errors without a wrapper. */
export const REST_0_3: RestDialect = {
  version: '0.3',
  type: 'application/json',
  routes: [
    { path: /^\/v1\/message:send$/, methods: { POST: 'SendMessage' } },
    { path: /^\/v1\/message:stream$/, methods: { POST: 'SendStreamingMessage' } },
    { path: new RegExp(`^${TASK}$`), methods: { GET: 'GetTask' } },
    { path: new RegExp(`^${TASK}:cancel$`), methods: { POST: 'CancelTask' } },
    { path: new RegExp(`^${TASK}:subscribe$`), methods: { GET: 'SubscribeToTask', POST: 'SubscribeToTask' } },
    {
      path: new RegExp(`^${TASK}/${CONFIGS}$`),
      methods: { GET: 'ListTaskPushNotificationConfigs', POST: 'CreateTaskPushNotificationConfig' },
    },
    {
      path: new RegExp(`^${TASK}/${CONFIGS}/(?<pushNotificationConfigId>[^/]+)$`),
      methods: { GET: 'GetTaskPushNotificationConfig', DELETE: 'DeleteTaskPushNotificationConfig' },
    },
    { path: /^\/v1\/card$/, methods: { GET: 'GetExtendedAgentCard' } },
  ],
  ...PROTO_DIALECT,
  params: (operation, params) =>
    PROTO_DIALECT.params(
      operation,
      operation === 'CreateTaskPushNotificationConfig' ? { ...params, taskId: params['id'] } : params,
    ),
  result: (operation, json) => PROTO_DIALECT.result(operation, json) ?? {},
  error: ({ jsonRpcCode, message, details }) => ({ code: jsonRpcCode, message, data: { details } }),
};
