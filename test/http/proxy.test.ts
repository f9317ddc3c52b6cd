import { describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createSecureContext } from 'node:tls';
import { silentLogger } from '../../src/core/logger.js';
import { createEgress } from '../../src/http/egress.js';
import { createProxyChoice, describeProxies } from '../../src/http/proxy.js';
import { certificate } from '../support/certificates.js';
import { RecordingProxy } from '../support/recording-proxy.js';

describe('the choice of a proxy', () => {
  it('is refused where Node would send requests directly instead', () => {
    const choose = (version: string) => () => createProxyChoice({ proxy: 'proxy.example:3128' }, version);
    for (const old of ['22.20.1', '23.11.0', '24.4.1'])
      expect(choose(old)).toThrow(/needs Node 22.21 or 24.5/);
    for (const version of ['22.21.0', '24.5.0', '26.0.0']) expect(choose(version)).not.toThrow();
    expect(() => createProxyChoice({ proxy: 'direct' }, '22.19.0')).not.toThrow();
  });
});

describe('a request to an https address behind a proxy', () => {
  it('goes through a tunnel, in which the certificate of the server is checked', async () => {
    const pair = await certificate('far');
    const server = createServer({ cert: pair.cert, key: pair.key }, (request, response) => {
      response.end(`${request.method} ${request.url} at ${request.headers.host}`);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    await using proxy = await RecordingProxy.open({ target: port });
    const rules = {
      ...{ allowPrivate: [], timeoutMs: 5_000, logger: silentLogger },
      proxyFor: createProxyChoice({ proxy: `me:secret@${proxy.host}` }),
    };
    const trust = {
      secureContext: createSecureContext({ ca: pair.cert }),
      checkServerIdentity: () => undefined,
    };
    const trusting = createEgress({ ...rules, trust });
    const answer = await trusting('https://far.example/path?a=1');
    expect(await answer.text()).toBe('GET /path?a=1 at far.example');
    expect(proxy.seen).toEqual([{ line: 'CONNECT far.example:443', login: 'me:secret' }]);
    await expect(createEgress(rules)('https://far.example/')).rejects.toThrow('is not trusted');
    server.closeAllConnections();
    server.close();
  });

  it('refuses private addresses and local names before it asks the proxy', async () => {
    await using proxy = await RecordingProxy.open({ target: 1 });
    const proxyFor = createProxyChoice({ proxy: proxy.host });
    const send = createEgress({ allowPrivate: [], timeoutMs: 5_000, logger: silentLogger, proxyFor });
    for (const host of ['10.0.0.7', '[fd00::1]', 'db.internal', 'metadata', 'metadata.'])
      await expect(send(`https://${host}/`)).rejects.toThrow('has a private or loopback address');
    expect(proxy.seen).toEqual([]);
  });

  it.each(['half%25', 'half%'])('shows the proxy the password %s decoded', async (password) => {
    await using proxy = await RecordingProxy.open({ target: 1, refuses: 403 });
    const proxyFor = createProxyChoice({ proxy: `me:${password}@${proxy.host}` });
    const send = createEgress({ allowPrivate: [], timeoutMs: 5_000, logger: silentLogger, proxyFor });
    await expect(send('https://far.example/')).rejects.toThrow('opens no connection to far.example:443');
    expect(proxy.seen).toEqual([{ line: 'CONNECT far.example:443', login: 'me:half%' }]);
  });

  it('fails with the name of the proxy when that cannot be reached', async () => {
    const proxyFor = createProxyChoice({ proxy: 'http://127.0.0.1:1' });
    const send = createEgress({ allowPrivate: [], timeoutMs: 5_000, logger: silentLogger, proxyFor });
    for (const url of ['https://far.example/', 'http://far.example/'])
      await expect(send(url)).rejects.toThrow(
        'far.example cannot be reached through the proxy 127.0.0.1:1 (ECONNREFUSED).',
      );
  });
});

describe('the choice of a proxy', () => {
  const hostOf = (settings: Parameters<typeof createProxyChoice>[0], url: string) =>
    createProxyChoice(settings)(new URL(url))?.host;

  it.each([
    [['one.example'], 'https://one.example/', undefined],
    [['one.example'], 'https://a.one.example/', undefined],
    [['one.example'], 'https://not-one.example/', 'p:1'],
    [['.one.example'], 'https://a.one.example/', undefined],
    [['one.example:8443'], 'https://one.example/', 'p:1'],
    [['one.example:8443'], 'https://one.example:8443/', undefined],
    [['10.0.0.0/8'], 'https://10.1.2.3/', undefined],
    [['10.0.0.0/8'], 'https://11.1.2.3/', 'p:1'],
    [['192.0.2.7'], 'https://192.0.2.7/', undefined],
    [['2001:db8::/32'], 'https://[2001:db8::1]/', undefined],
    [['[2001:db8::1]'], 'https://[2001:db8:0::1]/', undefined],
    [['ONE.example'], 'https://one.EXAMPLE/', undefined],
    [['*'], 'https://any.example/', undefined],
    [[], 'https://localhost/', undefined],
    [[], 'http://127.0.0.9:11434/', undefined],
    [[], 'http://[::1]:11434/', undefined],
  ])('with exceptions %j for %s is %s', (noProxy, url, host) => {
    expect(hostOf({ proxy: 'http://p:1', noProxy }, url)).toBe(host);
  });

  it('depends on the scheme, and is told without a password', () => {
    const settings = { proxy: 'http://me:secret@p:1', httpProxy: 'https://q:2', noProxy: ['a.example'] };
    expect([hostOf(settings, 'https://x.example'), hostOf(settings, 'http://x.example')]).toEqual([
      'p:1',
      'q:2',
    ]);
    expect(describeProxies(settings)).toBe('https: p:1, http: q:2, not for a.example');
    expect(describeProxies({ proxy: 'direct', httpProxy: 'q:2' })).toBe('https: direct, http: q:2');
    expect(describeProxies({ proxy: 'direct' })).toBeUndefined();
  });
});
