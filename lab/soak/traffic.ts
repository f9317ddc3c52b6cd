import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect, textPart } from '../../src/index.js';
import type { SoakServer } from './server.js';

/** One exchange with the server. Resolves with the words that show that it reached its target. */
type Exchange = (server: SoakServer) => Promise<string>;

const CALL_MS = 60_000;

/** Receives webhooks. */
const receiver = createServer((request, response) => void request.resume().on('end', () => response.end()));
receiver.listen(0, '127.0.0.1').unref();

const message = (text: string, more: object = {}) => ({
  message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...more },
});

interface More {
  readonly taskId?: string;
  /** The URL of a webhook. */
  readonly url?: string;
}

async function send(server: SoakServer, text: string, { taskId, url }: More = {}): Promise<Sent> {
  const configuration = url === undefined ? {} : { taskPushNotificationConfig: { url } };
  const body = JSON.stringify({ ...message(text, { taskId }), configuration });
  const { task } = (await (await server.fetch('/message:send', { body })).json()) as { task: Sent };
  return task;
}

interface Sent {
  readonly id: string;
  readonly contextId: string;
  readonly status: { readonly state: string };
}

const stateOf = ({ status }: Sent): string => status.state.replace('TASK_STATE_', '').toLowerCase();

async function ask(server: SoakServer, reply: string): Promise<string> {
  const asked = await send(server, 'delete the folder drafts with everything in it');
  // The words to reply with have a code of the question.
  const words = new RegExp(`${reply} \\w+`).exec(JSON.stringify(asked.status))?.[0];
  return words === undefined ? stateOf(asked) : stateOf(await send(server, words, { taskId: asked.id }));
}

async function overClient(server: SoakServer, binding: 'GRPC' | 'JSONRPC'): Promise<string> {
  const client = connect({ url: server.origin, token: server.token, binding });
  for await (const event of client.send({ parts: [textPart('hello')] }, AbortSignal.timeout(CALL_MS)))
    if (event.type === 'end') return event.state;
  return 'no end';
}

/** The kinds of traffic, each with what a right exchange resolves with. */
export const TRAFFIC: Readonly<Record<string, readonly [right: string, exchange: Exchange]>> = {
  send: ['completed', async (server) => stateOf(await send(server, 'hello'))],
  stream: [
    'completed',
    async (server) => {
      const body = JSON.stringify(message('list the files'));
      const text = await (await server.fetch('/message:stream', { body })).text();
      return /TASK_STATE_(COMPLETED)/.exec(text)?.[1]?.toLowerCase() ?? text.slice(-100);
    },
  ],
  delegate: [
    'completed',
    async (server) => stateOf(await send(server, 'create a file a.txt with hi and then read a.txt')),
  ],
  approve: ['completed', (server) => ask(server, 'approve')],
  deny: ['completed', (server) => ask(server, 'deny')],
  'leave a stream': [
    '200',
    async (server) => {
      const leaving = new AbortController();
      const body = JSON.stringify(message('list the files'));
      const response = await server.fetch('/message:stream', { body, signal: leaving.signal });
      await response.body!.getReader().read();
      leaving.abort();
      return String(response.status);
    },
  ],
  cancel: [
    'canceled',
    async (server) => {
      const asked = await send(server, 'delete the folder drafts with everything in it');
      return stateOf(
        (await (await server.fetch(`/tasks/${asked.id}:cancel`, { body: '{}' })).json()) as Sent,
      );
    },
  ],
  webhook: [
    'completed',
    async (server) => {
      const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
      return stateOf(await send(server, 'hello', { url }));
    },
  ],
  grpc: ['completed', (server) => overClient(server, 'GRPC')],
  'json-rpc': ['completed', (server) => overClient(server, 'JSONRPC')],
  mcp: [
    '200',
    async (server) => {
      const params = {
        protocolVersion: '2025-06-18',
        capabilities: {},
        clientInfo: { name: 'soak', version: '1' },
      };
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
      const headers = { accept: 'application/json, text/event-stream' };
      const response = await server.fetch('/mcp', { body, headers });
      await response.text();
      return String(response.status);
    },
  ],
  'read and forget': [
    '200 200',
    async (server) => {
      const { contextId } = await send(server, 'hello');
      const list = await server.fetch('/lango/data/tasks');
      await list.text();
      const place = `/lango/data/contexts?name=${contextId}`;
      const forgotten = await server.fetch(place, { method: 'DELETE' });
      await forgotten.text();
      return `${list.status} ${forgotten.status}`;
    },
  ],
  pages: [
    '200 200 200 200',
    async (server) => {
      const places = ['/console/', '/lango/agents', '/metrics', '/.well-known/agent-card.json'];
      const responses = await Promise.all(places.map((place) => server.fetch(place)));
      await Promise.all(responses.map((response) => response.text()));
      return responses.map(({ status }) => status).join(' ');
    },
  ],
  'wrong requests': [
    '400 404 true',
    async (server) => {
      const responses = await Promise.all([
        server.fetch('/message:send', { body: '{"message":' }),
        server.fetch('/tasks/none'),
        server.fetch('/tasks', { headers: { authorization: 'Bearer wrong' } }),
      ]);
      await Promise.all(responses.map((response) => response.text()));
      const [broken, missing, unknown] = responses.map(({ status }) => status);
      // Many wrong tokens from one address are not even looked at.
      return `${broken} ${missing} ${unknown === 401 || unknown === 429}`;
    },
  ],
};
