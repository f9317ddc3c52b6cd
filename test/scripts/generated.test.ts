import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { built } from '../support/built.js';

async function check(script: string): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [built(script), '--check']).catch(
    (error: { stdout: string; stderr: string }) => error,
  );
  return stdout + stderr;
}

it('api/lango.api.md is up to date with the declarations (else: npm run api and review the change)', async () => {
  expect(await check('scripts/api.js')).toBe('');
});

it('docs/reference/tools.md is up to date with the tools that models are offered (else: npm run tools)', async () => {
  expect(await check('scripts/tools.js')).toBe('');
});

it('docs/scale.md has the figures of docs/internals/scale.json (else: npm run scale)', async () => {
  expect(await check('lab/scale/main.js')).toBe('');
});

/** The packages that a declaration file imports, with those of the files that it imports in turn. */
function packagesIn(file: string, seen = new Set<string>()): readonly string[] {
  if (seen.has(file)) return [];
  seen.add(file);
  const text = readFileSync(file, 'utf8');
  return [...text.matchAll(/(?:from |import\()['"]([^'"]+)['"]/g)].flatMap(([, name = '']) => {
    if (name.startsWith('.'))
      return packagesIn(path.join(path.dirname(file), name.replace(/\.js$/, '.d.ts')), seen);
    return name.startsWith('node:') ? [] : [/^(@[^/]*\/)?[^/]*/.exec(name)![0]];
  });
}

it('the declarations that are published name types only of packages that come with them', () => {
  const { dependencies, peerDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    readonly [name: string]: Readonly<Record<string, string>>;
  };
  const named = packagesIn(built('src/index.d.ts'));
  const known = { ...dependencies, ...peerDependencies };
  expect(named).toContain('zod');
  expect(named.filter((name) => !(name in known))).toEqual([]);
});
