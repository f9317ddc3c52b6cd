import { describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

interface Row {
  readonly corpus: string;
  readonly cases: number;
  readonly findings: readonly string[];
}

/** Hostile input of every kind, as `npm run abuse` sends it. */
describe('npm run abuse', () => {
  it('finds nothing in a thousand cases', async () => {
    const run = promisify(execFile)(process.execPath, ['dist/scripts/abuse/main.js', '--json']);
    const { stdout } = await run.catch((error: { readonly stdout: string }) => error);
    const rows = JSON.parse(stdout) as readonly Row[];
    expect(rows.flatMap(({ corpus, findings }) => findings.map((one) => `${corpus}: ${one}`))).toEqual([]);
    expect(rows.reduce((sum, { cases }) => sum + cases, 0)).toBeGreaterThanOrEqual(1_000);
  }, 600_000);
});
