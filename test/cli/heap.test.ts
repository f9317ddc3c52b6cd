import { expect, it } from '@jest/globals';
import { buildSync } from 'esbuild';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Allocates some 120 MB of objects, and prints the median size of the young generation in bytes. */
const PROGRAM = `
  import { setImmediate } from 'node:timers/promises';
  import { getHeapSpaceStatistics } from 'node:v8';
  import { limitHeap } from './src/cli/heap.ts';
  if (process.argv.at(-1) === 'limited') limitHeap();
  const sizes = [];
  let kept = [];
  for (let turn = 0; turn < 600; turn += 1) {
    if (kept.length > 200_000) kept = [];
    for (let n = 0; n < 2_000; n += 1) kept.push({ n, list: [n] });
    await setImmediate();
    sizes.push(getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space').space_size);
  }
  process.stdout.write(String(sizes.sort((a, b) => a - b)[300]));
`;

it('the program keeps the young generation small unless the operator sets sizes of the heap', async () => {
  expect(await youngMegabytes('limited')).toBeLessThan(24);
  expect(await youngMegabytes('unlimited')).toBeGreaterThan(32);
  expect(await youngMegabytes('limited', '--max-semi-space-size=32')).toBeGreaterThan(32);
});

async function youngMegabytes(mode: string, options = ''): Promise<number> {
  const built = buildSync({
    stdin: { contents: PROGRAM, resolveDir: process.cwd() },
    ...{ bundle: true, write: false, format: 'esm', platform: 'node', packages: 'external' },
  });
  const env = { PATH: process.env['PATH'], NODE_OPTIONS: options };
  const running = promisify(execFile)(process.execPath, ['--input-type=module', '-', mode], { env });
  running.child.stdin!.end(built.outputFiles[0]!.text);
  const { stdout } = await running;
  return Number(stdout) / 1e6;
}
