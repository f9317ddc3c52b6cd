import { chmodSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { describeConfig } from '../../src/config/describe.js';
import { readEnv } from '../../src/config/env.js';
import { resolveConfig } from '../../src/config/load.js';
import { loadOrCreateToken, loadToken, secretValues } from '../../src/config/secrets.js';
import { leavesOf } from '../../src/config/schema-walk.js';
import { errorOf, newFolder, write } from './folder.js';

describe('secrets', () => {
  const loaded = resolveConfig({
    env: readEnv({ LANGO_HOME: '/h' }),
    settings: {
      auth: { token: 'SECRET-token' },
      vault: { passphrase: 'SECRET-passphrase' },
      model: { provider: 'anthropic', apiKey: 'SECRET-key' },
      embedding: { provider: 'voyage', apiKey: 'SECRET-embedding' },
      webSearch: { provider: 'brave', apiKey: 'SECRET-web' },
      a2a: {
        remoteAgents: [
          { name: 'far', url: 'https://far.example', token: 'SECRET-far' },
          { name: 'near', url: 'https://near.example' },
        ],
      },
    },
  });

  it('stand in Secrets and nowhere in what can be logged', () => {
    const values = ['embedding', 'far', 'key', 'passphrase', 'token', 'web'].map((name) => `SECRET-${name}`);
    expect([...secretValues(loaded.secrets)].sort()).toEqual(values);
    expect(loaded.secrets.remoteTokens.get('far')).toBe('SECRET-far');
    expect(JSON.stringify(loaded.config)).not.toContain('SECRET');
    expect(JSON.stringify(describeConfig(loaded))).not.toContain('SECRET');
  });

  it('are all covered by the test above', () => {
    const marked = leavesOf().flatMap(({ key, schema }) => (schema.writeOnly ? [key] : []));
    expect(marked.toSorted()).toEqual([
      'a2a.remoteAgents[].token',
      'auth.token',
      'embedding.apiKey',
      'model.apiKey',
      'vault.passphrase',
      'webSearch.apiKey',
    ]);
  });

  it('come from the environment only where the file has none', () => {
    const env = readEnv({ LANGO_TOKEN: 'from-env' });
    expect(resolveConfig({ env }).secrets.token).toBe('from-env');
    expect(resolveConfig({ env, settings: { auth: { token: 'from-file' } } }).secrets.token).toBe(
      'from-file',
    );
  });

  it('that no header can carry are refused by the name of their variable', async () => {
    const error = await errorOf(() => resolveConfig({ env: readEnv({ LANGO_TOKEN: 'two words' }) }));
    expect(error.message).toContain('LANGO_TOKEN: auth.token must be printable ASCII');
    expect(error.message).not.toContain('two words');
  });
});

describe('the token of a data folder', () => {
  it('is made once, for its owner alone, and leaves nothing else behind', async () => {
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

  it('is the same for all that start at once', async () => {
    const home = newFolder();
    const tokens = await Promise.all(Array.from({ length: 20 }, () => loadOrCreateToken(home)));
    expect(new Set(tokens).size).toBe(1);
    expect(readdirSync(home)).toEqual(['token']);
  });

  it.each([0o640, 0o604, 0o620])('is refused with mode %o', async (mode) => {
    const home = newFolder();
    chmodSync(write(home, 'token', 'abcdefgh'), mode);
    const error = await errorOf(() => loadOrCreateToken(home));
    expect(error.code).toBe('invalid-config');
    expect(error.hint).toContain('chmod 600');
    expect(error.message).not.toContain('abcdefgh');
  });

  it.each(['', '\n', 'two words', 'line\nline'])('is refused when the file holds %j', async (text) => {
    const home = newFolder();
    chmodSync(write(home, 'token', text), 0o600);
    expect((await errorOf(() => loadOrCreateToken(home))).message).toContain('does not hold a token');
  });

  it('says so when the folder cannot be used', async () => {
    const home = join(write(newFolder(), 'file', ''), 'below');
    const error = await errorOf(() => loadOrCreateToken(home));
    expect(error).toMatchObject({ code: 'storage' });
    expect(error.hint).toContain('LANGO_HOME');
  });
});
