import type { Expected, InspectedRequest } from '../../core/inspection.js';
import { newId } from './api.js';

type Version = Expected['version'];

/** The values that a person writes for an operation. */
export const FIELDS = {
  text: 'Text of the message',
  task: 'Id of the task',
  webhook: 'Address of the webhook',
  secret: 'Token for the webhook (optional)',
  config: 'Id of the configuration',
} as const;
export type FieldName = keyof typeof FIELDS;
export type Written = Readonly<Partial<Record<FieldName, string>>>;

/** An operation of A2A, as each version and transport writes it. */
interface Operation {
  /** Its method of JSON-RPC in 0.3; undefined where 0.3 has no such operation. */
  readonly old?: string;
  /** Its method and path over HTTP, with the places of the ids. */
  readonly http: string;
  readonly streams?: true;
  readonly takes: readonly FieldName[];
}

const streams = true;
const CONFIGS = '/tasks/{task}/pushNotificationConfigs';
const OLD_CONFIG = 'tasks/pushNotificationConfig';

export const OPERATIONS: Readonly<Record<string, Operation>> = {
  SendMessage: { old: 'message/send', http: 'POST /message:send', takes: ['text'] },
  SendStreamingMessage: { old: 'message/stream', http: 'POST /message:stream', takes: ['text'], streams },
  GetTask: { old: 'tasks/get', http: 'GET /tasks/{task}', takes: ['task'] },
  ListTasks: { http: 'GET /tasks', takes: [] },
  CancelTask: { old: 'tasks/cancel', http: 'POST /tasks/{task}:cancel', takes: ['task'] },
  SubscribeToTask: {
    ...{ old: 'tasks/resubscribe', http: 'POST /tasks/{task}:subscribe', takes: ['task'], streams },
  },
  CreateTaskPushNotificationConfig: {
    ...{ old: `${OLD_CONFIG}/set`, http: `POST ${CONFIGS}`, takes: ['task', 'webhook', 'secret'] },
  },
  GetTaskPushNotificationConfig: {
    ...{ old: `${OLD_CONFIG}/get`, http: `GET ${CONFIGS}/{config}`, takes: ['task', 'config'] },
  },
  ListTaskPushNotificationConfigs: { old: `${OLD_CONFIG}/list`, http: `GET ${CONFIGS}`, takes: ['task'] },
  DeleteTaskPushNotificationConfig: {
    ...{ old: `${OLD_CONFIG}/delete`, http: `DELETE ${CONFIGS}/{config}`, takes: ['task', 'config'] },
  },
  GetExtendedAgentCard: {
    ...{ old: 'agent/getAuthenticatedExtendedCard', http: 'GET /extendedAgentCard', takes: [] },
  },
};

export const operationsOf = (version: Version): readonly string[] =>
  Object.keys(OPERATIONS).filter((name) => version === '1.0' || OPERATIONS[name]!.old !== undefined);

/** The parameters of an operation with what a person wrote. */
export function paramsOf({ version, transport, operation }: Expected, written: Written): object {
  const { text, task = '', webhook = '', secret = '', config = '' } = written;
  const isNew = version === '1.0';
  if (text !== undefined) return { message: messageOf(text, isNew ? 'HTTP+JSON' : transport, isNew) };
  if (!isNew && transport === 'GRPC') return oldGrpcParams(operation, written);
  if (operation === 'CreateTaskPushNotificationConfig') {
    const hook = { url: webhook, ...(secret !== '' && { token: secret }) };
    if (isNew) return { taskId: task, ...hook };
    const pushNotificationConfig = hook;
    if (transport === 'JSONRPC') return { taskId: task, pushNotificationConfig };
    return { taskId: task, config: { pushNotificationConfig } };
  }
  if (OPERATIONS[operation]!.takes.includes('config'))
    return isNew || transport !== 'JSONRPC'
      ? { taskId: task, id: config }
      : { id: task, pushNotificationConfigId: config };
  if (OPERATIONS[operation]!.takes.length === 0) return {};
  return operation.startsWith('List') && isNew ? { taskId: task } : { id: task };
}

/** The proto of 0.3 names a task and a configuration as resources. */
function oldGrpcParams(operation: string, { task, webhook, secret = '', config }: Written): object {
  const { takes } = OPERATIONS[operation]!;
  const resource = `tasks/${task}`;
  const hook = { url: webhook, ...(secret !== '' && { token: secret }) };
  if (takes.includes('webhook')) return { parent: resource, config: { pushNotificationConfig: hook } };
  if (takes.includes('config')) return { name: `${resource}/pushNotificationConfigs/${config}` };
  if (takes.length === 0) return {};
  return operation.startsWith('List') ? { parent: resource } : { name: resource };
}

function messageOf(text: string, transport: Expected['transport'], isNew: boolean): object {
  const messageId = newId();
  if (transport === 'JSONRPC')
    return { kind: 'message', messageId, role: 'user', parts: [{ kind: 'text', text }] };
  return { messageId, role: 'ROLE_USER', [isNew ? 'parts' : 'content']: [{ text }] };
}

type Call = Readonly<{ address: string; token: string; expects: Expected; params: object }>;

/** The request of an operation, as it goes over the wire. Throws for an address that is none. */
export function requestOf({ address, token, expects, params }: Call): InspectedRequest {
  const { version, transport, operation } = expects;
  const { old, http, streams, takes } = OPERATIONS[operation]!;
  if (transport === 'GRPC') return grpcRequestOf({ address, token, expects, params });
  const url = new URL(address);
  const base = url.pathname.replace(/\/$/, '');
  const headers = {
    accept: streams ? 'text/event-stream' : 'application/json',
    ...(version === '1.0' && { 'a2a-version': '1.0' }),
    ...authorization(token),
  };
  if (transport === 'JSONRPC') {
    const method = version === '1.0' ? operation : old;
    return {
      ...{ origin: url.origin, path: `${base || '/'}${url.search}`, method: 'POST', expects },
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    };
  }
  const { taskId, ...others } = params as { readonly id?: string; readonly taskId?: string };
  const { id = '', ...unnamed } = others;
  const [method, path] = http.split(' ') as [InspectedRequest['method'], string];
  const ids: Readonly<Record<string, string>> = { '{task}': taskId ?? id, '{config}': id };
  const named = path.replace(/\{\w+\}/g, (name) => encodeURIComponent(ids[name]!));
  // The id of a new configuration stays in the body: the path has none.
  const rest = takes.includes('webhook') ? others : unnamed;
  // In 0.3 all paths begin with `/v1`, also where the address of the interface does not end so.
  const place = version === '1.0' ? named : `/v1${named.replace('/extendedAgentCard', '/card')}`;
  const query = method === 'GET' ? new URLSearchParams(rest).toString() : '';
  const type = version === '1.0' ? 'application/a2a+json' : 'application/json';
  return {
    ...{ origin: url.origin, path: `${base}${place}${query === '' ? '' : `?${query}`}`, method, expects },
    headers: method === 'GET' ? headers : { ...headers, 'content-type': type },
    ...(method === 'POST' && { body: JSON.stringify(rest) }),
  };
}

const authorization = (token: string): Readonly<Record<string, string>> =>
  token === '' ? {} : { authorization: /^\S+ \S/.test(token) ? token : `Bearer ${token}` };

/** The operations that the gRPC service of 0.3 names in another way. */
const OLD_METHODS: Readonly<Record<string, string>> = {
  SubscribeToTask: 'TaskSubscription',
  ListTaskPushNotificationConfigs: 'ListTaskPushNotificationConfig',
  GetExtendedAgentCard: 'GetAgentCard',
};

/** The call of a method of the proto. Its parameters are proto JSON. */
function grpcRequestOf({ address, token, expects, params }: Call): InspectedRequest {
  const { version, operation } = expects;
  const isNew = version === '1.0';
  const path = isNew
    ? `/lf.a2a.v1.A2AService/${operation}`
    : `/a2a.v1.A2AService/${OLD_METHODS[operation] ?? operation}`;
  const headers = { ...(isNew && { 'a2a-version': version }), ...authorization(token) };
  const body = JSON.stringify(params);
  return { origin: new URL(address).origin, path, method: 'POST', headers, body, expects };
}

/** For gRPC as grpcurl. Without the value of the credential, which stays in the page. */
export function curlOf({ origin, path, method, headers, body, expects }: InspectedRequest): string {
  const quoted = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`;
  const lines = Object.entries(headers).map(([name, value]) =>
    name === 'authorization'
      ? `-H "Authorization: ${value.startsWith('Bearer ') ? 'Bearer ' : ''}$TOKEN"`
      : `-H ${quoted(`${name}: ${value}`)}`,
  );
  const data = body === undefined ? [] : [`-d ${quoted(body)}`];
  if (expects?.transport === 'GRPC') {
    const { protocol, hostname, port } = new URL(origin);
    const isSecure = protocol === 'https:';
    const to = `${hostname}:${port || (isSecure ? 443 : 80)} ${path.slice(1)}`;
    const command = `grpcurl ${isSecure ? '' : '-plaintext '}-proto a2a.proto`;
    return [command, ...lines, ...data, to].join(' \\\n  ');
  }
  return [`curl -sN -X ${method} ${quoted(origin + path)}`, ...lines, ...data].join(' \\\n  ');
}
