import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { request } from 'node:http';
import { userMessage } from '../support/a2a-requests.js';
import type { TestServer } from '../support/server.js';
import { startServer } from '../support/server.js';
import { scriptedAgent } from '../support/scripted-agent.js';

/** The host names under which a server responds, and the pages that may call it. */

const APP = 'https://app.example';

let server: TestServer;

beforeAll(async () => {
  server = await startServer({
    agents: [scriptedAgent('worker')],
    settings: { server: { port: 0, allowedOrigins: [APP], allowedHosts: ['agents.example'] } },
  });
});
afterAll(() => server.stop());

/** Sends a request with a chosen Host header, which fetch does not allow. */
function statusAt(host: string, where: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const { port, token } = server.address;
    const headers = { host, authorization: `Bearer ${token}` };
    request({ host: '127.0.0.1', port, path: where, headers }, (response) => {
      response.resume();
      resolve(response.statusCode!);
    })
      .on('error', reject)
      .end();
  });
}

const PATHS = [
  '/tasks',
  '/agents/worker/tasks',
  '/.well-known/agent-card.json',
  '/.well-known/ai-catalog.json',
  '/.well-known/jwks.json',
  '/healthz',
];

it('keeps browsers from guessing the type of any response', async () => {
  const card = '/.well-known/agent-card.json';
  const etag = (await server.fetch(card)).headers.get('etag')!;
  const notification = JSON.stringify({ jsonrpc: '2.0', method: 'GetTask', params: { id: 'none' } });
  const preflight = { origin: APP, 'access-control-request-method': 'POST' };
  const responses = await Promise.all([
    ...['/', '/console', '/console/', '/console/oidc', '/healthz', '/nowhere', card].map((where) =>
      server.fetch(where, { redirect: 'manual' }),
    ),
    server.fetch(card, { headers: { 'if-none-match': etag } }),
    server.fetch('/agents/worker', { method: 'OPTIONS', headers: preflight }),
    server.fetch('/agents/worker', { method: 'POST', body: notification }),
    server.fetch('/', { headers: { origin: 'https://evil.example' } }),
  ]);
  const statuses = responses.map(({ status }) => status);
  expect(statuses).toEqual(expect.arrayContaining([200, 204, 304, 308, 403, 404]));
  for (const { url, status, headers } of responses)
    expect([url, status, headers.get('x-content-type-options')]).toEqual([url, status, 'nosniff']);
});

describe('a request', () => {
  it.each(PATHS)("is refused at %s when its Host header is another server's", async (where) => {
    const { port } = server.address;
    expect(await statusAt('evil.example', where)).toBe(403);
    expect(await statusAt(`evil.example:${port}`, where)).toBe(403);
    expect(await statusAt(`127.0.0.1:${port}`, where)).toBe(200);
    expect(await statusAt('agents.example', where)).toBe(200);
  });
});

describe('a request of a page', () => {
  const send = (origin: string, where = '/agents/worker/message:send') =>
    server.fetch(where, {
      method: 'POST',
      headers: { origin },
      body: JSON.stringify(userMessage('say x')),
    });

  it('is refused for a foreign origin, and nothing is stored', async () => {
    for (const origin of ['https://evil.example', 'null', 'http://app.example', `${APP}:444`]) {
      const refused = await send(origin);
      expect([origin, refused.status]).toEqual([origin, 403]);
      expect(refused.headers.get('access-control-allow-origin')).toBeNull();
    }
    const listed = (await (await server.fetch('/agents/worker/tasks')).json()) as { totalSize: number };
    expect(listed.totalSize).toBe(0);
  });

  it("may call, stream, and read the protocol's headers for an allowed origin", async () => {
    for (const where of ['/agents/worker/message:send', '/agents/worker/message:stream']) {
      const { status, headers, text } = await send(APP, where).then(async (response) => ({
        status: response.status,
        headers: response.headers,
        text: await response.text(),
      }));
      expect([status, headers.get('access-control-allow-origin')]).toEqual([200, APP]);
      expect(headers.get('vary')).toMatch(/origin/i);
      for (const name of ['A2A-Extensions', 'WWW-Authenticate', 'Retry-After', 'ETag'])
        expect(headers.get('access-control-expose-headers')).toContain(name);
      expect(headers.get('access-control-allow-credentials')).toBeNull();
      expect(text).toContain('TASK_STATE_COMPLETED');
    }
  });

  it("may send the protocol's headers for an allowed origin", async () => {
    const { status, headers } = await fetch(`${server.address.origin}/agents/worker`, {
      method: 'OPTIONS',
      headers: { origin: APP, 'access-control-request-method': 'POST' },
    });
    expect(status).toBe(204);
    for (const name of ['Authorization', 'A2A-Version', 'A2A-Extensions', 'Last-Event-ID'])
      expect(headers.get('access-control-allow-headers')).toContain(name);
  });

  it('needs no permission for our own origin', async () => {
    expect((await send(server.address.origin)).status).toBe(200);
  });
});
