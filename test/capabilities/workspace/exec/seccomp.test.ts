import { describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { DENIED_CALLS, seccompFilter } from '../../../../src/capabilities/workspace/exec/seccomp.js';
import { bubblewrapped } from './seccomp-run.js';
import { describeSandboxed } from './setup.js';

/** Makes one system call with arguments that do nothing, and prints its error number: only Perl can, of what Debian has. */
const PERL = '/usr/bin/perl';
const hasPerl = spawnSync(PERL, ['-e', '1']).status === 0;
if (!hasPerl) console.warn('SKIPPED: the rules of the seccomp filter, because Perl is not here.');
const describeRules = hasPerl ? describeSandboxed : describe.skip;

const COLUMN = process.arch === 'arm64' ? 1 : 0;
const [EPERM, ENOSYS] = [1, 38];
const CLONE = process.arch === 'arm64' ? 220 : 56;
const CLONE3 = 435;
const NEW_USER = 0x10000000;

/** The error number of each call, made one after the other in one sandbox with the filter. */
async function errorsOf(
  calls: readonly (readonly number[])[],
  filter: Buffer | undefined,
): Promise<readonly number[]> {
  const script = calls.map((call) => `$! = 0; syscall(${call.join(', ')}); print $!+0, "\\n";`).join(' ');
  return (await bubblewrapped([PERL, '-e', script], filter)).trim().split('\n').map(Number);
}

describeRules('the seccomp filter', () => {
  const names = Object.keys(DENIED_CALLS);
  // Arguments of -1 are wrong for every call: without the filter none of them does anything.
  const calls = names.map((name) => [DENIED_CALLS[name]![COLUMN], -1, -1, -1, -1, -1]);

  it('denies every call of its table', async () => {
    const errors = await errorsOf(calls, seccompFilter());
    expect(Object.fromEntries(names.map((name, index) => [name, errors[index]]))).toEqual(
      Object.fromEntries(names.map((name) => [name, EPERM])),
    );
  });

  it.each(names)('denies %s by its own rule', async (name) => {
    const [error] = await errorsOf([calls[names.indexOf(name)]!], seccompFilter([name]));
    expect(error).toBe(EPERM);
  });

  it('makes no namespace by clone, and has no clone3', async () => {
    expect(
      await errorsOf(
        [
          [CLONE, NEW_USER, 0, 0, 0, 0],
          [CLONE3, 0, 0],
        ],
        seccompFilter(),
      ),
    ).toEqual([EPERM, ENOSYS]);
  });

  it('differs from a filter without rules, under which the calls get other errors', async () => {
    const errors = await errorsOf(calls, undefined);
    expect(errors).toHaveLength(names.length);
    expect(errors.filter((error) => error !== EPERM).length).toBeGreaterThan(10);
  });
});

describeSandboxed('a sandbox without /proc', () => {
  it('runs commands, which make no namespaces', async () => {
    const words = ['/bin/sh', '-c', 'test -e /proc || echo none; unshare --user echo made'];
    const output = await bubblewrapped(words, seccompFilter(), true);
    expect(output).toContain('none');
    expect(output).not.toContain('made');
    expect(await bubblewrapped(words, seccompFilter([]), true)).toContain('made');
  });
});

describe('the seccomp filter', () => {
  it('is made for x86-64 and arm64, each with its numbers', () => {
    expect(seccompFilter(undefined, 'riscv64')).toBeUndefined();
    const [x64, arm64] = [seccompFilter(undefined, 'x64')!, seccompFilter(undefined, 'arm64')!];
    expect(x64).toHaveLength(arm64.length);
    expect(x64.equals(arm64)).toBe(false);
  });
});
