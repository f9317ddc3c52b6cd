import { afterEach, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { LangoError } from '../../src/core/errors.js';
import type { HttpRoute } from '../../src/core/http.js';
import { startHost } from './running-host.js';

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

/** The host's requests in the server of another program. */
async function mount(route: HttpRoute) {
  const { server } = await startHost([route], { claims: () => true });
  open.push(() => server.stop());
  const listen = async (listener: RequestListener) => {
    const outer = createServer(listener).listen(0, '127.0.0.1');
    await once(outer, 'listening');
    open.push(() => outer.close());
    return `http://127.0.0.1:${(outer.address() as AddressInfo).port}/`;
  };
  return { pipeline: server.pipeline, listen };
}

it('a request that fails after another program has responded to it leaves that response alone', async () => {
  const { pipeline, listen } = await mount(async () => {
    await delay(50);
    throw new LangoError('not-found', 'too late');
  });
  const handled: Promise<void>[] = [];
  const url = await listen((request, response) => {
    handled.push(pipeline.handle(request, response), pipeline.handle(request, response, true));
    setTimeout(() => response.writeHead(503).end('slow'), 10);
  });
  const response = await fetch(url);
  expect([response.status, await response.text()]).toEqual([503, 'slow']);
  expect(await Promise.allSettled(handled)).toEqual(handled.map(() => ({ status: 'fulfilled' })));
});

it('a program around the host reads the headers of a response that it did not write', async () => {
  const { pipeline, listen } = await mount((exchange) => {
    exchange.send(200, { 'Content-Type': 'text/plain' }, 'abc');
    return true;
  });
  const seen: unknown[] = [];
  const url = await listen((request, response) => {
    const names = ['x-request-id', 'x-content-type-options', 'content-length', 'content-type'];
    response.on('finish', () => seen.push(...names.map((name) => String(response.getHeader(name)))));
    pipeline.handleMounted(request, response, () => response.end());
  });
  const { headers } = await fetch(url);
  expect(seen).toEqual([headers.get('x-request-id'), 'nosniff', '3', 'text/plain']);
});
