import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { silentLogger } from '../../src/core/logger.js';
import { createEgress } from '../../src/http/egress.js';
import { holdTime } from '../support/held-time.js';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

async function listen(listener: RequestListener, host = '127.0.0.1'): Promise<number> {
  const server = createServer(listener).listen(0, host);
  servers.push(server);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** A long time, which passes only by the clock of the test. */
const TIMEOUT_MS = 60_000;

function egress(changes: Partial<Parameters<typeof createEgress>[0]> = {}): typeof fetch {
  return createEgress({ allowPrivate: [], timeoutMs: TIMEOUT_MS, logger: silentLogger, ...changes });
}

const hello: RequestListener = (_request, response) => response.end('hello');

describe('the egress client and an address', () => {
  it.each([
    '127.0.0.1',
    'localhost',
    'LOCALHOST',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '0.0.0.0',
    '[::]',
    '2130706433',
    '0x7f000001',
    '0177.0.0.1',
    '127.1',
    '10.0.0.1',
    '169.254.169.254',
    '192.168.0.1',
    '[fe80::1]',
    '[fd00::1]',
    '[64:ff9b::7f00:1]',
    '[64:ff9b:1::1]',
    '[100::1]',
    '[fec0::1]',
    '[3fff::1]',
    '[2001:db8::1]',
    '198.18.0.1',
    '203.0.113.1',
    '100.100.100.200',
    '168.63.129.16',
  ])('refuse %s', async (name) => {
    const port = await listen(hello);
    await expect(egress()(`http://${name}:${port}/`)).rejects.toMatchObject({ code: 'forbidden' });
  });

  it.each([22, 25, 110, 993, 2375, 5432, 6379, 11211])(
    'refuse port %i, also at a public address',
    async (port) => {
      const error = await egress()(`http://example.com:${port}/`).catch((reason: unknown) => reason);
      expect(error).toMatchObject({
        code: 'forbidden',
        message: `example.com:${port} has the port of a service that does not speak HTTP.`,
      });
    },
  );

  it('allow a private name one by one, with or without its port', async () => {
    const port = await listen(hello);
    const other = await listen(hello);
    const get = egress({ allowPrivate: [`127.0.0.1:${port}`, 'localhost'] });
    expect(await (await get(`http://127.0.0.1:${port}/`)).text()).toBe('hello');
    expect(await (await get(`http://localhost:${other}/`)).text()).toBe('hello');
    await expect(get(`http://127.0.0.1:${other}/`)).rejects.toMatchObject({
      code: 'forbidden',
      hint: expect.stringContaining(`127.0.0.1:${other}`) as unknown,
    });
    await expect(get(`http://[::ffff:127.0.0.1]:${port}/`)).rejects.toMatchObject({ code: 'forbidden' });
  });

  it('do not follow redirects by default, and check each hop when asked to follow', async () => {
    const inner = await listen(hello);
    const port = await listen((_request, response) => {
      response.writeHead(302, { location: `http://127.0.0.1:${inner}/` }).end();
    });
    const get = egress({ allowPrivate: [`127.0.0.1:${port}`] });
    await expect(get(`http://127.0.0.1:${port}/`)).rejects.toThrow(/redirect/);
    expect((await get(`http://127.0.0.1:${port}/`, { redirect: 'manual' })).status).toBe(302);
    await expect(get(`http://127.0.0.1:${port}/`, { redirect: 'follow' })).rejects.toMatchObject({
      code: 'forbidden',
    });
  });

  it('ignore proxy variables, and refuse other schemes', async () => {
    const proxy = await listen((_request, response) => response.end('proxied'));
    const port = await listen(hello);
    process.env['http_proxy'] = `http://127.0.0.1:${proxy}`;
    process.env['NODE_USE_ENV_PROXY'] = '1';
    try {
      const get = egress({ allowPrivate: ['127.0.0.1'] });
      expect(await (await get(`http://127.0.0.1:${port}/`)).text()).toBe('hello');
    } finally {
      delete process.env['http_proxy'];
      delete process.env['NODE_USE_ENV_PROXY'];
    }
    for (const url of [
      'data:text/plain,x',
      'file:///etc/passwd',
      'nonsense',
      'http://user:pw@example.com/',
    ]) {
      await expect(egress()(url)).rejects.toMatchObject({ code: 'invalid-input' });
    }
  });
});

describe('a request of the egress client', () => {
  const allowPrivate = ['127.0.0.1'];

  it('passes method, headers and body on, and resolves with a web response', async () => {
    const port = await listen((request, response) => {
      void (async () => {
        const chunks: Buffer[] = [];
        for await (const chunk of request) chunks.push(chunk as Buffer);
        response.writeHead(201, { 'content-type': 'application/json', 'set-cookie': ['a=1', 'b=2'] });
        const body = Buffer.concat(chunks).toString();
        response.end(JSON.stringify({ method: request.method, type: request.headers['content-type'], body }));
      })();
    });
    const post = egress({ allowPrivate });
    const url = `http://127.0.0.1:${port}/`;
    const answer = await post(url, {
      method: 'POST',
      body: '{"ü":1}',
      headers: { 'content-type': 'application/json' },
    });
    expect(answer).toBeInstanceOf(Response);
    expect([answer.status, answer.ok, answer.headers.getSetCookie()]).toEqual([201, true, ['a=1', 'b=2']]);
    expect(await answer.json()).toEqual({ method: 'POST', type: 'application/json', body: '{"ü":1}' });
    const form = await post(new Request(url, { method: 'PUT', body: new URLSearchParams({ a: 'b' }) }));
    expect(await form.json()).toEqual({
      method: 'PUT',
      type: 'application/x-www-form-urlencoded;charset=UTF-8',
      body: 'a=b',
    });
  });

  it('limits the size of the decoded body', async () => {
    const port = await listen((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(50_000)));
    });
    const get = egress({ allowPrivate, maxBytes: 10_000 });
    await expect((await get(`http://127.0.0.1:${port}/`)).arrayBuffer()).rejects.toMatchObject({
      code: 'too-large',
    });
    const roomy = egress({ allowPrivate, maxBytes: 50_000 });
    expect((await (await roomy(`http://127.0.0.1:${port}/`)).arrayBuffer()).byteLength).toBe(50_000);
  });

  it('times out on a silent server, before the head and in the body', async () => {
    using _time = holdTime();
    const asked = Promise.withResolvers<void>();
    const silent = await listen(() => asked.resolve());
    const failed = expect(egress({ allowPrivate })(`http://127.0.0.1:${silent}/`)).rejects;
    await asked.promise;
    jest.advanceTimersByTime(TIMEOUT_MS);
    await failed.toMatchObject({ code: 'timeout' });
    const stuck = await listen((_request, response) => response.write('begin'));
    const answer = await egress({ allowPrivate })(`http://127.0.0.1:${stuck}/`);
    const read = expect(answer.text()).rejects;
    jest.advanceTimersByTime(TIMEOUT_MS);
    await read.toMatchObject({ code: 'timeout' });
  });

  it('reports that nothing listens, and that the connection broke', async () => {
    const port = await listen(hello);
    servers.pop()?.close();
    await expect(egress({ allowPrivate })(`http://127.0.0.1:${port}/`)).rejects.toMatchObject({
      code: 'unavailable',
      retryable: true,
      message: expect.stringContaining('ECONNREFUSED') as unknown,
    });
    const cutting = await listen((_request, response) => {
      response.write('begin', () => response.destroy());
    });
    const answer = await egress({ allowPrivate })(`http://127.0.0.1:${cutting}/`);
    await expect(answer.text()).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('sends nothing when the signal is aborted before the start, also with a body', async () => {
    const port = await listen(hello);
    const signal = AbortSignal.abort(new Error('too late'));
    const url = `http://127.0.0.1:${port}/`;
    const sent = egress({ allowPrivate: ['127.0.0.1'] })(url, { method: 'POST', body: 'x', signal });
    await expect(sent).rejects.toThrow('too late');
    // An unhandled rejection would surface now.
    await new Promise((resolve) => setTimeout(resolve, 20));
  });

  it("rejects with the reason of the caller's signal, at any time", async () => {
    const port = await listen((_request, response) => response.write('begin'));
    const controller = new AbortController();
    const answer = await egress({ allowPrivate })(`http://127.0.0.1:${port}/`, { signal: controller.signal });
    const reason = new Error('enough');
    const text = answer.text();
    controller.abort(reason);
    await expect(text).rejects.toBe(reason);
    await expect(
      egress({ allowPrivate })(`http://127.0.0.1:${port}/`, { signal: controller.signal }),
    ).rejects.toBe(reason);
  });
});

describe('an event stream of the egress client', () => {
  const allowPrivate = ['127.0.0.1'];
  const STREAM = { 'content-type': 'text/event-stream; charset=utf-8' };

  const asked = { headers: { accept: 'text/event-stream' } };

  it.each([
    ['no stream was asked for', 200, {}],
    ['it is the body of an error', 500, asked],
  ])('has the limits of a plain response when %s', async (_why, status, init) => {
    const port = await listen((_request, response) => {
      response.writeHead(status, STREAM).write('data: 0\n\n'.repeat(10));
    });
    const answer = await egress({ allowPrivate, maxBytes: 50 })(`http://127.0.0.1:${port}/`, init);
    await expect(answer.text()).rejects.toMatchObject({ code: 'too-large' });
  });

  it('has a limit of its own when a stream was requested', async () => {
    const port = await listen((_request, response) => {
      response.writeHead(200, STREAM).write('data: 0\n\n'.repeat(10));
    });
    const get = egress({ allowPrivate, maxBytes: 10, streamBytes: 50 });
    const answer = await get(`http://127.0.0.1:${port}/`, asked);
    await expect(answer.text()).rejects.toMatchObject({ code: 'too-large' });
  });

  it('may be the binary one of Amazon Bedrock', async () => {
    const port = await listen((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' }).end('x'.repeat(90));
    });
    const get = egress({ allowPrivate, maxBytes: 50, streams: 'always' });
    expect(await (await get(`http://127.0.0.1:${port}/`)).text()).toHaveLength(90);
  });

  it('yields each chunk at once, beyond the limits of a plain response', async () => {
    const steps: (() => void)[] = [];
    const port = await listen((_request, response) => {
      response.writeHead(200, STREAM);
      response.write('data: 0\n\n');
      steps.push(
        () => response.write('data: 1\n\n'),
        () => response.end('data: 2\n\n'),
      );
    });
    using _time = holdTime();
    const get = egress({ allowPrivate, idleMs: 3 * TIMEOUT_MS, maxBytes: 10 });
    const reader = (await get(`http://127.0.0.1:${port}/`, asked))
      .body!.pipeThrough(new TextDecoderStream())
      .getReader();
    expect((await reader.read()).value).toBe('data: 0\n\n');
    jest.advanceTimersByTime(2 * TIMEOUT_MS);
    steps[0]!();
    expect((await reader.read()).value).toBe('data: 1\n\n');
    steps[1]!();
    expect((await reader.read()).value).toBe('data: 2\n\n');
    expect((await reader.read()).done).toBe(true);
  });

  it('measures silence from the last chunk, not from the first', async () => {
    using _time = holdTime();
    let write: (chunk: string) => void;
    const port = await listen((_request, response) => {
      write = (chunk) => void response.write(chunk);
      response.writeHead(200, STREAM).flushHeaders();
    });
    const answer = await egress({ allowPrivate, idleMs: 1_000 })(`http://127.0.0.1:${port}/`, asked);
    const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
    for (const chunk of ['data: 0\n\n', ': still here\n\n', ': still here\n\n', 'data: 1\n\n']) {
      jest.advanceTimersByTime(700);
      write!(chunk);
      expect((await reader.read()).value).toBe(chunk);
    }
  });

  it('times out after too long a silence', async () => {
    const port = await listen((_request, response) => {
      response.writeHead(200, STREAM).write('data: 0\n\n');
    });
    using _time = holdTime();
    const answer = await egress({ allowPrivate, idleMs: 1_000 })(`http://127.0.0.1:${port}/`, asked);
    const read = expect(answer.text()).rejects;
    jest.advanceTimersByTime(1_000);
    await read.toMatchObject({ code: 'timeout' });
  });

  it('closes the connection when the reader cancels', async () => {
    const closed = Promise.withResolvers<void>();
    const port = await listen((_request, response) => {
      response.on('close', () => closed.resolve());
      response.writeHead(200, STREAM).write('data: 0\n\n');
    });
    const answer = await egress({ allowPrivate })(`http://127.0.0.1:${port}/`, asked);
    await answer.body!.cancel();
    await closed.promise;
  });
});
