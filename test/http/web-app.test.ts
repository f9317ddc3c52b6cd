import { afterEach, describe, expect, it } from '@jest/globals';
import { LangoError } from '../../src/core/errors.js';
import { exchangeOf } from '../../src/core/http.js';
import { createAuthenticator } from '../../src/http/identity.js';
import type { Mount } from '../../src/http/web-app.js';
import type { LogLine, RunningHost } from './running-host.js';
import { TOKEN, recordingLogger, startHost } from './running-host.js';

let host: RunningHost | undefined;

afterEach(() => host?.server.stop());

const NOTES: Mount = {
  paths: ['/notes'],
  access: 'caller',
  addTo(router) {
    router.get('/notes', async (request, response) => {
      response.json({ ...(await exchangeOf(request).caller()) });
    });
    router.put('/notes/:name', async (request, response) => {
      response.json({ name: request.params['name'], body: await exchangeOf(request).readJson() });
    });
    router.delete('/notes/:name', () => {
      throw new LangoError('not-found', 'There is no such note.', { headers: { 'X-Why': 'gone' } });
    });
    router.patch('/notes/:name', async () => Promise.reject(new Error('secret detail')));
  },
};
const PAGE: Mount = {
  paths: ['/page'],
  access: 'anyone',
  addTo(router) {
    router.get('/page', (_request, response) => void response.send('hello'));
  },
};

function ask(path: string, init: RequestInit = {}, token: string | undefined = TOKEN): Promise<Response> {
  const headers = { ...(token ? { authorization: `Bearer ${token}` } : {}), ...init.headers };
  return fetch(`${host!.origin}${path}`, { ...init, headers });
}

describe('express routers', () => {
  it('are found after the plain routes, with the caller and the body of the exchange', async () => {
    host = await startHost([], { mounts: [NOTES, PAGE] });
    expect(await (await ask('/notes')).json()).toEqual({ owner: 'default', tenant: '' });
    const put = await ask('/notes/a%20b', {
      method: 'PUT',
      body: '{"x":1}',
      headers: { 'content-type': 'application/json' },
    });
    expect(await put.json()).toEqual({ name: 'a b', body: { x: 1 } });
    expect(await (await ask('/page', {}, '')).text()).toBe('hello');
  });

  it('refuse an unknown caller where one is needed, even for a path that does not exist', async () => {
    host = await startHost([], { mounts: [NOTES, PAGE] });
    for (const path of ['/notes', '/notes/', '/notes/a/b/c']) {
      const answer = await ask(path, {}, '');
      expect([path, answer.status, answer.headers.get('www-authenticate')]).toEqual([
        path,
        401,
        'Bearer realm="lango"',
      ]);
      expect((await ask(path, {}, 'wrong')).status).toBe(401);
    }
  });

  it('match paths exactly', async () => {
    host = await startHost([], { mounts: [NOTES, PAGE] });
    for (const path of ['/Notes', '/notes/', '/PAGE', '/page/']) expect((await ask(path)).status).toBe(404);
  });

  it('keep the limits of the host', async () => {
    const rate = { perSecond: 0.01, burst: 2 };
    const lines: LogLine[] = [];
    const logger = recordingLogger(lines);
    const authenticator = createAuthenticator({
      mode: 'token',
      token: TOKEN,
      rates: { caller: rate, address: rate },
      logger,
    });
    host = await startHost([], { mounts: [NOTES, PAGE], authenticator });
    const large = { method: 'PUT', body: `"${'x'.repeat(1_000)}"`, headers: { 'content-type': 'text/json' } };
    expect((await ask('/notes/a', large)).status).toBe(415);
    const json = { ...large, headers: { 'content-type': 'application/json' } };
    expect((await ask('/notes/a', json)).status).toBe(413);
    expect((await ask('/notes')).status).toBe(429);
    const anonymous = [await ask('/page', {}, ''), await ask('/nothing', {}, ''), await ask('/page', {}, '')];
    expect(anonymous.map(({ status }) => status)).toEqual([200, 404, 429]);
  });

  it('have one error handler: typed errors in the one shape, defects without details', async () => {
    const lines: LogLine[] = [];
    host = await startHost([], { mounts: [NOTES], logger: recordingLogger(lines) });
    const typed = await ask('/notes/a', { method: 'DELETE' });
    expect([typed.status, typed.headers.get('x-why')]).toEqual([404, 'gone']);
    expect(await typed.json()).toEqual({
      error: { code: 404, status: 'NOT_FOUND', message: 'There is no such note.', details: [] },
    });
    const defect = await ask('/notes/a', { method: 'PATCH' });
    expect(defect.status).toBe(500);
    expect(await defect.text()).not.toContain('secret');
    expect(lines.some(({ level, fields }) => level === 'error' && fields['error'] === 'secret detail')).toBe(
      true,
    );
    expect((await ask('/notes/%ff')).status).toBe(400);
  });
});
