import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findIn, findInFolder } from '../support/secret-search.js';
import { langoHere, startServerHere } from './lango-here.js';
import type { Home } from './lango-process.js';
import { mainFile, cleanEnv, lango, makeHome, startServer } from './lango-process.js';

const VALUE = 'ghp_S3cr3t/To+ken42';
const KILLS = process.env['LANGO_CAMPAIGN'] === '1' ? 12 : 4;
const PASSPHRASE = 'correct horse battery staple';

let home: Home;

beforeEach(async () => {
  home = await makeHome();
});

afterEach(() => home.remove());

function secrets(args: readonly string[], input?: string, env: Readonly<Record<string, string>> = {}) {
  return langoHere(['secrets', ...args], {
    env: { ...home.env, ...env },
    ...(input !== undefined && { input }),
  });
}

async function names(env: Readonly<Record<string, string>> = {}): Promise<readonly string[]> {
  const { stdout, stderr } = await secrets(['list', '--json'], undefined, env);
  if (stdout === '') throw new Error(stderr);
  return (JSON.parse(stdout) as { secrets: { name: string }[] }).secrets.map(({ name }) => name);
}

describe('lango secrets', () => {
  it('stores, lists, permits and deletes without a server, and shows no value anywhere', async () => {
    const args = ['secrets', 'set', 'github', '--for', 'exec'];
    const set = await lango(args, { env: home.env, input: `${VALUE}\n` });
    expect(set).toMatchObject({ code: 0 });
    expect(set.stdout).toContain('{{secret:github}}');
    const listed = await secrets(['list']);
    expect(listed.stdout).toContain('may be used: exec');
    const allowed = await secrets(['allow', 'github', '--host', 'API.example.com', '--json']);
    expect(JSON.parse(allowed.stdout)).toMatchObject({
      secret: { name: 'github', places: ['http'], hosts: ['api.example.com'], version: 2 },
    });
    expect(
      findIn('output', [set, listed, allowed].map((one) => one.stdout + one.stderr).join(), VALUE),
    ).toEqual([]);
    expect(findInFolder(home.folder, VALUE)).toEqual([]);
    const hostless = await secrets(['allow', 'github', '--for', 'exec,http']);
    expect(hostless.stdout).toContain('may be used: exec, http to no host yet');
    expect(hostless.stderr).toContain('lango secrets allow github --for exec,http --host HOST');
    expect(await secrets(['delete', 'github'])).toMatchObject({ code: 0 });
    expect(await names()).toEqual([]);
    const gone = await secrets(['delete', 'github', '--json']);
    expect(gone).toMatchObject({ code: 1 });
    expect(JSON.parse(gone.stderr)).toMatchObject({ error: { code: 'not-found' } });
  });

  it('uses a running server that has the vault open, and such a server has the secrets stored before its start', async () => {
    expect(await secrets(['set', 'before', '--for', 'exec'], VALUE)).toMatchObject({ code: 0 });
    const server = await startServer(home);
    try {
      const env = { LANGO_URL: server.origin };
      expect(await secrets(['set', 'during'], 'another-value-1', env)).toMatchObject({ code: 0 });
      expect(await names(env)).toEqual(['before', 'during']);
      const again = await secrets(['set', 'during'], 'another-value-2', env);
      expect(again.code).toBe(1);
      expect(again.stderr).toContain('There is a "during" already.');
      expect(await secrets(['set', 'during', '--replace'], 'another-value-2', env)).toMatchObject({
        code: 0,
      });
      const rotated = await secrets(['rotate']);
      expect(rotated.code).toBe(1);
      expect(rotated.stderr).toContain('A server has the data folder open.');
      const stranger = await secrets(['list'], undefined, { ...env, LANGO_TOKEN: 'wrong' });
      expect(stranger.code).toBe(8);
    } finally {
      await server.stop();
    }
    expect(await names()).toEqual(['before', 'during']);
  });

  it('accepts places and their hosts in one flag', async () => {
    const places = ['set', 'github', '--for', 'exec,http:api.example.com', '--json'];
    expect(JSON.parse((await secrets(places, VALUE)).stdout)).toMatchObject({
      secret: { places: ['exec', 'http'], hosts: ['api.example.com'] },
    });
  });

  it('stores for another owner only in a data folder that no server has open', async () => {
    expect(await secrets(['set', 'github', '--owner', 'user:alice'], VALUE)).toMatchObject({ code: 0 });
    expect(await names()).toEqual([]);
    const hers = await secrets(['list', '--owner', 'user:alice', '--json']);
    expect(hers.stdout).toContain('{{secret:github}}');
    const server = await startServerHere(home);
    try {
      const { code, stderr } = await secrets(['list', '--owner', 'user:alice'], undefined, server.env);
      expect([code, stderr]).toEqual([2, expect.stringContaining('a server knows you by your token')]);
    } finally {
      await server.stop();
    }
  });

  it('refuses a value that it could not scrub from texts, and stores nothing', async () => {
    const cases = [
      [['set', 'nothing'], '', 'Nothing came on standard input.'],
      [['set', 'short'], 'abc', 'at least 6 characters'],
      [['set', 'long'], 'x'.repeat(20_000), 'at most 16384 characters'],
      [['set', 'no name'], VALUE, 'cannot be the name'],
      [['set', 'swordfish'], 'swordfish', 'would reveal the value'],
      [['set', 'x', '--for', 'everything'], VALUE, 'must be one of exec, http, browser'],
      [['set', 'x', '--for', 'exec:a.example'], VALUE, 'exec takes no host'],
      [['set', 'x', '--for', 'http:a.example,browser:b.example'], VALUE, 'for requests and pages alike'],
      [['set', 'x', '--host', 'https://a.example/'], VALUE, 'is not a host name'],
    ] as const;
    for (const [args, input, problem] of cases) {
      const { code, stderr } = await secrets(args, input);
      expect({ args, code: code === 0, stderr }).toEqual({
        args,
        code: false,
        stderr: expect.stringContaining(problem) as unknown,
      });
    }
    expect(await names()).toEqual([]);
  });

  it('rotates between a key file and passphrases', async () => {
    await secrets(['set', 'github'], VALUE);
    const keyFile = path.join(home.folder, 'vault.key');
    expect(existsSync(keyFile)).toBe(true);
    const toPassphrase = await secrets(['rotate', '--passphrase'], `${PASSPHRASE}\n`);
    expect(toPassphrase).toMatchObject({ code: 0 });
    expect(toPassphrase.stdout).toContain('Set LANGO_VAULT_PASSPHRASE');
    expect(existsSync(keyFile)).toBe(false);
    const without = await secrets(['list']);
    expect(without.stderr).toContain('none is given');
    const wrong = await secrets(['list'], undefined, { LANGO_VAULT_PASSPHRASE: 'something else here' });
    expect(wrong.stderr).toContain('The passphrase of the vault is wrong.');
    expect(existsSync(keyFile)).toBe(false);
    const right = { LANGO_VAULT_PASSPHRASE: PASSPHRASE };
    expect(await names(right)).toEqual(['github']);
    expect(await secrets(['rotate', '--key-file'], undefined, right)).toMatchObject({ code: 0 });
    expect(await names()).toEqual(['github']);
  });

  it('leaves a vault alone whose key file others can read, and the server runs without it, as doctor reports', async () => {
    await secrets(['set', 'github'], VALUE);
    const keyFile = path.join(home.folder, 'vault.key');
    chmodSync(keyFile, 0o644);
    const listed = await secrets(['list']);
    expect(listed.code).toBe(1);
    expect(listed.stderr).toContain(`chmod 600 ${keyFile}`);
    const server = await startServerHere(home);
    try {
      const told = await langoHere(['doctor'], { env: { ...home.env, LANGO_URL: server.origin } });
      expect(told.stdout).toMatch(/fail +vault: .*open to other users/);
      expect(told.stdout).toContain(`Run: chmod 600 ${keyFile}`);
    } finally {
      await server.stop();
    }
    chmodSync(keyFile, 0o600);
    expect(await names()).toEqual(['github']);
  });

  it('loses nothing when a rotation is killed at a random moment', async () => {
    await secrets(['set', 'github', '--for', 'exec'], VALUE);
    const keyFile = path.join(home.folder, 'vault.key');
    const begun = performance.now();
    const keys = new Set([readFileSync(keyFile, 'utf8')]);
    // This rotation runs in a process of its own, like those that are killed below.
    expect(await lango(['secrets', 'rotate'], { env: home.env })).toMatchObject({ code: 0 });
    const wholeMs = performance.now() - begun;
    keys.add(readFileSync(keyFile, 'utf8'));
    for (let kill = 0; kill < KILLS; kill += 1) {
      const child = spawn(process.execPath, [mainFile(), 'secrets', 'rotate'], {
        env: cleanEnv(home.env),
        stdio: 'ignore',
      });
      const exit = once(child, 'exit');
      // Most of the time passes before anything is written.
      await Promise.race([exit, sleep(wholeMs * (0.6 + (0.5 * kill) / KILLS))]);
      child.kill('SIGKILL');
      await exit;
      expect(await names()).toEqual(['github']);
      keys.add(readFileSync(keyFile, 'utf8'));
    }
    const { stdout } = await secrets(['list', '--json']);
    expect(stdout).not.toContain('isDamaged');
    expect(keys.size).toBeGreaterThan(1);
  });
});
