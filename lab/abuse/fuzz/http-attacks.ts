import { connect } from 'node:net';
import { garbled } from './mutate.js';
import type { Random } from './random.js';
import { anyCall, parametersOf, sendParams, spoiled } from './requests.js';
import type { Attack, Outcome, Target } from './target.js';
import { PATIENCE_MS, shown } from './target.js';

const STRANGE_METHODS = ['constructor', '', 'SendMessage ', 'tasks/resubscribe', 'x'.repeat(5_000)];
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

export const jsonRpc: Attack = (random, target) => {
  const { agent, method, params } = anyCall(target, random);
  const odd = random.chance(5) ? random.pick(STRANGE_METHODS) : method;
  const envelope = { jsonrpc: '2.0', id: 1, method: odd, params };
  return post(target, pathTo(target, agent) || '/', { body: bodyOf(envelope, random), random });
};

export const httpJson: Attack = (random, target) => {
  const { agent, params } = anyCall(target, random);
  const path = random.pick([
    '/message:send',
    '/message:send',
    '/message:stream',
    '/v1/message:send',
    `/tasks/${target.taskId}:cancel`,
    `/tasks/${target.taskId}:subscribe`,
    `/tasks/${target.taskId}/pushNotificationConfigs`,
  ]);
  return post(target, pathTo(target, agent) + path, { body: bodyOf(params, random), random });
};

function pathTo({ root }: Target, agent: string): string {
  return agent === root ? '' : `/agents/${agent}`;
}

export const paths: Attack = (random, target) => {
  const path = random.pick(PATHS);
  const odd = random.chance(50) ? path : `/${encodeURI(garbled(path, random).toString('latin1').slice(1))}`;
  return ask(target, odd, { method: random.pick(VERBS), headers: headersOf(target, random) });
};

export const sockets: Attack = (random, target) => {
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
  return writeRaw(target.port, random.chance(50) ? Buffer.from(broken) : garbled(broken, random));
};

function bodyOf(value: object, random: Random): Buffer {
  const text = JSON.stringify(spoiled(value, random)) ?? '';
  if (random.chance(3)) return Buffer.from('['.repeat(random.below(50_000)));
  return random.chance(15) ? garbled(text, random) : Buffer.from(text);
}

function headersOf(target: Target, random: Random): Record<string, string> {
  return {
    ...parametersOf(target, random),
    'content-type': random.chance(90) ? 'application/json' : 'text/html',
    ...(random.chance(5) ? { origin: 'https://evil.example' } : {}),
  };
}

function post(
  target: Target,
  path: string,
  { body, random }: { readonly body: Buffer; readonly random: Random },
): Promise<Outcome> {
  const headers = headersOf(target, random);
  return ask(target, path, { method: 'POST', body, headers });
}

interface HttpRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

async function ask({ origin }: Target, path: string, { body, ...init }: HttpRequest): Promise<Outcome> {
  const sent = body?.toString() ?? '';
  const request = shown(init.method, path, init.headers, body ?? '');
  const signal = AbortSignal.timeout(PATIENCE_MS);
  try {
    const response = await fetch(origin + path, {
      ...init,
      signal,
      ...(body ? { body: new Uint8Array(body) } : {}),
    });
    return { status: response.status, text: await response.text(), sent, request };
  } catch (error) {
    const status = (error as Error).name === 'TimeoutError' ? 'silent' : 'cut';
    return { status, text: '', sent, request };
  }
}

const SOCKET_PAUSE_MS = 150;
/** The sender of wrong credentials, which mutated bytes may contain too: many of those slow an address down. */
export const BROKEN_FROM = '127.0.0.2';

/** Writes bytes, waits for a first response or a short time, and closes the connection. */
export function writeRaw(port: number, bytes: Buffer): Promise<Outcome> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', localAddress: BROKEN_FROM }, () => socket.write(bytes));
    let text = '';
    const leave = (): void => {
      socket.destroy();
      const status = /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1];
      const sent = bytes.toString().split('\r\n\r\n').slice(1).join('');
      resolve({ status: status === undefined ? 'cut' : Number(status), text, sent, request: shown(bytes) });
    };
    socket.setTimeout(SOCKET_PAUSE_MS, leave);
    socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
    socket.on('error', () => {}).on('close', leave);
  });
}
