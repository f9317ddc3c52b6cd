import { expect, it } from '@jest/globals';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { langoHere } from './lango-here.js';

const REFUSAL = 'This agent takes questions about tea only.';

/** Answers as a server of A2A 0.3, which refuses every message and lists no tasks. */
async function answer(request: IncomingMessage, response: ServerResponse, card: object): Promise<void> {
  if (request.url === '/.well-known/agent-card.json') return void response.end(JSON.stringify(card));
  const { method } = (await json(request).catch(() => ({}))) as { readonly method?: string };
  const isSend = request.url === '/v1/message:send';
  const error =
    isSend || method === 'message/send'
      ? { code: -32602, message: REFUSAL }
      : { code: -32601, message: `Method not found: ${method}` };
  response.writeHead(request.url === '/' ? 200 : isSend ? 400 : 404, { 'content-type': 'application/json' });
  response.end(JSON.stringify(request.url === '/' ? { jsonrpc: '2.0', id: 1, error } : error));
}

it.each(['JSONRPC', 'HTTP+JSON'])(
  'lango send shows why a server of A2A 0.3 refuses, though it lists no tasks, over %s',
  async (preferredTransport) => {
    const server = createServer((request, response) => {
      const url = `http://${request.headers.host}/`;
      const modes = { defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'] };
      const card = { name: 'tea', description: 'Tea.', version: '1', protocolVersion: '0.3.0', ...modes };
      void answer(request, response, { ...card, url, preferredTransport, capabilities: {}, skills: [] });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { code, stderr } = await langoHere(['send', '--url', url, 'hello']);
    server.closeAllConnections();
    server.close();
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(REFUSAL) });
  },
);
