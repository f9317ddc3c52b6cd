import { describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { built } from '../support/built.js';

const run = async (script: string, ...args: readonly string[]) => {
  const ended = promisify(execFile)(process.execPath, [built(`lab/${script}/main.js`), ...args]);
  const {
    code = 0,
    stdout,
    stderr,
  } = await ended.then(
    (output) => ({ ...output, code: 0 }),
    (error: { readonly code: number; readonly stdout: string; readonly stderr: string }) => error,
  );
  return { code, stdout, stderr };
};

describe.each([
  ['npm run abuse --', '--work'],
  ['npm run abuse -- fuzz', '--seconds'],
  ['npm run chaos --', '--kill'],
])('%s', (usage, option) => {
  const [, script = '', program] = /^npm run (\w+) --(?: (\w+))?$/.exec(usage)!;
  const start = (...args: readonly string[]) => run(script, ...(program ? [program] : []), ...args);

  it('prints its options', async () => {
    expect(await start('--help')).toEqual({
      code: 0,
      stdout: expect.stringContaining(option) as unknown,
      stderr: '',
    });
  });

  it('does nothing for an unknown argument, and says so', async () => {
    const hint = ` See: ${usage} --help\n`;
    expect(await start('--none')).toEqual({
      code: 2,
      stdout: '',
      stderr: `Unknown option '--none'.${hint}`,
    });
    expect(await start(option, 'x')).toEqual({
      code: 2,
      stdout: '',
      stderr: `${option} takes a number.${hint}`,
    });
  });
});

it('npm run abuse runs no corpus when one of the names is unknown', async () => {
  const { code, stderr } = await run('abuse', '--only', 'cards,crads');
  expect([code, stderr]).toEqual([2, expect.stringContaining('There is no corpus crads: there are cards,')]);
});
