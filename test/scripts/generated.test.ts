import { execFile } from 'node:child_process';
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
