import type { Expected, InspectedRequest } from '../../core/inspection.js';
import { newId } from './api.js';

type Version = Expected['version'];

/** An operation of A2A, as each version and transport writes it. */
interface Operation {
  /** Its method of JSON-RPC in 0.3; undefined where 0.3 has no such operation. */
  readonly old: string | undefined;
  readonly http: (id: string) => Readonly<{ method: 'GET' | 'POST' | 'DELETE'; path: string }>;
  readonly streams?: true;
  readonly takes: 'message' | 'task' | 'nothing';
}

const get = (path: string) => ({ method: 'GET', path }) as const;
const post = (path: string) => ({ method: 'POST', path }) as const;

export const OPERATIONS: Readonly<Record<string, Operation>> = {
  SendMessage: { old: 'message/send', http: () => post('/message:send'), takes: 'message' },
  SendStreamingMessage: {
    ...{ old: 'message/stream', http: () => post('/message:stream'), takes: 'message', streams: true },
  },
  GetTask: { old: 'tasks/get', http: (id) => get(`/tasks/${id}`), takes: 'task' },
  ListTasks: { old: undefined, http: () => get('/tasks'), takes: 'nothing' },
  CancelTask: { old: 'tasks/cancel', http: (id) => post(`/tasks/${id}:cancel`), takes: 'task' },
  SubscribeToTask: {
    ...{
      old: 'tasks/resubscribe',
      http: (id: string) => post(`/tasks/${id}:subscribe`),
      takes: 'task' as const,
    },
    streams: true,
  },
  ListTaskPushNotificationConfigs: {
    ...{ old: 'tasks/pushNotificationConfig/list', takes: 'task' as const },
    http: (id) => get(`/tasks/${id}/pushNotificationConfigs`),
  },
  GetExtendedAgentCard: {
    ...{ old: 'agent/getAuthenticatedExtendedCard', takes: 'nothing' as const },
    http: () => get('/extendedAgentCard'),
  },
};

export const operationsOf = (version: Version): readonly string[] =>
  Object.keys(OPERATIONS).filter((name) => version === '1.0' || OPERATIONS[name]!.old !== undefined);

/** The parameters of an operation with what a person wrote: a message, or the id of a task. */
export function paramsOf({ version, transport, operation }: Expected, written: string): object {
  const { takes } = OPERATIONS[operation]!;
  if (takes === 'nothing') return {};
  if (takes === 'task')
    return operation.startsWith('List') && version === '1.0' ? { taskId: written } : { id: written };
  const messageId = newId();
  if (version === '1.0') return { message: { messageId, role: 'ROLE_USER', parts: [{ text: written }] } };
  if (transport === 'HTTP+JSON')
    return { message: { messageId, role: 'ROLE_USER', content: [{ text: written }] } };
  return { message: { kind: 'message', messageId, role: 'user', parts: [{ kind: 'text', text: written }] } };
}

interface Call {
  readonly address: string;
  readonly token: string;
  readonly expects: Expected;
  readonly params: object;
}

/** The request of an operation, as it goes over the wire. Throws for an address that is none. */
export function requestOf({ address, token, expects, params }: Call): InspectedRequest {
  const { version, transport, operation } = expects;
  const { old, http, streams } = OPERATIONS[operation]!;
  const url = new URL(address);
  const base = url.pathname.replace(/\/$/, '');
  const headers = {
    accept: streams ? 'text/event-stream' : 'application/json',
    ...(version === '1.0' && { 'a2a-version': '1.0' }),
    ...(token !== '' && { authorization: /^\S+ \S/.test(token) ? token : `Bearer ${token}` }),
  };
  if (transport === 'JSONRPC') {
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: version === '1.0' ? operation : old,
      params,
    });
    const type = { 'content-type': 'application/json' };
    const path = `${base || '/'}${url.search}`;
    return { origin: url.origin, path, method: 'POST', headers: { ...headers, ...type }, body, expects };
  }
  const { id = '', taskId = id, ...rest } = params as { id?: string; taskId?: string };
  const { method, path } = http(encodeURIComponent(taskId));
  const place = oldPath(version, path);
  const query = method === 'GET' ? new URLSearchParams(rest).toString() : '';
  const type = version === '1.0' ? 'application/a2a+json' : 'application/json';
  return {
    ...{ origin: url.origin, path: `${base}${place}${query === '' ? '' : `?${query}`}`, method, expects },
    headers: method === 'GET' ? headers : { ...headers, 'content-type': type },
    ...(method === 'POST' && { body: JSON.stringify(rest) }),
  };
}

/** In 0.3 all paths begin with `/v1`, also where the address of the interface does not end so. */
function oldPath(version: Version, path: string): string {
  return version === '1.0' ? path : `/v1${path.replace('/extendedAgentCard', '/card')}`;
}

/** Without the value of the credential, which stays in the page. */
export function curlOf({ origin, path, method, headers, body }: InspectedRequest): string {
  const quoted = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`;
  const lines = Object.entries(headers).map(([name, value]) =>
    name === 'authorization'
      ? `-H "Authorization: ${value.startsWith('Bearer ') ? 'Bearer ' : ''}$TOKEN"`
      : `-H ${quoted(`${name}: ${value}`)}`,
  );
  const data = body === undefined ? [] : [`-d ${quoted(body)}`];
  return [`curl -sN -X ${method} ${quoted(origin + path)}`, ...lines, ...data].join(' \\\n  ');
}
