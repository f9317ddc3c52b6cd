import { chmodSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { loadOrCreateToken, loadToken } from '../../src/config/node-credentials.js';
import { errorOf, newFolder, write } from './folder.js';

describe('the token of a data folder', () => {
  it('is created once, for its owner alone, and leaves nothing else behind', async () => {
    const home = join(newFolder(), 'new', 'home');
    expect(await loadToken(home)).toBeUndefined();
    const token = await loadOrCreateToken(home);
    expect(token).toMatch(/^[\w-]{43}$/);
    expect(await loadOrCreateToken(home)).toBe(token);
    expect(await loadToken(home)).toBe(token);
    expect(statSync(join(home, 'token')).mode & 0o777).toBe(0o600);
    expect(statSync(home).mode & 0o777).toBe(0o700);
    expect(readdirSync(home)).toEqual(['token']);
    expect(readFileSync(join(home, 'token'), 'utf8')).toBe(`${token}\n`);
  });

  it('is the same for all processes that start at once', async () => {
    const home = newFolder();
    const tokens = await Promise.all(Array.from({ length: 20 }, () => loadOrCreateToken(home)));
    expect(new Set(tokens).size).toBe(1);
    expect(readdirSync(home)).toEqual(['token']);
  });

  it.each([0o640, 0o604, 0o620])('is refused with mode %o', async (mode) => {
    const home = newFolder();
    chmodSync(write(home, 'token', 'abcdefgh'), mode);
    const error = await errorOf(() => loadOrCreateToken(home));
    expect(error.code).toBe('unavailable');
    expect(error.hint).toContain('chmod 600');
    expect(error.message).not.toContain('abcdefgh');
  });

  it.each(['', '\n', 'two words', 'line\nline'])('is refused when its file holds %j', async (text) => {
    const home = newFolder();
    chmodSync(write(home, 'token', text), 0o600);
    expect((await errorOf(() => loadOrCreateToken(home))).message).toContain('does not hold a token');
  });

  it('is reported as a failure of the folder when the folder cannot be used', async () => {
    const home = join(write(newFolder(), 'file', ''), 'below');
    const error = await errorOf(() => loadOrCreateToken(home));
    expect(error).toMatchObject({ code: 'storage' });
    expect(error.hint).toContain('LANGO_HOME');
  });
});
