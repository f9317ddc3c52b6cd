import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { newId } from '../../src/core/ids.js';
import { RawGrpc } from '../support/raw-grpc.js';
import { scriptedAgent } from '../support/scripted-agent.js';
import type { TestServer } from '../support/server.js';
import { withServer } from '../support/server.js';

/** The limits of each caller and each address, as clients observe them. */

function withLimits(limits: object, use: (server: TestServer) => Promise<void>): Promise<void> {
  const grpc = { enabled: true, port: 0 };
  const settings = { server: { port: 0, grpc, limits } };
  return withServer({ agents: [scriptedAgent('worker')], settings }, use);
}

interface Fault {
  readonly error: { readonly code: number; readonly status?: string; readonly message: string };
}

const rpc = (method: string, params: object) => ({
  method: 'POST',
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
});

async function untilRefused(ask: () => Promise<Response>): Promise<Response> {
  for (;;) {
    const response = await ask();
    if (!response.ok) return response;
  }
}

function openGrpc({ address }: TestServer, token = address.token!): RawGrpc {
  return new RawGrpc(address.grpcPort!, token);
}

describe('a caller over the rate limit', () => {
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it('gets an error in the shape of each binding, with the time to wait', async () => {
    await withLimits({ requestsPerSecond: 1, requestBurst: 2 }, async (server) => {
      // The clock stands still, so that the caller gains no further request.
      const now = performance.now();
      jest.spyOn(performance, 'now').mockImplementation(() => now);
      const rest = await untilRefused(() => server.fetch('/agents/worker/tasks'));
      const json = await untilRefused(() => server.fetch('/agents/worker', rpc('ListTasks', {})));
      for (const { status, headers } of [rest, json]) {
        expect(status).toBe(429);
        expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
        expect(headers.get('ratelimit')).toMatch(/r=0;t=\d+/);
        expect(headers.get('ratelimit-policy')).toMatch(/q=2;w=2/);
      }
      expect(((await rest.json()) as Fault).error).toMatchObject({ code: 429, status: 'RESOURCE_EXHAUSTED' });
      const fault = (await json.json()) as Fault & { readonly jsonrpc: string; readonly id: unknown };
      expect(fault.jsonrpc).toBe('2.0');
      expect(fault.error.message).toContain('Too many requests');
      using grpc = openGrpc(server);
      // The refusal comes before the message is read.
      expect(await grpc.begin('listTasks').answer).toMatchObject({
        status: 'RESOURCE_EXHAUSTED',
        message: 'Too many requests.',
        reason: 'TOO_MANY',
        retrySeconds: expect.any(Number),
        head: {
          ratelimit: expect.stringMatching(/r=0;t=\d+/),
          'ratelimit-policy': expect.stringMatching(/q=2;w=2/),
        },
      });
    });
  });
});

describe('an address without an authenticated caller', () => {
  it.each([
    ['a card', '/agents/worker/.well-known/agent-card.json', 'GET'],
    ['an agent that is none, over JSON-RPC', '/agents/nobody', 'POST'],
    ['a path that is none, over HTTP+JSON', '/agents/worker/nothing', 'GET'],
    ['the health of the server', '/healthz', 'GET'],
  ])('has a rate limit for %s, which does not count authenticated callers', async (_what, path, method) => {
    await withLimits({ anonymousPerSecond: 1, anonymousBurst: 2 }, async (server) => {
      const ask = () => fetch(server.address.origin + path, { method });
      let answer = await ask();
      while (answer.status !== 429) answer = await ask();
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(answer.headers.get('ratelimit')).toMatch(/"address";r=0/);
      expect((await server.fetch('/agents/worker/tasks')).status).toBe(200);
    });
  });

  it('is delayed after twenty wrong tokens, counted over all transports', async () => {
    await withLimits({}, async (server) => {
      using grpc = openGrpc(server, 'wrong');
      const headers = { authorization: 'Bearer wrong' };
      const rest = () => server.fetch('/agents/worker/tasks', { headers });
      const json = () => server.fetch('/agents/worker', { ...rpc('ListTasks', {}), headers });
      for (let n = 0; n < 10; n += 1) {
        expect(await grpc.begin().answer).toMatchObject({
          status: 'UNAUTHENTICATED',
          reason: 'UNAUTHENTICATED',
        });
        expect((await (n % 2 === 0 ? rest() : json())).status).toBe(401);
      }
      expect([(await rest()).status, (await json()).status]).toEqual([429, 429]);
      expect(await grpc.begin().answer).toMatchObject({
        status: 'RESOURCE_EXHAUSTED',
        reason: 'TOO_MANY',
        retrySeconds: expect.any(Number),
      });
    });
  });
});

describe('streams of one caller', () => {
  it('are counted over all bindings, and one that ends makes room', async () => {
    await withLimits({ streamsPerCaller: 1 }, async (server) => {
      const message = () => ({ messageId: newId(), role: 'ROLE_USER', parts: [{ text: 'wait' }] });
      const stop = new AbortController();
      const open = () => server.fetch('/agents/worker', rpc('SendStreamingMessage', { message: message() }));
      const first = await server.fetch('/agents/worker/message:stream', {
        method: 'POST',
        body: JSON.stringify({ message: message() }),
        signal: stop.signal,
      });
      expect(first.headers.get('content-type')).toBe('text/event-stream');
      const refused = await open();
      expect(refused.status).toBe(429);
      expect(((await refused.json()) as Fault).error.message).toMatch(/stream/);
      stop.abort();
      let next = await open();
      while (next.status === 429) next = await open();
      expect(next.headers.get('content-type')).toBe('text/event-stream');
      await next.body?.cancel();
    });
  });
});
