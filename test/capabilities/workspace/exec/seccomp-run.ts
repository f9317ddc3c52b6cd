import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepareAccount, preparePrivilegeDrop } from '../../../../src/capabilities/workspace/exec/account.js';
import { bubblewrap } from '../../../../src/capabilities/workspace/exec/bubblewrap.js';
import { startProcess } from '../../../../src/capabilities/workspace/exec/process.js';
import { LIMITS } from './setup.js';

/** Runs a program in bubblewrap with a filter of system calls. Returns its output. */
export async function bubblewrapped(
  words: readonly string[],
  filter: Buffer | undefined,
  hasNoProc = false,
): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'lango-seccomp-'));
  try {
    const account = await prepareAccount([root]);
    const privilegeDrop = process.getuid?.() === 0 ? await preparePrivilegeDrop(account) : undefined;
    const sandbox = bubblewrap('/usr/bin/bwrap', account, { privilegeDrop, filter, hasNoProc });
    const command = words.map((word) => `'${word.replaceAll("'", String.raw`'\''`)}'`).join(' ');
    const folders = { cwd: root, writable: [root], readable: [] };
    const shell = {
      shell: '/bin/sh',
      command,
      env: {},
      fileBytes: 1024,
      limits: { ...LIMITS, outputBytes: 64_000 },
    };
    const child = startProcess(sandbox.launch({ ...shell, ...folders }, false), 64_000);
    await child.ended;
    return child.stdout.text('') + child.stderr.text('');
  } finally {
    await rm(root, { recursive: true });
  }
}
