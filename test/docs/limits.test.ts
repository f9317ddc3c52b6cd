import { describe, expect, it } from '@jest/globals';
import { existsSync, readFileSync } from 'node:fs';
import { readEnv } from '../../src/config/env.js';
import { resolveConfig } from '../../src/config/load.js';

interface Row {
  readonly key: string;
  readonly standard: number;
  /** A file below test/, and a piece of a title in it. */
  readonly tests: readonly (readonly [file: string, title: string])[];
}

const rows = readFileSync('docs/guides/secure-it.md', 'utf8')
  .split('\n')
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .filter(([, , key = '', standard = '']) => /^`[\w.]+`$/.test(key) && /^\d+$/.test(standard))
  .map(([, , key, standard, , tests]): Row => {
    const named = [...tests!.matchAll(/`([^`]+)` "([^"]+)"/g)];
    return {
      key: key!.slice(1, -1),
      standard: Number(standard),
      tests: named.map(([, file, title]) => [file!, title!] as const),
    };
  });

describe('the limits that docs/guides/secure-it.md names', () => {
  const { config } = resolveConfig({ settings: {}, env: readEnv({}), overrides: { home: '/nowhere' } });

  it('are many', () => expect(rows.length).toBeGreaterThan(20));

  it.each(rows)('$key', ({ key, standard, tests }) => {
    const value = key
      .split('.')
      .reduce<unknown>((part, name) => (part as Record<string, unknown>)[name], config);
    expect([key, value]).toEqual([key, standard]);
    expect(tests.length).toBeGreaterThan(0);
    for (const [file, title] of tests) {
      expect(existsSync(`test/${file}`)).toBe(true);
      expect([file, readFileSync(`test/${file}`, 'utf8')]).toEqual([file, expect.stringContaining(title)]);
    }
  });

  it('are all of server.limits, but for what is no limit on a request', () => {
    const documented = rows.map(({ key }) => key);
    const limits = Object.keys(config.server.limits).map((name) => `server.limits.${name}`);
    expect(limits.filter((key) => !documented.includes(key))).toEqual(['server.limits.concurrentRuns']);
  });
});
