import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { cleanEnv, type Home, mainFile, makeHome } from './lango-process.js';

const OPTIMIZED = /^\[completed compiling/;
/** Node itself optimizes some functions before it runs the program. */
const BEFORE_PROGRAM = 10;

let home: Home;

beforeAll(async () => void (home = await makeHome()));
afterAll(() => home.remove());

/**
 * Starts the server so that V8 reports what it optimizes, and counts that until the server is ready. Then sends requests
 * until V8 has optimized something; a server that never does so is asked until the test's own time is over.
 */
async function optimizedUntilReady(...options: readonly string[]): Promise<number> {
  const args = [...options, '--trace-opt', mainFile(), 'serve', '--port', '0'];
  const child = spawn(process.execPath, args, { env: cleanEnv(home.env) });
  let origin = '';
  let before = 0;
  let after = 0;
  const asked = async () => {
    while (after === 0) await (await fetch(`${origin}/.well-known/agent-card.json`)).text();
  };
  let asking: Promise<void> | undefined;
  for await (const line of createInterface({ input: child.stdout })) {
    if (origin === '') origin = /^ready (.*)/.exec(line)?.[1] ?? '';
    if (OPTIMIZED.test(line) && origin === '') before += 1;
    else if (OPTIMIZED.test(line)) after += 1;
    if (origin !== '') asking ??= asked().finally(() => child.kill('SIGTERM'));
  }
  await asking;
  return before;
}

it('the server has no code optimized while it starts, and does so once it serves', async () => {
  expect(await optimizedUntilReady()).toBeLessThan(BEFORE_PROGRAM);
});

it('the server leaves the compilers as the options of Node say', async () => {
  expect(await optimizedUntilReady('--opt')).toBeGreaterThan(2 * BEFORE_PROGRAM);
});
