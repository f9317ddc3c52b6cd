import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createServer } from '../../src/index.js';
import { withServer } from '../support/server.js';

/** How a node knows its callers when nobody configured anything, and how it is told to know nobody. */

let home: string;

beforeEach(async () => {
  home = await mkdtemp(path.join(tmpdir(), 'lango-token-'));
});
afterEach(() => rm(home, { recursive: true }));

async function statusFor(origin: string, authorization?: string): Promise<number> {
  return (await fetch(`${origin}/tasks`, authorization ? { headers: { authorization } } : {})).status;
}

describe('auth.mode token, the default', () => {
  it('makes a token at the first start, keeps it for its owner only, and asks for it', async () => {
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

describe('auth.mode none', () => {
  const none = { auth: { mode: 'none' as const } };

  it('serves everybody on this machine', async () => {
    await withServer({ home, settings: { server: { port: 0 }, ...none } }, async ({ address }) => {
      expect(await statusFor(address.origin)).toBe(200);
    });
  });

  it.each(['0.0.0.0', '::', '192.0.2.1'])('does not serve %s', (host) => {
    const make = () => createServer({ home, settings: { server: { host, port: 0 }, ...none } });
    expect(make).toThrow(/auth\.mode .*"none" is for loopback addresses/);
  });
});
