import { describe, expect, it } from '@jest/globals';
import { existsSync, readFileSync } from 'node:fs';
import { readEnv } from '../../src/config/env.js';
import { resolveConfig } from '../../src/config/load.js';

interface Row {
  readonly key: string;
  readonly standard: number;
  /** Each a file below test/, and a part of a title in it. */
  readonly tests: readonly (readonly [file: string, title: string])[];
}

const LIMITS = 'docs/reference/limits.md';
const EVIDENCE = 'docs/internals/limits.md';

const cellsOf = (page: string) =>
  readFileSync(page, 'utf8')
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()));

const evidence = new Map(
  cellsOf(EVIDENCE).flatMap(([, key = '', tests = '']) =>
    /^`[\w.]+`$/.test(key)
      ? [
          [
            key,
            [...tests.matchAll(/`([^`]+)` "([^"]+)"/g)].map(([, file, title]) => [file!, title!] as const),
          ],
        ]
      : [],
  ),
);

const rows = cellsOf(LIMITS)
  .filter(([, , key = '', standard = '']) => /^`[\w.]+`$/.test(key) && /^\d+$/.test(standard))
  .map(([, , key, standard]): Row => ({
    key: key!.slice(1, -1),
    standard: Number(standard),
    tests: evidence.get(key!) ?? [],
  }));

describe('the limits in docs/reference/limits.md', () => {
  const { config } = resolveConfig({ settings: {}, env: readEnv({}), overrides: { home: '/nowhere' } });

  it('are more than 20', () => expect(rows.length).toBeGreaterThan(20));

  it.each(rows)('have their default and a test: $key', ({ key, standard, tests }) => {
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

  it('cover all of server.limits except the one that limits no request', () => {
    const documented = rows.map(({ key }) => key);
    const limits = Object.keys(config.server.limits).map((name) => `server.limits.${name}`);
    expect(limits.filter((key) => !documented.includes(key))).toEqual(['server.limits.concurrentRuns']);
  });
});
