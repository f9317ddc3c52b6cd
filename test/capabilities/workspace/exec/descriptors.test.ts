import { execFileSync } from 'node:child_process';
import { openSync, closeSync } from 'node:fs';
import { expect, it } from '@jest/globals';

it('withDescriptors hands on no descriptor that the server was started with', () => {
  const module = new URL('../../../../src/capabilities/workspace/exec/descriptors.ts', import.meta.url);
  const script = (stdio: string) => `
import { spawnSync } from 'node:child_process';
import { withDescriptors } from '${module.href}';
const list = ['-c', 'readlink /proc/$$/fd/40'];
const { stdout } = withDescriptors('ignore', 0, (stdio) => spawnSync('/bin/sh', list, { stdio: ${stdio} }));
process.stdout.write(stdout);`;
  const lock = openSync('/etc/hostname', 'r');
  const run = (stdio: string) =>
    execFileSync(process.execPath, ['--no-warnings', '--input-type=module', '-e', script(stdio)], {
      stdio: ['ignore', 'pipe', 'inherit', ...Array<'ignore'>(37).fill('ignore'), lock],
    }).toString();
  expect(run('stdio')).toBe('/dev/null\n');
  expect(run("['ignore', 'pipe', 'pipe']")).toBe('/etc/hostname\n');
  closeSync(lock);
});
