import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';

const page = readFileSync('docs/internals/threats.md', 'utf8');
const rows = page.split('\n').filter((line) => /^\| ASI\d\d /.test(line));
const evidence = page
  .split('\n')
  .flatMap((row) =>
    [...row.matchAll(/`([\w/.-]+\.test\.ts)` "([^"]+)"/g)].map(([, file, title]) => [file!, title!] as const),
  );

/** Sections that summarize or limit the promises of the others. */
const WITHOUT_PROMISE = [
  'Checklist for a server that others reach',
  'What the vault protects against, and what it does not',
];

describe('docs/internals/threats.md', () => {
  it('has the ten risks, each with a test', () => {
    expect(rows.map((row) => /ASI\d\d/.exec(row)![0])).toEqual(
      Array.from({ length: 10 }, (_, n) => `ASI${String(n + 1).padStart(2, '0')}`),
    );
    expect(rows.filter((row) => !row.includes('.test.ts`'))).toEqual([]);
  });

  it('has each promise of SECURITY.md, with a test', () => {
    const [, counted] = readFileSync('SECURITY.md', 'utf8').split('## What counts');
    const promises = [...counted!.matchAll(/^- (.+)$/gm)].map(([, promise]) => promise!);
    const shown = page
      .split('\n')
      .filter((row) => row.startsWith('| SECURITY.md |') && row.includes('.test.ts`'));
    expect(shown.map((row) => row.split(' | ')[1])).toEqual(promises);
  });

  it.each(['secure-it.md', 'use-secrets.md'])('has a row for each section with a promise in %s', (name) => {
    const titles = [...readFileSync(`docs/guides/${name}`, 'utf8').matchAll(/^##+ (.+)$/gm)].map(
      ([, title]) => title!,
    );
    const anchors = titles
      .filter((title) => !WITHOUT_PROMISE.includes(title))
      .map((title) =>
        title
          .toLowerCase()
          .replace(/[^a-z0-9 -]/g, '')
          .replaceAll(' ', '-'),
      );
    const linked = [...page.matchAll(/^\| \[[^\]]+\]\(\.\.\/guides\/([^#]+)#([^)]+)\) \|/gm)];
    const named = linked.filter(([, file]) => file === name).map(([, , anchor]) => anchor!);
    expect([...new Set(named)]).toEqual(anchors);
  });

  it.each(evidence)('names an existing test: %s %s', (file, title) => {
    expect([file, readFileSync(`test/${file}`, 'utf8')]).toEqual([file, expect.stringContaining(title)]);
  });
});
