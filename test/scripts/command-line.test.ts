import { describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = async (script: string, ...args: readonly string[]) => {
  const ended = promisify(execFile)(process.execPath, [`dist/scripts/${script}/main.js`, ...args]);
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
  ['abuse', '--work'],
  ['fuzz', '--seconds'],
  ['chaos', '--kill'],
])('npm run %s', (script, option) => {
  it('prints its options', async () => {
    expect(await run(script, '--help')).toEqual({
      code: 0,
      stdout: expect.stringContaining(option) as unknown,
      stderr: '',
    });
  });

  it('does nothing for an unknown argument, and says so', async () => {
    const hint = ` See: npm run ${script} -- --help\n`;
    expect(await run(script, '--none')).toEqual({
      code: 2,
      stdout: '',
      stderr: `Unknown option '--none'.${hint}`,
    });
    expect(await run(script, option, 'x')).toEqual({
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
