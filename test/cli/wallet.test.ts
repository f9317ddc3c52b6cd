import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { RICH, RICH_KEYS } from '../chain/local-chain.js';
import { findIn, findInFolder } from '../support/secret-search.js';
import { langoHere, startServerHere } from './lango-here.js';
import type { Home, Result } from './lango-process.js';
import { lango, makeHome } from './lango-process.js';

const [KEY, OTHER_KEY] = RICH_KEYS;
const [ADDRESS, OTHER] = RICH;

let home: Home;
beforeEach(async () => void (home = await makeHome()));
afterEach(() => home.remove());

function wallet(args: readonly string[], input?: string, env: Readonly<Record<string, string>> = home.env) {
  return langoHere(['wallet', ...args], { env, ...(input !== undefined && { input }) });
}

/** The places where the key appears, in the output and in the data folder. */
function traces(...results: readonly Result[]): readonly string[] {
  const said = results.map(({ stdout, stderr }) => stdout + stderr).join();
  const digits = KEY.slice(2);
  return [...findIn('output', said, digits), ...findInFolder(home.folder, digits)];
}

describe('lango wallet', () => {
  it('imports a private key from standard input, prints its address, and shows the key nowhere', async () => {
    const none = await wallet(['address']);
    expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining('There is no wallet yet.') });
    const imported = await lango(['wallet', 'import'], { env: home.env, input: `${KEY}\n` });
    expect(imported).toMatchObject({ code: 0, stdout: expect.stringContaining(ADDRESS) });
    const told = await wallet(['address']);
    expect(told.stdout).toBe(`${ADDRESS}\n`);
    expect(JSON.parse((await wallet(['address', '--json'])).stdout)).toEqual({ address: ADDRESS });
    expect(traces(imported, told)).toEqual([]);
  });

  it('replaces the key of another wallet only on request', async () => {
    await wallet(['import'], KEY);
    expect(await wallet(['import'], KEY.slice(2))).toMatchObject({ code: 0 });
    const refused = await wallet(['import'], OTHER_KEY);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain(`There is a wallet already: ${ADDRESS}.`);
    expect((await wallet(['address'])).stdout).toBe(`${ADDRESS}\n`);
    const replaced = await wallet(['import', '--replace'], OTHER_KEY);
    expect(replaced.stdout).toContain(OTHER);
    expect((await wallet(['address'])).stdout).toBe(`${OTHER}\n`);
  });

  it.each([
    ['nothing', ''],
    ['an address', ADDRESS],
    ['a key that is too short', KEY.slice(0, -1)],
    ['zero', `0x${'0'.repeat(64)}`],
    ['what is above the order of the curve', 'f'.repeat(64)],
    ['the words of a recovery phrase', 'test test test test test test test test test test test junk'],
  ])('refuses %s, and does not repeat it', async (_, input) => {
    const { code, stderr } = await wallet(['import'], input);
    expect(code).toBe(1);
    expect(stderr).toContain(input === '' ? 'Nothing came on standard input' : 'This is not a private key');
    if (input !== '') expect(stderr).not.toContain(input);
    expect((await wallet(['address'])).code).toBe(1);
  });

  it('uses a running server that has the vault open, and takes no key as an argument', async () => {
    const server = await startServerHere(home);
    try {
      const imported = await wallet(['import'], KEY, server.env);
      expect(imported.stdout).toContain(ADDRESS);
      expect((await wallet(['address'], undefined, server.env)).stdout).toBe(`${ADDRESS}\n`);
      const refused = await wallet(['import'], OTHER_KEY, server.env);
      expect(refused.stderr).toContain('There is a wallet already');
      const stranger = await wallet(['address'], undefined, { ...server.env, LANGO_TOKEN: 'wrong' });
      expect(stranger.code).toBe(8);
      expect((await wallet(['import', KEY], undefined, server.env)).code).toBe(2);
      expect(traces(imported, refused)).toEqual([]);
    } finally {
      await server.stop();
    }
  });

  it('keeps one wallet for each owner', async () => {
    await wallet(['import', '--owner', 'user:alice'], KEY);
    expect((await wallet(['address'])).code).toBe(1);
    expect((await wallet(['address', '--owner', 'user:alice'])).stdout).toBe(`${ADDRESS}\n`);
  });
});
