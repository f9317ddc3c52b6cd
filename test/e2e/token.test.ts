import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Agent, get } from 'node:http';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createServer } from '../../src/index.js';
import { withServer } from '../support/server.js';

/** The authentication of callers without any configuration, and without any authentication. */

let home: string;

beforeEach(async () => {
  home = await mkdtemp(path.join(tmpdir(), 'lango-token-'));
});
afterEach(() => rm(home, { recursive: true }));

async function statusFor(origin: string, authorization?: string): Promise<number> {
  return (await fetch(`${origin}/tasks`, authorization ? { headers: { authorization } } : {})).status;
}

describe('auth.mode token, the default', () => {
  it('creates a token at the first start, keeps it for its owner only, and requires it', async () => {
    const tokens: string[] = [];
    for (let start = 0; start < 2; start += 1) {
      await withServer({ home }, async ({ address }) => {
        const token = (await readFile(path.join(home, 'token'), 'utf8')).trim();
        expect((await stat(path.join(home, 'token'))).mode & 0o777).toBe(0o600);
        expect(token.length).toBeGreaterThanOrEqual(32);
        tokens.push(token);
        expect(await statusFor(address.origin, `Bearer ${token}`)).toBe(200);
        expect(await statusFor(address.origin, `Bearer ${token}x`)).toBe(401);
        expect(await statusFor(address.origin)).toBe(401);
      });
    }
    expect(tokens[1]).toBe(tokens[0]);
  });
});

describe('an address with many failures', () => {
  it('is not slowed down by requests without credentials, which are no guesses', async () => {
    await withServer({ home }, async ({ address: { origin, token } }) => {
      const statuses = [];
      for (let n = 0; n < 25; n += 1) statuses.push(await statusFor(origin));
      expect(new Set(statuses)).toEqual(new Set([401]));
      expect(await statusFor(origin, `Bearer ${token}`)).toBe(200);
    });
  });

  it('is delayed also with the right token, while other addresses and its open connections are not', async () => {
    await withServer({ home }, async ({ address }) => {
      const { port, token } = address;
      const open = new Agent({ keepAlive: true, maxSockets: 1 });
      const ask = async (
        given: string,
        { from = '127.0.0.1', agent }: { from?: string; agent?: Agent } = {},
      ) => {
        const headers = { authorization: `Bearer ${given}` };
        const connection = agent ? { agent } : { agent: false, localAddress: from };
        const sent = get({ host: '127.0.0.1', port, path: '/tasks', headers, ...connection });
        const [response] = (await once(sent, 'response')) as [IncomingMessage];
        response.resume();
        await once(response, 'end');
        return [response.statusCode, response.headers['retry-after'] !== undefined];
      };
      expect(await ask(token!, { agent: open })).toEqual([200, false]);
      for (let n = 0; n < 20; n += 1) expect(await ask('wrong')).toEqual([401, false]);
      const order: string[] = [];
      const right = ask(token!).then((told) => order.push(`the right token: ${told[0]}`));
      const wrong = Array.from({ length: 40 }, () => ask('wrong'));
      const refused = await Promise.race(wrong);
      order.push('the guess beyond 32 that wait');
      expect(refused).toEqual([429, true]);
      expect(await ask(token!, { from: '127.0.0.2' })).toEqual([200, false]);
      order.push('another address');
      expect(await ask(token!, { agent: open })).toEqual([200, false]);
      order.push('the connection from before');
      await Promise.all([right, ...wrong]);
      expect(order).toEqual([
        'the guess beyond 32 that wait',
        'another address',
        'the connection from before',
        'the right token: 200',
      ]);
      open.destroy();
    });
  });
});

describe('auth.mode none', () => {
  const none = { auth: { mode: 'none' as const } };

  it('serves every caller on this machine', async () => {
    await withServer({ home, settings: { server: { port: 0 }, ...none } }, async ({ address }) => {
      expect(await statusFor(address.origin)).toBe(200);
    });
  });

  it.each(['0.0.0.0', '::', '192.0.2.1'])('refuses to serve %s', (host) => {
    const make = () => createServer({ home, settings: { server: { host, port: 0 }, ...none } });
    expect(make).toThrow(/auth\.mode .*"none" is for loopback addresses/);
  });
});
