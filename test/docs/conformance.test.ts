import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';

/** What the last column of the tables names: a file below test/, and a piece of a title in it or nothing. */
const named = readFileSync('docs/a2a-conformance.md', 'utf8')
  .split('\n')
  .filter((line) => /^\| \d+ \|/.test(line))
  .flatMap((line) => {
    let file = '';
    const column = line.split('|').at(-2)!;
    return [...column.matchAll(/`([^`]+\.test\.ts)`|"([^"]+)"/g)].map(([, path, title]) => {
      file = path ?? file;
      return [file, title ?? ''] as const;
    });
  });

describe('the tests that docs/a2a-conformance.md names', () => {
  it('are many', () => expect(named.length).toBeGreaterThan(30));

  it.each(named)('%s %s', (file, title) => {
    expect(existsSync(`test/${file}`)).toBe(true);
    expect(readFileSync(`test/${file}`, 'utf8')).toContain(title);
  });
});
