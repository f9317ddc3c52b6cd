import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createConsoleRoute } from '../../src/console/routes.js';
import { pageOf, Sessions, setCookie } from '../../src/console/sessions.js';
import type { HttpRoute } from '../../src/core/http.js';
import { AUDIENCE, startIssuer } from '../support/issuer.js';
import { withServer } from '../support/server.js';
import { rawRequest, startHost, TOKEN, type RunningHost } from '../http/running-host.js';

const HOURS = 60 * 60 * 1_000;
const SAME = { 'Lango-Console': 'the-page-of-these-tests' };
const BEARER = { Authorization: `Bearer ${TOKEN}` };

let host: RunningHost;
let folder: string;
let now = 0;

const who: HttpRoute = async (exchange) => {
  if (exchange.path !== '/who') return false;
  exchange.response.end((await exchange.caller()).owner);
  return true;
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'console-'));
  await writeFile(join(folder, 'index.html'), '<!doctype html>');
  await writeFile(join(folder, 'JS-1.js'), 'export {};');
  const sessions = new Sessions(() => now);
  host = await startHost([who, createConsoleRoute({ folder, sessions })], {
    allowedOrigins: ['https://app.example'],
    sessionAuthorization: (request, baseUrl) => sessions.authorizationOf(request, baseUrl),
  });
});

afterAll(async () => {
  await host.server.stop();
  await rm(folder, { recursive: true });
});

const ask = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(`${host.origin}${path}`, { method, headers, redirect: 'manual' });

async function signIn(): Promise<string> {
  const answer = await ask('/console/session', { ...SAME, ...BEARER }, 'POST');
  expect(answer.status).toBe(204);
  return answer.headers.get('set-cookie')!.split(';')[0]!;
}

describe('the root of the server in a browser', () => {
  const visit = (origin: string, accept: string) =>
    fetch(`${origin}/`, { headers: { accept }, redirect: 'manual' });
  const settings = { server: { port: 0 } };

  it('leads to the console, and is no page for programs', async () => {
    await withServer({ settings }, async ({ address: { origin } }) => {
      const led = await visit(origin, 'text/html,*/*;q=0.8');
      expect([led.status, led.headers.get('location')]).toEqual([302, `${origin}/console/`]);
      expect((await visit(origin, 'application/json')).status).toBe(404);
    });
  });

  it('says how the console is switched on where it is off', async () => {
    const off = { ...settings, console: { enabled: false } };
    await withServer({ settings: off }, async ({ address: { origin } }) => {
      const page = await visit(origin, 'text/html');
      expect([page.status, await page.text()]).toEqual([
        404,
        expect.stringContaining('console.enabled: true'),
      ]);
    });
  });
});

describe('the console', () => {
  it('serves its pages under a strict policy, and nothing else', async () => {
    const page = await ask('/console/');
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(page.headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'self';/);
    expect(page.headers.get('content-security-policy')).not.toMatch(/unsafe|\*|https?:/);
    expect((await ask('/console/JS-1.js')).headers.get('cache-control')).toContain('immutable');
    expect((await ask('/console')).status).toBe(308);
    for (const path of ['/console/none.js', '/console/..%2f..%2fpackage.json', '/console/constructor'])
      expect((await ask(path)).status).toBe(404);
  });

  it('exchanges the token for a session that scripts and other sites cannot use', async () => {
    const answer = await ask('/console/session', { ...SAME, ...BEARER }, 'POST');
    expect(answer.headers.get('set-cookie')).toMatch(
      /^lango-session-\d+=[\w-]{43}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/,
    );
    expect((await ask('/console/session', { Authorization: 'Bearer wrong' }, 'POST')).status).toBe(401);
    const cookie = await signIn();
    expect(await (await ask('/who', { ...SAME, cookie })).text()).toBe('default');
  });

  it('accepts a session from its own page only', async () => {
    const cookie = await signIn();
    const foreign = [
      { cookie },
      { cookie, ...SAME, 'Sec-Fetch-Site': 'same-site' },
      { cookie, ...SAME, 'Sec-Fetch-Site': 'cross-site' },
      { cookie, ...SAME, Origin: 'https://app.example' },
    ];
    // Browsers set Sec-Fetch-Site themselves, and so does the fetch of Node: these requests are written by hand.
    for (const headers of foreign) {
      const lines = Object.entries({ Host: `127.0.0.1:${host.port}`, ...headers, Connection: 'close' });
      const text = lines.map(([name, value]) => `${name}: ${value}`).join('\r\n');
      const answer = await rawRequest(host.port, `GET /who HTTP/1.1\r\n${text}\r\n\r\n`);
      expect([headers, answer.slice(9, 12)]).toEqual([headers, '401']);
    }
    expect((await ask('/who', { cookie, ...SAME, Origin: 'https://evil.example' })).status).toBe(403);
    const rebound = `GET /who HTTP/1.1\r\nHost: evil.example\r\nLango-Console: the-page-of-these-tests\r\nCookie: ${cookie}\r\nConnection: close\r\n\r\n`;
    expect((await rawRequest(host.port, rebound)).slice(9, 12)).toBe('403');
    const preflight = await fetch(`${host.origin}/who`, {
      method: 'OPTIONS',
      headers: { Origin: 'https://app.example', 'Access-Control-Request-Method': 'GET' },
    });
    expect(preflight.headers.get('access-control-allow-headers')).not.toContain('Lango-Console');
  });

  it('accepts a session from the page that signed in only, and none beside another cookie of its name', async () => {
    const cookie = await signIn();
    const [name] = cookie.split('=');
    const MALLORY = { 'Lango-Console': 'the-page-of-somebody-else' };
    const opened = await ask('/console/session', { ...MALLORY, ...BEARER }, 'POST');
    const tossed = opened.headers.get('set-cookie')!.split(';')[0]!;
    for (const headers of [
      { ...SAME, cookie: tossed },
      { ...MALLORY, cookie },
      { 'Lango-Console': '1', cookie },
      { ...SAME, cookie: `${tossed}; ${cookie}` },
      { ...SAME, cookie: `${cookie}; ${tossed}` },
      { ...SAME, cookie: `${cookie}; ${name}=` },
    ])
      expect([headers, (await ask('/who', headers)).status]).toEqual([headers, 401]);
    expect((await ask('/who', { ...SAME, cookie })).status).toBe(200);
    expect((await ask('/console/session', BEARER, 'POST')).status).toBe(400);
  });

  it('has a cookie that no other host can set, where there is TLS', () => {
    const session = (baseUrl: string) => setCookie(baseUrl, 'session', 'x').split('; ');
    expect(session('https://server.example/')).toEqual(
      expect.arrayContaining(['__Host-lango-session=x', 'Path=/', 'Secure']),
    );
    expect(session('https://server.example:8443/')[0]).toBe('__Host-lango-session-8443=x');
    expect(session('https://server.example/lango/').slice(0, 2)).toEqual([
      '__Secure-lango-session=x',
      'Path=/lango/',
    ]);
    expect(session('http://server.example:4100/')[0]).toBe('lango-session-4100=x');
  });

  it('signs in by a link that works once and within a minute', async () => {
    expect((await ask('/console/link', {}, 'POST')).status).toBe(401);
    const link = async () => {
      const { code } = (await (await ask('/console/link', BEARER, 'POST')).json()) as { code: string };
      return { ...SAME, 'Lango-Console-Link': code };
    };
    const headers = await link();
    const answer = await ask('/console/session', headers, 'POST');
    const cookie = answer.headers.get('set-cookie')!.split(';')[0]!;
    expect(await (await ask('/who', { ...SAME, cookie })).text()).toBe('default');
    expect((await ask('/console/session', headers, 'POST')).status).toBe(401);
    const late = await link();
    now += 60_000;
    expect((await ask('/console/session', late, 'POST')).status).toBe(401);
    // A session cannot create a link: its code would outlive the sign-out.
    expect(await (await ask('/console/link', { ...SAME, cookie }, 'POST')).json()).toEqual({});
  });

  it('ends a session at its time and at the sign-out, and never creates one from another', async () => {
    const cookie = await signIn();
    const again = await ask('/console/session', { ...SAME, cookie }, 'POST');
    expect([again.status, again.headers.get('set-cookie')]).toEqual([204, null]);
    expect((await ask('/console/session', { ...SAME, cookie }, 'DELETE')).status).toBe(204);
    expect((await ask('/who', { ...SAME, cookie })).status).toBe(401);
    const other = await signIn();
    now += 12 * HOURS;
    expect((await ask('/who', { ...SAME, cookie: other })).status).toBe(401);
  });
});

it('the sessions of one token do not push out those of another', () => {
  const sessions = new Sessions();
  const holds = (id: string) =>
    sessions.authorizationOf(
      { headers: { 'lango-console': SAME['Lango-Console'], cookie: `lango-session=${id}` } } as never,
      'http://server.example/',
    );
  const page = pageOf({ headers: { 'lango-console': SAME['Lango-Console'] } } as never)!;
  const other = sessions.open('Bearer other', page);
  const own = Array.from({ length: 1_100 }, () => sessions.open('Bearer own', page));
  expect(holds(other)).toBe('Bearer other');
  expect([holds(own[999]!), holds(own[1_000]!)]).toEqual([undefined, 'Bearer own']);
});

it('the console signs in at an issuer by the code flow with PKCE, in the browser that began it', async () => {
  const issuer = await startIssuer();
  const auth = { mode: 'jwt' as const, jwt: { issuer: issuer.url, audience: [AUDIENCE] } };
  const settings = { server: { port: 0 }, auth, console: { oidc: { clientId: 'console' } } };
  try {
    await withServer({ settings }, async ({ address }) => {
      const get = (path: string, headers: Record<string, string> = {}) =>
        fetch(new URL(path, address.origin), { headers, redirect: 'manual' });
      expect(await (await get('/console/oidc')).json()).toEqual({ enabled: true });
      const begun = async () => {
        const answer = await fetch(new URL('/console/oidc/begin', address.origin), {
          method: 'POST',
          headers: SAME,
        });
        const back = await get(((await answer.json()) as { url: string }).url);
        const cookie = answer.headers.get('set-cookie')!;
        expect(cookie).toMatch(/HttpOnly; SameSite=Lax$/);
        return { cookie: cookie.split(';')[0]!, back: back.headers.get('location')! };
      };
      const { cookie, back } = await begun();
      const other = await begun();
      for (const wrong of ['', other.cookie]) expect((await get(back, { cookie: wrong })).status).toBe(401);
      const again = await begun();
      const done = await get(again.back, { cookie: again.cookie });
      expect([done.status, done.headers.get('location')]).toEqual([302, `${address.origin}/console/`]);
      expect((await get(again.back, { cookie: again.cookie })).status).toBe(401);
      const session = done.headers.getSetCookie()[0]!.split(';')[0]!;
      expect(done.headers.getSetCookie()[0]).toMatch(/HttpOnly; SameSite=Strict$/);
      expect((await get('/lango/data', { ...SAME, cookie: session })).status).toBe(200);
      expect((await get('/lango/data', { ...SAME, cookie })).status).toBe(401);
      const others = { 'Lango-Console': 'the-page-of-somebody-else' };
      expect((await get('/lango/data', { ...others, cookie: session })).status).toBe(401);
      for (const begin of [{ method: 'POST' }, { headers: SAME }])
        expect((await fetch(new URL('/console/oidc/begin', address.origin), begin)).status).not.toBe(200);
    });
  } finally {
    await issuer.close();
  }
});
