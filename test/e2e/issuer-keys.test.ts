import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Issuer } from '../support/issuer.js';
import { AUDIENCE, startIssuer } from '../support/issuer.js';
import type { TestServer } from '../support/server.js';
import { withServer } from '../support/server.js';

const LONGER_THAN_COOLDOWN_MS = 50;

/** The sources of an issuer's keys, and the validity of its tokens as keys and clocks change. */

let issuer: Issuer;

beforeAll(async () => {
  issuer = await startIssuer();
});
afterAll(() => issuer.close());
afterEach(() => {
  issuer.isDown = false;
});

function withIssuer(jwt: object, use: (server: TestServer) => Promise<void>): Promise<void> {
  const rules = { issuer: issuer.url, audience: [AUDIENCE], ...jwt };
  return withServer({ settings: { server: { port: 0 }, auth: { mode: 'jwt', jwt: rules } } }, use);
}

async function statusFor({ address }: TestServer, token: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}` };
  return (await fetch(`${address.origin}/tasks`, { headers })).status;
}

const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1_000) + seconds;

describe('the keys of an issuer', () => {
  it('are read from auth.jwt.jwksUrl', async () => {
    await withIssuer({ jwksUrl: `${issuer.url}/keys` }, async (server) => {
      expect(await statusFor(server, await issuer.token({ sub: 'alice' }))).toBe(200);
    });
  });

  it('are read from auth.jwt.jwksFile, without a request', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'lango-jwks-'));
    const jwksFile = path.join(folder, 'keys.json');
    await writeFile(jwksFile, await (await fetch(`${issuer.url}/keys`)).text());
    const asked = issuer.requests();
    await withIssuer({ jwksFile }, async (server) => {
      expect(await statusFor(server, await issuer.token({ sub: 'alice' }))).toBe(200);
      expect(issuer.requests()).toBe(asked);
    });
    await rm(folder, { recursive: true });
  });

  it('may be rotated under a running server, and an unpublished key is refused', async () => {
    await withIssuer({ cooldownSeconds: 0.01 }, async (server) => {
      const before = await issuer.token({ sub: 'alice' });
      expect(await statusFor(server, before)).toBe(200);
      await issuer.rotate();
      await sleep(LONGER_THAN_COOLDOWN_MS);
      const after = await issuer.token({ sub: 'alice' });
      expect([await statusFor(server, after), await statusFor(server, before)]).toEqual([200, 200]);
      await issuer.rotate(false);
      expect(await statusFor(server, await issuer.token({ sub: 'alice' }))).toBe(401);
      await issuer.rotate();
    });
  });

  it('keep every caller out while they cannot be read', async () => {
    issuer.isDown = true;
    await withIssuer({ cooldownSeconds: 0.01 }, async (server) => {
      const token = await issuer.token({ sub: 'alice' });
      const response = await server.fetch('/tasks', { headers: { authorization: `Bearer ${token}` } });
      expect(response.status).toBe(503);
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
      issuer.isDown = false;
      let status = 503;
      while (status === 503) status = await statusFor(server, token);
      expect(status).toBe(200);
    });
  });
});

describe('auth.jwt.clockSkewSeconds', () => {
  it('is the tolerance for the expiry of a token and for its beginning', async () => {
    const late = await issuer.token({ sub: 'alice' }, { expires: inSeconds(-60) });
    const early = await issuer.token({ sub: 'alice', nbf: inSeconds(60) });
    await withIssuer({ clockSkewSeconds: 120 }, async (server) => {
      expect([await statusFor(server, late), await statusFor(server, early)]).toEqual([200, 200]);
    });
    await withIssuer({ clockSkewSeconds: 10 }, async (server) => {
      expect([await statusFor(server, late), await statusFor(server, early)]).toEqual([401, 401]);
    });
  });
});
