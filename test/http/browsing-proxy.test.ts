import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, request as open } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { lookup, replaceLookup, resolved, restoreLookup } from '../support/made-up-names.js';
import {
  openBrowsingProxy,
  type BrowsingProxy,
  type ConnectionFailure,
} from '../../src/http/browsing-proxy.js';

beforeAll(replaceLookup);
afterAll(restoreLookup);

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function openTarget(): Promise<{ host: string; server: Server }> {
  const server = createServer((request, response) => {
    response.writeHead(200, { 'content-type': 'text/plain', 'set-cookie': ['a=1', 'b=2'] });
    request.pipe(response);
    if (request.method === 'GET') response.end(`you asked ${request.url}`);
  }).listen(0, '127.0.0.1');
  closers.push(
    () => server.close(),
    () => server.closeAllConnections(),
  );
  await once(server, 'listening');
  return { server, host: `127.0.0.1:${(server.address() as AddressInfo).port}` };
}

async function openProxy(allowPrivate: readonly string[], maxBytes = 1_000_000) {
  const failures: ConnectionFailure[] = [];
  const proxy = await openBrowsingProxy({ allowPrivate, maxBytes, onFailure: (each) => failures.push(each) });
  closers.push(() => proxy.close());
  return { proxy, failures };
}

function authorizationOf({ login: { username, password } }: BrowsingProxy): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

async function get(proxy: BrowsingProxy, url: string, body?: string) {
  const { port } = proxy;
  const headers = { 'proxy-authorization': authorizationOf(proxy) };
  const method = body === undefined ? 'GET' : 'POST';
  const request = open({ host: '127.0.0.1', port, path: url, method, headers, agent: false });
  request.end(body);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of response) text += String(chunk);
  return { status: response.statusCode, text, cookies: response.headers['set-cookie'] };
}

/** The proxy's response to a CONNECT, and the response to a request through the tunnel. */
async function tunnel(proxy: BrowsingProxy, host: string, shown = authorizationOf(proxy)): Promise<string> {
  const socket = connect(proxy.port, '127.0.0.1');
  socket.write(`CONNECT ${host} HTTP/1.1\r\nHost: ${host}\r\nProxy-Authorization: ${shown}\r\n\r\n`);
  let text = '';
  socket.on('data', (chunk) => {
    text += String(chunk);
    if (/ 200 Connection established\r\n\r\n$/.test(text)) {
      socket.write(`GET /inside HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    }
  });
  await once(socket, 'close');
  return text;
}

describe('the proxy of a browser', () => {
  it('passes requests and tunnels on to a host that is allowed', async () => {
    const { host } = await openTarget();
    const { proxy, failures } = await openProxy([host]);
    expect(await get(proxy, `http://${host}/page?a=b`)).toEqual({
      status: 200,
      text: 'you asked /page?a=b',
      cookies: ['a=1', 'b=2'],
    });
    expect(await get(proxy, `http://${host}/`, 'sent')).toMatchObject({ text: 'sent' });
    expect(await tunnel(proxy, host)).toContain('you asked /inside');
    expect(failures).toEqual([]);
  });

  it('accepts only the client with its password, which no server sees', async () => {
    const { host, server } = await openTarget();
    const seen: IncomingMessage['headers'][] = [];
    server.on('request', ({ headers }) => void seen.push(headers));
    const { proxy, failures } = await openProxy([host]);
    const other = await openProxy([host]);
    const stranger = open({
      host: '127.0.0.1',
      port: proxy.port,
      path: `http://${host}/`,
      agent: false,
    }).end();
    const [answer] = (await once(stranger, 'response')) as [IncomingMessage];
    expect([answer.statusCode, answer.headers['proxy-authenticate']]).toEqual([407, 'Basic realm="lango"']);
    answer.resume();
    for (const shown of ['', 'Basic', authorizationOf(other.proxy), authorizationOf(proxy).slice(0, -1)]) {
      expect(await tunnel(proxy, host, shown)).toMatch(/^HTTP\/1.1 407/);
    }
    expect([seen, failures]).toEqual([[], []]);
    expect(await get(proxy, `http://${host}/`)).toMatchObject({ status: 200 });
    expect(Object.keys(seen[0]!)).not.toContain('proxy-authorization');
  });

  it('refuses every private address, by number and by name', async () => {
    const { host, server } = await openTarget();
    const { port } = server.address() as AddressInfo;
    const { proxy, failures } = await openProxy([`other:${port}`, '127.0.0.1:1']);
    const hosts = [
      host,
      `localhost:${port}`,
      `[::1]:${port}`,
      `0.0.0.0:${port}`,
      '169.254.169.254:80',
      '10.1.2.3:443',
    ];
    for (const each of hosts) {
      expect(await get(proxy, `http://${each}/`)).toMatchObject({ status: 403 });
      expect(await tunnel(proxy, each)).toMatch(/^HTTP\/1.1 403/);
    }
    expect(failures.map(({ why }) => why)).toEqual(Array<string>(2 * hosts.length).fill('private'));
    // Itself, too.
    expect(await get(proxy, `http://127.0.0.1:${proxy.port}/`)).toMatchObject({ status: 403 });
  });

  it('checks every address of a name at each connection', async () => {
    const { server } = await openTarget();
    const { port } = server.address() as AddressInfo;
    const { proxy } = await openProxy([]);
    resolved.set('rebinding.example', [['192.0.2.1', '127.0.0.1'], ['127.0.0.1']]);
    expect(await get(proxy, `http://rebinding.example:${port}/`)).toMatchObject({ status: 403 });
    expect(await tunnel(proxy, `rebinding.example:${port}`)).toMatch(/^HTTP\/1.1 403/);
    expect(lookup.mock.calls.filter(([name]) => name === 'rebinding.example')).toHaveLength(2);
  });

  it('refuses a request that is none to a proxy', async () => {
    const { proxy } = await openProxy([]);
    for (const path of ['/', 'ftp://example.com/', 'https://example.com/', 'http://']) {
      expect(await get(proxy, path)).toMatchObject({ status: 403 });
    }
    for (const host of ['', ':80', 'a b:80', 'a/b:80@c'])
      expect(await tunnel(proxy, host)).not.toContain(' 200 ');
  });

  it('reports that a host cannot be reached', async () => {
    const { host, server } = await openTarget();
    server.close();
    await once(server, 'close');
    const { proxy, failures } = await openProxy([host]);
    expect(await get(proxy, `http://${host}/`)).toMatchObject({ status: 502 });
    expect(await tunnel(proxy, host)).toMatch(/^HTTP\/1.1 502/);
    expect(failures.map(({ why }) => why)).toEqual(['unreachable', 'unreachable']);
  });

  it('transfers no more bytes than its limit, until the limit is renewed', async () => {
    const { host } = await openTarget();
    const { proxy, failures } = await openProxy([host], 100);
    await get(proxy, `http://${host}/`, 'x'.repeat(200)).catch(() => undefined);
    expect(await get(proxy, `http://${host}/`)).toMatchObject({ status: 403 });
    expect(await tunnel(proxy, host)).toMatch(/^HTTP\/1.1 403/);
    expect(new Set(failures.map(({ why }) => why))).toEqual(new Set(['weight']));
    proxy.renew();
    expect(await get(proxy, `http://${host}/`)).toMatchObject({ status: 200 });
  });
});
