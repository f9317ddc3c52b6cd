import { describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { built } from '../support/built.js';

interface Row {
  readonly corpus: string;
  readonly cases: number;
  readonly findings: readonly string[];
}

async function abuse(...args: readonly string[]): Promise<readonly Row[]> {
  const run = promisify(execFile)(process.execPath, [built('lab/abuse/main.js'), '--json', ...args]);
  const { stdout } = await run.catch((error: { readonly stdout: string }) => error);
  return JSON.parse(stdout) as readonly Row[];
}

/** Hostile input of every kind, as `npm run abuse` sends it. */
describe('npm run abuse', () => {
  it('finds nothing in a thousand cases', async () => {
    const rows = await abuse();
    expect(rows.flatMap(({ corpus, findings }) => findings.map((one) => `${corpus}: ${one}`))).toEqual([]);
    expect(rows.reduce((sum, { cases }) => sum + cases, 0)).toBeGreaterThanOrEqual(1_000);
  }, 600_000);

  it('detects an event loop that is blocked, by work or by a wait', async () => {
    const [row] = await abuse('--only', 'holds');
    expect(row?.findings).toEqual([
      expect.stringMatching(
        /^150 ms of work: the event loop was held for 1[5-9]\d ms of work .* again for 1[5-9]\d ms/,
      ),
      expect.stringMatching(
        /^1,200 ms of waiting: .* and 1\d{3} ms of silence, and again .* 1\d{3} ms of silence$/,
      ),
    ]);
  });
});
