import { connect } from 'node:net';
import { garbled, mutated } from './mutate.js';
import type { Random } from './random.js';

export interface Target {
  readonly origin: string;
  readonly port: number;
  readonly token: string;
  /** A task that is there. */
  readonly taskId: string;
}

/** What came back: an HTTP status, or `cut` when the connection was closed without one. */
export interface Outcome {
  readonly status: number | 'cut';
  readonly text: string;
}

/** One way of asking for trouble. */
export type Attack = (random: Random, target: Target) => Promise<Outcome>;

const PATIENCE_MS = 10_000;
const METHODS = [
  'SendMessage',
  'SendStreamingMessage',
  'GetTask',
  'ListTasks',
  'CancelTask',
  'SubscribeToTask',
  'GetExtendedAgentCard',
  'CreateTaskPushNotificationConfig',
  'ListTaskPushNotificationConfigs',
  'DeleteTaskPushNotificationConfig',
  'message/send',
  'tasks/get',
  'constructor',
  '',
];
const PATHS = [
  '/',
  '/.well-known/agent-card.json',
  '/.well-known/agent.json',
  '/.well-known/ai-catalog.json',
  '/agents/lango-orchestrator',
  '/agents/operator/.well-known/agent-card.json',
  '/agents/%2e%2e/x',
  '/agents/__proto__',
  '/healthz',
  '/readyz',
  '/lango/agents',
  '/tasks',
  '/tasks/%00',
  '/message:send',
  '/%ff%fe',
  '//',
  '/tasks?pageSize=-1&pageToken=%00',
];
const VERBS = ['GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH'];

let count = 0;

function sendParams(target: Target, random: Random): object {
  count += 1;
  return {
    message: {
      messageId: `fuzz-${count}`,
      role: 'ROLE_USER',
      parts: [{ text: 'hello', mediaType: 'text/plain', metadata: { a: [1] } }],
      ...(random.chance(20) ? { taskId: target.taskId } : {}),
      metadata: { 'urn:lango:a2a:chain:v1': { chain: ['x@y'], depth: 1 } },
    },
    configuration: { returnImmediately: true, historyLength: 1, acceptedOutputModes: ['text/plain'] },
  };
}

function anyParams(target: Target, random: Random): object {
  return random.pick([
    sendParams(target, random),
    { id: target.taskId },
    { id: target.taskId, historyLength: 3 },
    { pageSize: 5, status: 'TASK_STATE_COMPLETED', statusTimestampAfter: '2026-01-01T00:00:00Z' },
    { taskId: target.taskId, url: 'https://hooks.example/x', token: 't' },
  ]);
}

/** Add a row for each transport: its name stands in the figures. */
export const ATTACKS: Readonly<Record<string, Attack>> = {
  'JSON-RPC': (random, target) => {
    const envelope = {
      jsonrpc: '2.0',
      id: 1,
      method: random.pick(METHODS),
      params: anyParams(target, random),
    };
    return ask(target, '/', posting(bodyOf(envelope, random), headersOf(target, random)));
  },
  'HTTP+JSON': (random, target) => {
    const path = random.pick([
      '/message:send',
      '/message:stream',
      `/tasks/${target.taskId}:cancel`,
      `/tasks/${target.taskId}:subscribe`,
      `/tasks/${target.taskId}/pushNotificationConfigs`,
    ]);
    return ask(target, path, posting(bodyOf(anyParams(target, random), random), headersOf(target, random)));
  },
  paths: (random, target) => {
    const path = random.pick(PATHS);
    const spoiled = random.chance(50)
      ? path
      : `/${encodeURI(garbled(path, random).toString('latin1').slice(1))}`;
    return ask(target, spoiled, { method: random.pick(VERBS), headers: headersOf(target, random) });
  },
  sockets: (random, target) => {
    const body = JSON.stringify(sendParams(target, random));
    const head = `POST /message:send HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${target.token}\r\nContent-Type: application/json\r\n`;
    const broken = random.pick([
      `${head}Content-Length: ${body.length}\r\nContent-Length: 3\r\n\r\n${body}`,
      `${head}Transfer-Encoding: chunked\r\n\r\nzz\r\n${body}\r\n`,
      `${head}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n`,
      `${head}X: ${'y'.repeat(random.below(40_000))}\r\n\r\n`,
      `${head}Content-Length: 99999999999\r\n\r\n`,
      'GET / HTTP/9.9\r\n\r\n',
      '\r\n\r\n\r\n',
      `${head}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n{}`,
      `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n`,
    ]);
    return raw(target, random.chance(50) ? Buffer.from(broken) : garbled(broken, random));
  },
};

function bodyOf(value: unknown, random: Random): Buffer {
  const text = JSON.stringify(random.chance(90) ? mutated(value, random) : value) ?? '';
  if (random.chance(3)) return Buffer.from('['.repeat(random.below(50_000)));
  return random.chance(15) ? garbled(text, random) : Buffer.from(text);
}

function headersOf({ token }: Target, random: Random): Record<string, string> {
  return {
    ...(random.chance(90) ? { authorization: `Bearer ${token}` } : {}),
    ...(random.chance(90) ? { 'content-type': 'application/json' } : { 'content-type': 'text/html' }),
    ...(random.chance(10)
      ? { 'a2a-version': random.pick(['1.0', '0.3', '9', '1.0.7', 'x'.repeat(300)]) }
      : {}),
    ...(random.chance(10) ? { 'last-event-id': random.pick(['0', '-1', '99999', 'x']) } : {}),
    ...(random.chance(5) ? { origin: 'https://evil.example' } : {}),
    ...(random.chance(5) ? { traceparent: '00-zz' } : {}),
  };
}

function posting(body: Buffer, headers: Record<string, string>): RequestInit {
  return { method: 'POST', body: new Uint8Array(body), headers };
}

async function ask({ origin }: Target, path: string, init: RequestInit): Promise<Outcome> {
  try {
    const response = await fetch(origin + path, { ...init, signal: AbortSignal.timeout(PATIENCE_MS) });
    return { status: response.status, text: await response.text() };
  } catch (error) {
    if ((error as Error).name === 'TimeoutError') throw error;
    return { status: 'cut', text: '' };
  }
}

const SOCKET_PAUSE_MS = 150;

/** Writes bytes, waits for a first answer or a little while, and leaves. */
function raw({ port }: Target, bytes: Buffer): Promise<Outcome> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    let text = '';
    const leave = (): void => {
      socket.destroy();
      const status = /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1];
      resolve({ status: status === undefined ? 'cut' : Number(status), text });
    };
    socket.setTimeout(SOCKET_PAUSE_MS, leave);
    socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
    socket.on('error', () => {}).on('close', leave);
  });
}
