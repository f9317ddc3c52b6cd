import { expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { built } from '../support/built.js';

it('npm run soak reaches the target of each kind of traffic, and finds what the first minutes add', async () => {
  // Nothing was sent before the first measurement, so all that a server loads and caches counts as growth.
  const args = [built('lab/soak/main.js'), '--first', '0', '--minutes', '0.2', '--rest', '0', '--json'];
  const run = promisify(execFile)(process.execPath, args);
  const { stdout } = await run.catch((error: { readonly stdout: string }) => error);
  const { counts, findings } = JSON.parse(stdout) as {
    counts: Readonly<Record<string, number>>;
    findings: readonly string[];
  };
  expect(Object.keys(counts)).toHaveLength(14);
  expect(findings).toContainEqual(expect.stringMatching(/^heapMb grew by /));
  expect(findings.filter((finding) => !/grew by|handles/.test(finding))).toEqual([]);
});
