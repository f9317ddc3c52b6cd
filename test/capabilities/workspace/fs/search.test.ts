import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { LangoError } from '../../../../src/core/errors.js';
import { globFilter } from '../../../../src/capabilities/workspace/fs/glob.js';
import { regexMatcher } from '../../../../src/capabilities/workspace/fs/matcher.js';
import { onStage } from './setup.js';

describe('fs_search', () => {
  it('finds in lines and names, and matches case when the pattern has an upper-case letter', () =>
    onStage(async ({ root, ask }) => {
      await mkdir(join(root, 'src/apple'), { recursive: true });
      await writeFile(join(root, 'src/a.ts'), 'one Apple\ntwo\r\n  three apple  \n');
      await writeFile(join(root, 'src/apple.md'), 'nothing');
      expect(await ask('fs_search', { pattern: 'apple' })).toBe(
        'src/a.ts:1: one Apple\nsrc/a.ts:3: three apple\nsrc/apple/ (name)\nsrc/apple.md (name)',
      );
      expect(await ask('fs_search', { pattern: 'Apple' })).toBe('src/a.ts:1: one Apple');
      expect(await ask('fs_search', { pattern: 'apple', path: 'src', glob: '*.ts' })).toBe(
        'src/a.ts:1: one Apple\nsrc/a.ts:3: three apple',
      );
      expect(await ask('fs_search', { pattern: 'apple', path: 'src/a.ts', limit: 1 })).toBe(
        'src/a.ts:1: one Apple\n[the first 1 matches; narrow it down with path or glob, or raise limit]',
      );
      expect(await ask('fs_search', { pattern: 'a.ple' })).toBe('No match for "a.ple" in 2 files.');
    }));

  it('leaves out binary files, .git and node_modules, and cuts long lines', () =>
    onStage(async ({ root, ask }) => {
      for (const folder of ['.git', 'node_modules', '.github']) {
        await mkdir(join(root, folder));
        await writeFile(join(root, folder, 'f'), 'needle');
      }
      await writeFile(join(root, 'bin'), 'needle\0');
      await writeFile(join(root, 'long'), `needle${'x'.repeat(1000)}`);
      expect(await ask('fs_search', { pattern: 'needle' })).toBe(
        `.github/f:1: needle\nlong:1: needle${'x'.repeat(194)}…\n[1 binary or very large files were not searched]`,
      );
    }));

  it('goes 64 folders deep', () =>
    onStage(async ({ root, ask }) => {
      const path = (depth: number) => join(root, ...Array<string>(depth).fill('d'));
      await mkdir(path(70), { recursive: true });
      for (const depth of [64, 65, 70]) await writeFile(join(path(depth), `f${depth}`), 'needle');
      expect(await ask('fs_search', { pattern: 'needle' })).toMatch(/^(d\/){64}f64:1: needle$/);
    }));

  it('accepts regular expressions on request', () =>
    onStage(async ({ root, ask }) => {
      await writeFile(join(root, 'f'), 'id: 12\nid: x\nID: 7\n');
      expect(await ask('fs_search', { pattern: '^id: \\d+$', regex: true })).toBe('f:1: id: 12\nf:3: ID: 7');
      await expect(ask('fs_search', { pattern: '(', regex: true })).rejects.toThrow(
        'not a valid regular expression',
      );
    }));

  it('is not blocked by a regular expression that never ends', () =>
    onStage(async ({ root, ask, call }) => {
      await writeFile(join(root, 'f'), `${'a'.repeat(60)}!`);
      const evil = { pattern: '^(a+)+$', regex: true };
      let ticks = 0;
      const timer = setInterval(() => (ticks += 1), 10);
      await expect(ask('fs_search', evil)).rejects.toMatchObject({ code: 'timeout' });
      clearInterval(timer);
      expect(ticks).toBeGreaterThan(10);
      const cancel = new AbortController();
      setTimeout(() => cancel.abort(new LangoError('canceled', 'enough')), 50);
      await expect(call('fs_search', evil, { signal: cancel.signal })).rejects.toThrow('enough');
    }));
});

describe('regexMatcher', () => {
  it('notices a cancel that came before the match', async () => {
    const matcher = regexMatcher('^(a+)+$', AbortSignal.abort(new LangoError('canceled', 'enough')));
    await expect(matcher.match('f', `${'a'.repeat(60)}!`)).rejects.toThrow('enough');
    await matcher[Symbol.asyncDispose]();
  });
});

describe('globFilter', () => {
  it.each([
    ['*.ts', 'a.ts', true],
    ['*.ts', 'deep/down/a.ts', true],
    ['*.ts', 'a.tsx', false],
    ['*.{ts,tsx}', 'a.tsx', true],
    ['{src,test}/**/*.{ts,js}', 'test/a/b.js', true],
    ['src/*.ts', 'src/a.ts', true],
    ['src/*.ts', 'src/b/a.ts', false],
    ['src/**/*.ts', 'src/a.ts', true],
    ['src/**/*.ts', 'src/b/c/a.ts', true],
    ['src/**', 'src/b/c', true],
    ['**/b/*', 'a/b/c', true],
    ['**/b/*', 'a/c', false],
    ['./a?.md', 'ab.md', true],
    ['a?c', 'a/c', false],
    ['**', 'any/thing', true],
    ['[a]', '[a]', true],
    ['{a', '{a', true],
    ['*', '', true],
  ])('matches %s against %s: %s', (glob, path, isMeant) => {
    expect(globFilter(glob)(path)).toBe(isMeant);
  });

  it('stays quick on hostile patterns', () => {
    expect(globFilter(`${'*a'.repeat(200)}b`)('a'.repeat(255))).toBe(false);
    expect(globFilter(`${'**/'.repeat(300)}b`)('a/'.repeat(500))).toBe(false);
    expect(globFilter('{a,b}'.repeat(50))('x')).toBe(false);
  });
});
