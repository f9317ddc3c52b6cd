import { existsSync, globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';

const PAGES = ['docs/internals/a2a-conformance.md', 'docs/internals/a2a-border.md'];

const rows = PAGES.flatMap((page) => readFileSync(page, 'utf8').split('\n'))
  .filter((line) => /^\| \d+ \|/.test(line))
  .map((line) => line.split('|').map((column) => column.trim()));

/** The tests that the last column of the tables names: a file below test/, and a part of a title in it or nothing. */
const named = rows.flatMap((columns) => {
  let file = '';
  return [...columns.at(-2)!.matchAll(/`([^`]+\.test\.ts)`|"([^"]+)"/g)].map(([, path, title]) => {
    file = path ?? file;
    return [file, title ?? ''] as const;
  });
});

describe('the tables of the pages on A2A', () => {
  it('name more than 60 tests', () => expect(named.length).toBeGreaterThan(60));

  it.each(rows)('say in row %s%s %s what Lango does, and name a test', (...columns) => {
    const [what, test] = columns.slice(3);
    expect(what).toMatch(/^[A-Z0-9-].{20}/);
    expect(test).toMatch(/\.test\.ts`/);
  });

  it.each(named)('name an existing test: %s %s', (file, title) => {
    expect(existsSync(`test/${file}`)).toBe(true);
    expect(readFileSync(`test/${file}`, 'utf8')).toContain(title);
  });
});

/** "3.1 #4", from the heading above a row and its first column. */
const lines = readFileSync('docs/internals/a2a-conformance.md', 'utf8')
  .split(/^## .*\((?=\d\.\d\))/m)
  .slice(1)
  .flatMap((chapter) =>
    [...chapter.matchAll(/^\| (\d+) \|/gm)].map(([, number]) => `${chapter.slice(0, 3)} #${number}`),
  );

describe('the comparison with the stock server', () => {
  const besideStock = globSync('test/a2a/beside-stock/*.test.ts')
    .map((file) => readFileSync(file, 'utf8'))
    .join('');

  it('has the 33 lines of all three tables', () => expect(lines).toHaveLength(33));

  it.each(lines)('covers line %s', (line) => expect(besideStock).toMatch(new RegExp(`['"\`]${line}\\b`)));
});
