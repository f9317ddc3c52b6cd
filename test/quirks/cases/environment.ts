import { expect } from '@jest/globals';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { ServerOptions } from '../../../src/index.js';
import { say, ScriptedModel } from '../../support/scripted-model.js';
import { withServer, type TestServer } from '../../support/server.js';
import type { Quirk } from '../quirk.js';

type Settings = NonNullable<ServerOptions['settings']>;

const ENVIRONMENT = { class: 18, wire: 'environment' } as const;

/** Runs a server whose model always says the text. */
function withAnswer(text: string, settings: Settings, use: (server: TestServer) => Promise<void>) {
  const model = new ScriptedModel({ flat: [say(text)] });
  return withServer({ model, settings: { agent: { multiAgent: false }, ...settings } }, use);
}

const HOSTS: readonly Quirk[] = [
  { host: '::1', called: '[::1]', named: '[::1]' },
  { host: '[::1]', called: '[::1]', named: '[::1]' },
  { host: '::', called: '127.0.0.2', named: '127.0.0.2' },
  { host: '::', called: '[::1]', named: '[::1]' },
  { host: '::ffff:127.0.0.1', called: '127.0.0.1', named: '127.0.0.1' },
  { host: '0:0:0:0:0:0:0:1', called: '[::1]', named: '[::1]' },
].map(({ host, called, named }) => ({
  ...ENVIRONMENT,
  id: `host-${host}-${called}`,
  vendor: 'Kubernetes',
  source: 'Kubernetes: IPv4/IPv6 dual-stack',
  quirk: 'A machine has IPv6 addresses only, or both kinds.',
  right: `A server on ${host} starts, and its card has the address http://${named}.`,
  async check() {
    const settings: Settings = {
      server: {
        port: 0,
        host,
        ...(host === '::' && { allowRisks: ['plainHttp'] }),
        limits: { noticeSeconds: 0 },
      },
    };
    await withAnswer('Hi.', settings, async ({ address }) => {
      const base = `http://${called}:${address.port}`;
      const card = await fetch(`${base}/.well-known/agent-card.json`, { headers: { 'a2a-version': '1.0' } });
      expect(await card.json()).toMatchObject({
        supportedInterfaces: expect.arrayContaining([
          expect.objectContaining({ url: expect.stringContaining(`http://${named}:${address.port}`) }),
        ]),
      });
    });
  },
}));

const SAID = 'one\u2028two\u2029three\u0085four';
const PARAMS = { message: { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'hello' }] } };

const STREAMS: readonly Quirk[] = [
  { path: '/', body: { jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params: PARAMS } },
  { path: '/message:stream', body: PARAMS },
  {
    path: '/mcp',
    body: {
      ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
      params: { name: 'lango-agent', arguments: { message: 'hello' } },
    },
  },
].map(({ path, body }) => ({
  ...ENVIRONMENT,
  id: `line-ends-${path}`,
  wire: path === '/mcp' ? 'MCP' : 'A2A',
  vendor: 'httpx-sse',
  source: 'florimondmanca/httpx-sse#34',
  quirk: 'Clients split an event stream at U+2028, U+2029 and U+0085, and lose the event.',
  right: `These characters are escaped in the event streams of ${path}.`,
  async check() {
    await withAnswer(SAID, { mcp: { serve: true } }, async (server) => {
      const response = await server.fetch(path, {
        ...{ method: 'POST', body: JSON.stringify(body) },
        headers: { 'a2a-version': '1.0', accept: 'application/json, text/event-stream' },
      });
      const stream = await response.text();
      expect(stream).toContain('one\\u2028two\\u2029three\\u0085four');
      expect(stream).not.toMatch(/[\u2028\u2029\u0085]/);
    });
  },
}));

const IDLE: Quirk = {
  ...ENVIRONMENT,
  id: 'idle-connections',
  vendor: 'AWS Application Load Balancer',
  source: 'nodejs/node#20256',
  quirk: 'A load balancer sends a request on a connection that the server is closing after 5 s of silence.',
  right: 'An idle connection stays open as long as server.limits.keepAliveSeconds says, 65 s by default.',
  async check() {
    const limits = { headerSeconds: 0.2 };
    await withAnswer('Hi.', { server: { port: 0, limits } }, async ({ address }) => {
      const card = await fetch(`${address.origin}/.well-known/agent-card.json`);
      expect(card.headers.get('keep-alive')).toBe('timeout=65');
    });
    await withAnswer(
      'Hi.',
      { server: { port: 0, limits: { ...limits, keepAliveSeconds: 6 } } },
      async (server) => {
        const { port } = server.address;
        const socket = connect(port, '127.0.0.1');
        let answers = '';
        socket.on('data', (chunk) => (answers += chunk.toString()));
        const ask = () => socket.write(`GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`);
        ask();
        // Longer than the headers of a request may take.
        await sleep(700);
        ask();
        await sleep(100);
        socket.destroy();
        expect(answers.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(2);
        expect(answers).toMatch(/keep-alive: timeout=6\r\n/i);
      },
    );
  },
};

const COMPRESSED: readonly Quirk[] = ['/', '/message:send'].map((path) => ({
  ...{ ...ENVIRONMENT, id: `compressed-${path}`, wire: 'A2A' },
  vendor: 'gateways that compress requests',
  source: 'RFC 9110, section 15.5.16',
  quirk: 'A client compresses the body of its request, and sends it plain when it is told to.',
  right: 'It is told with 415 and Accept-Encoding: identity.',
  async check() {
    await withAnswer('Hi.', {}, async (server) => {
      const response = await server.fetch(path, {
        ...{ method: 'POST', body: gzipSync('{}') },
        headers: { 'a2a-version': '1.0', 'content-encoding': 'gzip' },
      });
      expect([response.status, response.headers.get('accept-encoding')]).toEqual([415, 'identity']);
      expect(await response.text()).toContain('Compressed bodies are not accepted.');
    });
  },
}));

const PREFIXES: readonly Quirk[] = [
  { id: 'kept', headers: {}, before: '/team/a', public: 'https://agents.example/team/a', isSet: true },
  { id: 'stripped', headers: {}, before: '', public: 'https://agents.example/team/a', isSet: true },
  {
    ...{ id: 'forwarded', before: '/x', isSet: false, public: 'https://proxy.example/x' },
    headers: {
      'x-forwarded-host': 'proxy.example',
      'x-forwarded-proto': 'https',
      'x-forwarded-prefix': '/x',
    },
  },
].map(({ id, headers, before, isSet, public: base }) => ({
  ...{ ...ENVIRONMENT, id: `prefix-${id}`, wire: 'A2A' },
  vendor: 'agentgateway',
  source: 'agentgateway/agentgateway#3500',
  quirk: 'A proxy has the agents below a path, and passes that path on or not.',
  right: 'The card names the public address, and requests are answered at both paths.',
  async check() {
    const settings: Settings = isSet
      ? { a2a: { baseUrl: base } }
      : { server: { port: 0, trustProxy: true, allowedHosts: ['proxy.example'] } };
    await withAnswer('Hi.', settings, async (server) => {
      const all = { 'a2a-version': '1.0', ...headers };
      const card = await server.fetch(`${before}/.well-known/agent-card.json`, { headers: all });
      expect(await card.json()).toMatchObject({
        supportedInterfaces: expect.arrayContaining([
          expect.objectContaining({ url: expect.stringContaining(`${base}/agents/lango-agent`) }),
        ]),
      });
      const body = JSON.stringify(PARAMS);
      for (const path of ['/message:send', '/agents/lango-agent/message:send?x=1'])
        expect((await server.fetch(before + path, { method: 'POST', body, headers: all })).status).toBe(200);
      expect(
        (await server.fetch('/team/ab/message:send', { method: 'POST', body, headers: all })).status,
      ).toBe(404);
    });
  },
}));

const IDS: Quirk = {
  ...{ ...ENVIRONMENT, id: 'ids-of-requests', wire: 'A2A' },
  vendor: 'clients with 64-bit ids',
  source: 'JSON-RPC 2.0, section 5: the id MUST be the same as in the request',
  quirk: 'The id of a request is a number beyond 2^53, or one that JavaScript writes in another way.',
  right: 'The response has the same id, digit by digit.',
  async check() {
    await withAnswer('Hi.', {}, async (server) => {
      const nested = '{"id":7,"other":{"id":8}}';
      for (const id of [
        '9007199254740993',
        '-18446744073709551615',
        '1.0',
        '1e2',
        '1.5',
        '7',
        '""',
        '"x"',
        'null',
      ])
        for (const body of [
          `{"jsonrpc":"2.0","id":${id},"method":"GetTask","params":{"id":"nothing","metadata":${nested}}}`,
          `{"jsonrpc":"2.0","method":"GetTask","params":{"id":"nothing","metadata":${nested}}, "id" : ${id}}`,
          `{"jsonrpc":"2.0","id":${id},"method":"NoMethod"}`,
        ]) {
          const response = await server.fetch('/', {
            method: 'POST',
            body,
            headers: { 'a2a-version': '1.0' },
          });
          expect(await response.text()).toContain(`"id":${id},"error"`);
        }
    });
  },
};

/** Networks, load balancers and the settings of machines. */
export const SURROUNDINGS: readonly Quirk[] = [...HOSTS, ...STREAMS, IDLE, ...COMPRESSED, ...PREFIXES, IDS];
