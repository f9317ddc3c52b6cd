import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { langoHere } from './lango-here.js';
import type { Home, Server } from './lango-process.js';
import { lango, makeHome, startServer } from './lango-process.js';

interface Key {
  readonly kid: string;
  readonly retiredAt?: number;
}

let home: Home;
let server: Server;

beforeEach(async () => {
  home = await makeHome();
  server = await startServer(home);
});

afterEach(async () => {
  await server.stop();
  await home.remove();
});

async function keys(command: string): Promise<readonly Key[]> {
  const { stdout } = await langoHere(['keys', command, '--json'], { env: home.env });
  return (JSON.parse(stdout) as { readonly keys: readonly Key[] }).keys;
}

async function verify(...more: readonly string[]) {
  return langoHere(cardCommand(...more), { env: home.env });
}

function cardCommand(...more: readonly string[]): readonly string[] {
  return ['card', `${server.origin}/agents/planner`, ...more];
}

describe('lango keys and lango card --verify', () => {
  it('name the signing key, before and after a rotation under the running server, and show no private part', async () => {
    const [first] = await keys('list');
    const before = await verify('--verify');
    expect(before).toMatchObject({ code: 0 });
    expect(before.stdout).toContain(`${first!.kid} (EdDSA)`);

    const rotated = await keys('rotate');
    expect(rotated.map(({ kid }) => kid)).toEqual([expect.not.stringMatching(first!.kid), first!.kid]);
    expect(rotated.map(({ retiredAt }) => typeof retiredAt)).toEqual(['undefined', 'number']);
    const after = await verify('--verify', '--json');
    expect(JSON.parse(after.stdout)).toMatchObject({
      card: { name: 'planner' },
      signature: { kid: rotated[0]!.kid, alg: 'EdDSA' },
      hash: /^hash +([0-9a-f]{64})$/m.exec(before.stdout)![1],
    });

    const listed = await lango(['keys', 'list'], { env: home.env });
    expect(listed.stdout).toMatch(/^\S+ {2}signs now, .+\n\S+ {2}rotated out .+\n$/);
    const file = JSON.parse(readFileSync(path.join(home.folder, 'keys.json'), 'utf8')) as {
      readonly keys: readonly { readonly jwk: { readonly d: string } }[];
    };
    for (const { jwk } of file.keys) expect(listed.stdout + after.stdout).not.toContain(jwk.d);
  });

  it('refuse a card that the keys of a file do not verify', async () => {
    const jwks = path.join(home.folder, 'jwks.json');
    writeFileSync(jwks, await (await fetch(`${server.origin}/.well-known/jwks.json`)).text());
    expect(await verify('--keys', jwks)).toMatchObject({ code: 0 });
    await keys('rotate');
    const refused = await verify('--keys', jwks, '--json');
    expect(refused).toMatchObject({ code: 8, stdout: '' });
    expect(JSON.parse(refused.stderr)).toMatchObject({ error: { code: 'forbidden' } });
    const none = cardCommand('--keys', path.join(home.folder, 'none.json'));
    const unread = await lango(none, { env: home.env });
    expect(unread).toMatchObject({
      code: 8,
      stderr: expect.stringContaining('none.json cannot be read: ENOENT'),
    });
  });
});
