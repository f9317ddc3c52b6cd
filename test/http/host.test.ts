import { afterEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { LangoError } from '../../src/core/errors.js';
import { refuseBrokenRequest } from '../../src/http/node-server.js';
import type { HttpRoute } from '../../src/core/http.js';
import { sendJson } from '../../src/http/errors.js';
import type { Host, HostOptions } from '../../src/http/host.js';
import type { LogLine, RunningHost } from './running-host.js';
import { LIMITS, TOKEN, rawRequest, recordingLogger, startHost } from './running-host.js';

const open: Host[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((host) => host.stop()));
});

async function start(
  routes: readonly HttpRoute[] = [],
  changes: Partial<HostOptions> = {},
): Promise<RunningHost> {
  const host = await startHost(routes, changes);
  open.push(host.server);
  return host;
}

interface ErrorAnswer {
  readonly error: { code: number; status: string; message: string; details: unknown[] };
}

const echo: HttpRoute = async (exchange) => {
  if (exchange.path !== '/echo') return false;
  const body = await exchange.readJson();
  sendJson(exchange.response, 200, { body, origin: exchange.baseUrl, q: exchange.query.get('q') });
  return true;
};

const whoami: HttpRoute = async (exchange) => {
  if (exchange.path !== '/me') return false;
  sendJson(exchange.response, 200, await exchange.caller());
  return true;
};

function post(
  host: RunningHost,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${host.origin}/echo`, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', ...headers },
  });
}

describe('the HTTP host', () => {
  it('tries plain routes first, then express with health, and responds with "not found" as JSON', async () => {
    const host = await start([echo]);
    const answer = await (await post(host, '{"a":[1,"ü"]}')).json();
    expect(answer).toEqual({ body: { a: [1, 'ü'] }, origin: host.origin, q: null });
    expect(await (await fetch(`${host.origin}/healthz`)).json()).toEqual({ status: 'ok' });

    const missing = await fetch(`${host.origin}/nowhere`);
    expect(missing.status).toBe(404);
    expect(missing.headers.get('content-type')).toMatch(/^application\/json/);
    expect(missing.headers.get('x-powered-by')).toBeNull();
    expect(((await missing.json()) as ErrorAnswer).error).toMatchObject({
      code: 404,
      status: 'NOT_FOUND',
      details: [],
    });
  });

  it('reports readiness with its reason', async () => {
    const host = await start([], { problem: () => new Error('no model') });
    const answer = await fetch(`${host.origin}/readyz`);
    expect(answer.status).toBe(503);
    expect(await answer.json()).toEqual({ status: 'not ready', reason: 'no model' });
  });

  it('responds with 400 and no HTML to a path that is no percent-encoding', async () => {
    const host = await start();
    const answer = await rawRequest(
      host.port,
      `GET /%ff HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1.1 40[04]/);
    expect(answer).not.toContain('<');
  });

  it('hides a defect from the response, and logs it', async () => {
    const lines: LogLine[] = [];
    const broken: HttpRoute = async () => {
      throw new Error('secret detail /root/x');
    };
    const host = await start([broken], { logger: recordingLogger(lines) });
    const answer = await fetch(`${host.origin}/x`);
    expect(answer.status).toBe(500);
    expect(await answer.text()).not.toContain('secret');
    expect(
      lines.some((line) => line.level === 'error' && line.fields['error'] === 'secret detail /root/x'),
    ).toBe(true);
  });

  it('maps each error code to its status, the violations to details, and sends Retry-After', async () => {
    const refuse: HttpRoute = async () => {
      throw new LangoError('unavailable', 'Busy.', {
        retryAfterMs: 1_500,
        violations: [{ field: 'message.parts', description: 'is empty' }],
      });
    };
    const host = await start([refuse]);
    const answer = await fetch(`${host.origin}/x`);
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '2']);
    expect(((await answer.json()) as ErrorAnswer).error.details).toEqual([
      {
        '@type': 'type.googleapis.com/google.rpc.BadRequest',
        fieldViolations: [{ field: 'message.parts', description: 'is empty' }],
      },
    ]);
  });

  it('sends the headers of all responses in one write, by every way', async () => {
    const text: HttpRoute = (exchange) => {
      if (exchange.path === '/broken') throw new LangoError('conflict', 'no');
      if (exchange.path !== '/text') return false;
      exchange.send(201, { 'Content-Type': 'text/plain' }, 'höflich');
      exchange.send(200, {}, 'twice');
      return true;
    };
    const host = await start([text, echo], { allowedOrigins: ['https://app.example'] });
    const responses = await Promise.all([
      fetch(`${host.origin}/text`),
      fetch(`${host.origin}/text`, { method: 'HEAD' }),
      fetch(`${host.origin}/text`, { headers: { origin: 'https://app.example' } }),
      post(host, '1'),
      fetch(`${host.origin}/broken`),
      fetch(`${host.origin}/nowhere`),
    ]);
    const texts = await Promise.all(responses.slice(0, 3).map((one) => one.text()));
    expect(texts).toEqual(['höflich', '', 'höflich']);
    expect(responses.map(({ status }) => status)).toEqual([201, 201, 201, 200, 409, 404]);
    const all = responses.map(({ headers }) => headers);
    expect(all.map((headers) => headers.get('x-content-type-options'))).toEqual(all.map(() => 'nosniff'));
    expect(new Set(all.map((headers) => headers.get('x-request-id') ?? '')).size).toBe(all.length);
    expect(all.slice(0, 3).map((headers) => headers.get('content-length'))).toEqual(['8', '8', '8']);
    expect(all[2]!.get('access-control-allow-origin')).toBe('https://app.example');
  });

  it('logs method, path without query, status and trace id, and responds with a request id', async () => {
    const lines: LogLine[] = [];
    const host = await start([echo], { logger: recordingLogger(lines) });
    const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
    const answer = await fetch(`${host.origin}/echo?q=token`, {
      method: 'POST',
      body: '1',
      headers: { 'content-type': 'application/json', traceparent: `00-${trace}-00f067aa0ba902b7-01` },
    });
    await answer.text();
    await host.server.stop();
    const line = lines.find(({ message }) => message === 'request');
    expect(line).toMatchObject({
      level: 'debug',
      fields: { method: 'POST', path: '/echo', status: 200, traceId: trace },
    });
    expect(line?.fields['requestId']).toBe(answer.headers.get('x-request-id'));
    expect(JSON.stringify(lines)).not.toContain('q=token');
  });
});

describe('the limits before parsing (3.2 #6)', () => {
  type Case = readonly [
    name: string,
    given: { body: string | Uint8Array<ArrayBuffer>; headers?: Record<string, string> },
    status: number,
  ];
  const cases: readonly Case[] = [
    ['a body over the limit', { body: `"${'x'.repeat(1_000)}"` }, 413],
    ['nesting over the limit', { body: '['.repeat(9) + ']'.repeat(9) }, 400],
    ['too many members', { body: `{${Array.from({ length: 11 }, (_, i) => `"k${i}":1`).join()}}` }, 400],
    ['a syntax error', { body: '{"a":' }, 400],
    ['an empty body', { body: '' }, 400],
    ['bytes that are not UTF-8', { body: new Uint8Array([0x22, 0xff, 0x22]) }, 400],
    ['a compressed body', { body: '{}', headers: { 'content-encoding': 'gzip' } }, 415],
    ['another media type', { body: '{}', headers: { 'content-type': 'text/plain' } }, 415],
    [
      'another character set',
      { body: '{}', headers: { 'content-type': 'application/json; charset=latin1' } },
      415,
    ],
  ];
  it.each(cases)('refuse %s', async (_name, { body, headers }, status) => {
    const host = await start([echo]);
    const answer = await post(host, body, headers);
    expect(answer.status).toBe(status);
    expect(((await answer.json()) as ErrorAnswer).error.code).toBe(status);
  });

  it.each(['application/a2a+json', 'application/json; charset=UTF-8', 'application/vnd.x+json'])(
    'accept %s',
    async (type) => {
      const host = await start([echo]);
      expect((await post(host, '{"a":{"b":1}}', { 'content-type': type })).status).toBe(200);
    },
  );

  it('count a streamed body without a declared length', async () => {
    const host = await start([echo]);
    const chunk = `400\r\n${'x'.repeat(1_024)}\r\n`;
    const answer = await rawRequest(
      host.port,
      'POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n' +
        `Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n${chunk}${chunk}0\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1.1 413 /);
  });

  it('refuse a body whose declared length is too great, without waiting for it', async () => {
    const host = await start([echo]);
    const answer = await rawRequest(
      host.port,
      'POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1001\r\n\r\n',
    );
    expect(answer).toMatch(/^HTTP\/1.1 413 /);
  });

  it('refuse large headers', async () => {
    const host = await start();
    const answer = await rawRequest(
      host.port,
      `GET / HTTP/1.1\r\nHost: localhost\r\nX-Big: ${'x'.repeat(5_000)}\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1.1 431 /);
    expect(answer).toContain('"code":431');
  });

  it('end a request whose headers do not arrive', async () => {
    const host = await start([], { limits: { ...LIMITS, headerSeconds: 0.2, bodySeconds: 600 } });
    expect(await rawRequest(host.port, 'GET / HTTP/1.1\r\nHost: loc')).toMatch(/^HTTP\/1.1 408 /);
  });

  it('close a connection to a client that never closes its own side', async () => {
    const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    const [socket] = (await once(server, 'connection')) as [Socket];
    refuseBrokenRequest(Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), socket);
    await once(socket, 'close');
    client.destroy();
    server.close();
  });

  it('end a request whose body does not arrive', async () => {
    const host = await start([echo], { limits: { ...LIMITS, bodySeconds: 0.2 } });
    const answer = await rawRequest(
      host.port,
      'POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"a"',
    );
    expect(answer).toMatch(/^HTTP\/1.1 408 /);
    expect(answer).toContain('within 0.2 s');
  });

  it.each([
    '{"a":1,"a":1}',
    '{"a":1,"\\u0061":2}',
    '{"__proto__":1,"__proto__":2}',
    '[{"b":[{"c":{},"d":0,"c":{}}]}]',
  ])('refuse an object that names a member twice: %s', async (text) => {
    const host = await start([echo]);
    const answer = await post(host, text);
    expect([answer.status, await answer.text()]).toEqual([
      400,
      expect.stringContaining('has two members of the same name'),
    ]);
    expect((await post(host, '{"a":{"a":[{"a":1},{"a":2}]},"b":":,:"}')).status).toBe(200);
  });

  it('hold for members named __proto__', async () => {
    const host = await start([echo]);
    const answer = await (await post(host, '{"__proto__":{"polluted":true}}')).text();
    expect(answer).toContain('polluted');
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });
});

describe('the admission of a request', () => {
  it.each([
    ['another name', 'GET / HTTP/1.1\r\nHost: evil.example\r\n', 403],
    ['the wildcard address', 'GET / HTTP/1.1\r\nHost: 0.0.0.0\r\n', 403],
    ['no host name', 'GET / HTTP/1.1\r\nHost: a b\r\n', 400],
    ['a name with a path', 'GET / HTTP/1.1\r\nHost: localhost/x\r\n', 400],
    ['two Host headers', 'GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n', 400],
    ['none', 'GET / HTTP/1.0\r\n', 400],
  ])('refuses a request for %s', async (_name, head, status) => {
    const host = await start();
    const answer = await rawRequest(host.port, `${head}Connection: close\r\n\r\n`);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  });

  it('accepts allowed host names, and the address that the request arrived at', async () => {
    const host = await start([], { host: '0.0.0.0', allowedHosts: ['Agents.example', 'node:81'] });
    expect(host.origin).toBe(`http://localhost:${host.port}`);
    const ask = (name: string, address?: string): Promise<string> =>
      rawRequest(host.port, `GET /healthz HTTP/1.1\r\nHost: ${name}\r\nConnection: close\r\n\r\n`, address);
    expect(await ask('agents.example:9')).toMatch(/^HTTP\/1.1 200 /);
    expect(await ask('node:81')).toMatch(/^HTTP\/1.1 200 /);
    expect(await ask('node:82')).toMatch(/^HTTP\/1.1 403 /);
    expect(await ask(`127.0.0.2:${host.port}`, '127.0.0.2')).toMatch(/^HTTP\/1.1 200 /);
    expect(await ask(`127.0.0.2:${host.port}`)).toMatch(/^HTTP\/1.1 403 /);
    expect(await ask('10.9.8.7')).toMatch(/^HTTP\/1.1 403 /);
  });

  it('refuses pages of other origins, and responds to the preflight of allowed ones', async () => {
    const host = await start([echo], { allowedOrigins: ['https://app.example/'] });
    expect((await post(host, '1', { origin: 'https://evil.example' })).status).toBe(403);
    expect((await post(host, '1', { origin: 'null' })).status).toBe(403);
    expect((await post(host, '1', { origin: host.origin })).status).toBe(200);
    const allowed = await post(host, '1', { origin: 'https://app.example' });
    expect(allowed.headers.get('access-control-allow-origin')).toBe('https://app.example');
    const preflight = await fetch(`${host.origin}/echo`, {
      method: 'OPTIONS',
      headers: { origin: 'https://app.example', 'access-control-request-method': 'POST' },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-headers')).toContain('Authorization');
  });

  it('uses forwarded headers only behind a trusted proxy', async () => {
    const forwarded = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'agents.example' };
    const plain = await start([echo]);
    expect(await (await post(plain, '1', forwarded)).json()).toMatchObject({ origin: plain.origin });
    const trusting = await start([echo], { trustProxy: true, allowedHosts: ['agents.example'] });
    expect(await (await post(trusting, '1', forwarded)).json()).toMatchObject({
      origin: 'https://agents.example',
    });
    expect((await post(trusting, '1', { ...forwarded, 'x-forwarded-host': 'evil.example' })).status).toBe(
      403,
    );
  });

  it.each([
    ['/x', '/x'],
    ['/x/y//', '/x/y'],
    ['/.x/..y', '/.x/..y'],
    ['/..', ''],
    ['/x/../y', ''],
    ['/x/.', ''],
    ['//evil', ''],
    ['/x//y', ''],
    [`${'/'.repeat(3_000)}x`, ''],
  ])('behind a trusted proxy, the prefix %s gives addresses below "%s"', async (given, prefix) => {
    const forwarded = { 'x-forwarded-prefix': given };
    const plain = await start([echo]);
    expect(await (await post(plain, '1', forwarded)).json()).toMatchObject({ origin: plain.origin });
    const trusting = await start([echo], { trustProxy: true });
    expect(await (await post(trusting, '1', forwarded)).json()).toMatchObject({
      origin: trusting.origin + prefix,
    });
  });

  it('reads the bearer token from the header only, and challenges', async () => {
    const host = await start([whoami]);
    const ask = (headers: Record<string, string>, query = ''): Promise<Response> =>
      fetch(`${host.origin}/me${query}`, { headers });
    expect(await (await ask({ authorization: `Bearer ${TOKEN}` })).json()).toEqual({
      owner: 'default',
      tenant: '',
    });
    for (const answer of [
      await ask({}),
      await ask({ authorization: `Basic ${TOKEN}` }),
      await ask({}, `?token=${TOKEN}&access_token=${TOKEN}`),
    ]) {
      expect(answer.status).toBe(401);
      expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="lango"');
    }
    const wrong = await ask({ authorization: 'Bearer wrong' });
    expect(wrong.status).toBe(401);
    expect(wrong.headers.get('www-authenticate')).toContain('error="invalid_token"');
  });
});

describe('the start and stop of a host', () => {
  it('report which port is taken and what to do', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    await expect(startHost([], { port })).rejects.toMatchObject({
      code: 'unavailable',
      message: `Port ${port} on 127.0.0.1 is already in use.`,
      hint: expect.stringContaining('--port') as unknown,
    });
    taken.close();
  });

  it('abort open exchanges and let them end; new requests get a time to retry', async () => {
    const mayEnd = Promise.withResolvers<void>();
    const stream: HttpRoute = async ({ response, signal, path }) => {
      if (path !== '/stream') return false;
      response.write('begin;');
      await once(signal, 'abort');
      await mayEnd.promise;
      response.end((signal.reason as LangoError).code);
      return true;
    };
    const host = await start([stream, whoami]);
    const open = await fetch(`${host.origin}/stream`);
    const stopped = host.server.stop();
    const late = await fetch(`${host.origin}/me`, { headers: { authorization: `Bearer ${TOKEN}` } });
    expect([late.status, late.headers.get('retry-after'), late.headers.get('connection')]).toEqual([
      503,
      '2',
      'close',
    ]);
    const ready = await fetch(`${host.origin}/readyz`);
    expect([ready.status, await ready.json()]).toEqual([
      503,
      { status: 'not ready', reason: 'The server is stopping.' },
    ]);
    expect((await fetch(`${host.origin}/healthz`)).status).toBe(200);
    mayEnd.resolve();
    expect(await open.text()).toBe('begin;unavailable');
    await stopped;
    await expect(fetch(host.origin)).rejects.toThrow();
  });

  it('answer each request that was sent before the stop, also on connections not accepted yet', async () => {
    const host = await start([whoami]);
    const clients = Array.from({ length: 30 }, () => connect(host.port, '127.0.0.1'));
    await Promise.all(clients.map((client) => once(client, 'connect')));
    const answers = clients.map(async (client) => {
      client.write(`GET /me HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`);
      return (await once(client.setEncoding('utf8'), 'data')) as [string];
    });
    const stopped = host.server.stop();
    for (const [answer] of await Promise.all(answers)) expect(answer).toMatch(/^HTTP\/1.1 503 /);
    await stopped;
  });

  it('do not wait for connections without a request', async () => {
    const host = await start([], { limits: { ...LIMITS, headerSeconds: 600, drainSeconds: 600 } });
    const silent = connect(host.port, '127.0.0.1');
    const unfinished = connect(host.port, '127.0.0.1', () => unfinished.write('GET / HTTP/1.1\r\nHo'));
    for (const client of [silent, unfinished]) client.on('error', () => {}).resume();
    await Promise.all([once(silent, 'connect'), once(unfinished, 'connect')]);
    // A request on another connection gets its response once the server has accepted these two.
    await fetch(`${host.origin}/healthz`);
    await expect(host.server.stop()).resolves.toBeUndefined();
  });

  it('cut an exchange that outlasts the drain time', async () => {
    const stubborn: HttpRoute = async ({ response }) => {
      response.write('begin;');
      await once(response, 'close');
      return true;
    };
    const host = await start([stubborn], { limits: { ...LIMITS, drainSeconds: 0.1 } });
    const answer = await fetch(`${host.origin}/x`);
    await host.server.stop();
    await expect(answer.text()).rejects.toThrow();
  });

  it('abort the signal of an exchange when the client leaves', async () => {
    const gone = Promise.withResolvers<unknown>();
    const watch: HttpRoute = async ({ response, signal }) => {
      signal.addEventListener('abort', () => gone.resolve(signal.reason));
      response.write('begin;');
      await once(response, 'close');
      return true;
    };
    const host = await start([watch]);
    const controller = new AbortController();
    const answer = await fetch(`${host.origin}/x`, { signal: controller.signal });
    controller.abort();
    await answer.text().catch(() => undefined);
    expect(await gone.promise).toMatchObject({ code: 'canceled' });
  });
});
