import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';

it('api/lango.api.md is what the declarations say now (else: run npm run api and review the change)', async () => {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [
    'dist/scripts/api.js',
    '--check',
  ]).catch((error: { stdout: string; stderr: string }) => error);
  expect({ stdout, stderr }).toEqual({ stdout: '', stderr: '' });
}, 60_000);
