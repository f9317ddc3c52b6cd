import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from '@jest/globals';
import { silentLogger } from '../../../../src/core/logger.js';
import type { ToolOutput } from '../../../../src/core/tool.js';
import {
  createExec,
  findSandbox,
  type ExecLimits,
  type ExecOptions,
} from '../../../../src/capabilities/workspace/exec/index.js';
import { until } from '../../../support/until.js';
import { sharedDisk } from '../../../disk/disk.js';

export const LIMITS: ExecLimits = {
  timeoutSeconds: 20,
  cpuSeconds: 10,
  memoryMb: 256,
  processes: 64,
  outputBytes: 4096,
};

/** Detected without our code: where bubblewrap works at all, it is a failure when our sandbox does not. */
function canSandbox(): boolean {
  const isRoot = process.getuid?.() === 0;
  const account = isRoot ? { uid: 65534, gid: 65534 } : {};
  const args = ['--unshare-user', '--unshare-pid', '--ro-bind', '/', '/', '--proc', '/proc', 'true'];
  const works = (file: string, fileArgs: string[], options = {}) =>
    spawnSync(file, fileArgs, { cwd: '/', stdio: 'ignore', ...options }).status === 0;
  return works('bwrap', args, account) && (!isRoot || works('unshare', ['--mount', 'true']));
}

const isPossible = canSandbox();
if (!isPossible) {
  const root = await mkdtemp(join(tmpdir(), 'lango-probe-'));
  const { reason } = await findSandbox('auto', [root]);
  await rm(root, { recursive: true });
  console.warn(`SKIPPED: every test of the exec sandbox, because there is none here. ${reason}`);
}

export const describeSandboxed = isPossible ? describe : describe.skip;

export interface Stage {
  readonly exec: ReturnType<typeof createExec>;
  readonly root: string;
  readonly close: () => Promise<void>;
}

/** The family over a fresh workspace, which stands below a folder that is closed to others. */
export async function openStage(
  mode: 'required' | 'off',
  changes: Partial<Omit<ExecOptions, 'limits'>> & { limits?: Partial<ExecLimits> } = {},
): Promise<Stage> {
  const root = await mkdtemp(join(tmpdir(), 'lango-exec-'));
  const { sandbox } = await findSandbox(mode, [root]);
  const exec = createExec({
    ...sharedDisk(root),
    sandbox,
    network: false,
    environment: { ...process.env },
    envAllow: [],
    logger: silentLogger,
    ...changes,
    limits: { ...LIMITS, ...changes.limits },
  });
  const close = async () => {
    await exec.close();
    await rm(root, { recursive: true, force: true });
  };
  return { exec, root, close };
}

export interface Result {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly note?: string;
}

export function resultOf(output: ToolOutput): Result {
  return output.content as unknown as Result;
}

/** The host's processes whose command line holds `text`, without this one. */
export async function processesWith(text: string): Promise<number[]> {
  const ids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  const lines = await Promise.all(ids.map((id) => readFile(`/proc/${id}/cmdline`, 'utf8').catch(() => '')));
  return ids.filter((_, index) => lines[index]!.includes(text)).map(Number);
}

/** Resolves once no process holds `text` in its command line: a killed one may take a moment to go. */
export async function noneWith(text: string): Promise<void> {
  await until(async () => (await processesWith(text)).length === 0);
}

let marks = 0;
/** A number of seconds to sleep that no other test uses, to be found in the list of processes. */
export function sleepMark(): string {
  marks += 1;
  return `${900 + (process.pid % 90)}.${process.pid}${marks}`;
}
