import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';

/** A requirement's id, as the page and the titles of tests write it. */
const ID = /\b[ABCDMOPRX]\d\b/g;

const ids = readFileSync('docs/internals/requirements.md', 'utf8')
  .split('\n')
  .flatMap((line) => /^\| ([A-Z]\d) \|/.exec(line)?.[1] ?? []);

/** The ids at the start of the titles of all tests. */
const proven = new Set(
  ['test', 'examples']
    .flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => path.join(folder, name)),
    )
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) => [
      ...readFileSync(file, 'utf8').matchAll(
        /^\s*(?:(?:it|describe|test)(?:\.each\(.*\))?|\](?: as const)?\))\(\s*['"`]((?:[A-Z]\d,? )+)/gm,
      ),
    ])
    .flatMap(([, start]) => start!.match(ID) ?? []),
);

describe('docs/internals/requirements.md', () => {
  it('lists each requirement once', () => {
    expect(ids.length).toBeGreaterThan(40);
    expect(ids).toEqual([...new Set(ids)]);
  });

  it.each(ids)('has a requirement with a test of its id: %s', (id) => expect(proven).toContain(id));

  it('knows the id of every test', () => expect([...proven].filter((id) => !ids.includes(id))).toEqual([]));
});
