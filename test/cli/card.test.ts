import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { langoHere, startServerHere, type ServerHere } from './lango-here.js';
import type { Home, Result } from './lango-process.js';
import { makeHome } from './lango-process.js';

let home: Home;
let server: ServerHere;

beforeAll(async () => {
  home = await makeHome('');
  server = await startServerHere(home);
});

afterAll(async () => {
  await server.stop();
  await home.remove();
});

function run(...args: readonly string[]): Promise<Result> {
  return langoHere(args, { env: server.env });
}

describe('lango card', () => {
  it('shows a card, and the served one with --json', async () => {
    expect((await run('card', 'operator')).stdout).toMatch(
      /^interface +JSONRPC 1\.0 at .*\/agents\/operator$/m,
    );
    const headers = { 'a2a-version': '1.0' };
    const served = await fetch(`${server.origin}/agents/operator/.well-known/agent-card.json`, { headers });
    expect(JSON.parse((await run('card', 'operator', '--json')).stdout)).toEqual(await served.json());
  });

  it('checks a card: of its server, at an address, in a file', async () => {
    const good = /^\S+: 0 errors, 0 warnings\n$/;
    const address = `${server.origin}/agents/operator`;
    for (const about of [[], ['operator'], [address], ['agent-cards/planner.json']])
      expect(await run('card', '--check', ...about)).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(good),
      });

    const served = JSON.parse((await run('card', 'operator', '--json')).stdout) as object;
    const file = path.join(home.folder, 'card.json');
    await writeFile(file, JSON.stringify({ ...served, skills: [], version: '', iconUrl: 'x\u001b[31m' }));
    expect(await run('card', '--check', file)).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(
        /^error +iconUrl .*␛.*\nerror +skills is empty.*\nerror +version is empty.*\n.*: 3 errors, 0 warnings\n$/,
      ),
    });
    const json = await run('card', '--check', file, '--json');
    expect(JSON.parse(json.stdout)).toMatchObject({ source: file, errors: 3, warnings: 0 });
    await writeFile(file, '{ "name": ');
    expect((await run('card', '--check', file)).stdout).toMatch(/^error +The card is not JSON/);
    const missing = await run('card', '--check', `${file}.none`);
    expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining('cannot be read (ENOENT)') });
  });

  it('checks the signature of a card with the keys that it is given', async () => {
    const keys = path.join(home.folder, 'others.json');
    await writeFile(keys, '{ "keys": [] }');
    const signed = await run('card', 'operator', '--check', '--verify');
    const refused = await run('card', 'operator', '--check', '--keys', keys);
    expect([signed.code, refused.code]).toEqual([0, 1]);
    expect(refused.stdout).toMatch(/^error +signatures cannot be verified/);
  });
});
