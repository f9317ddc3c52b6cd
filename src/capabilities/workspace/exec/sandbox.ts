import { errorText, LangoError } from '../../../core/errors.js';
import { Timer } from '../../../core/time.js';
import { findProgram } from '../../../disk/programs.js';
import { preparePrivilegeDrop, prepareAccount } from './account.js';
import { bubblewrap, type BubblewrapOptions } from './bubblewrap.js';
import type { Sandbox } from './launch.js';
import { startProcess } from './process.js';
import { seccompFilter } from './seccomp.js';

export interface SandboxFinding {
  readonly sandbox?: Sandbox;
  /** The reason why there is no sandbox, and advice: one or two sentences. */
  readonly reason?: string;
}

/** Enough for a shell with a few commands. */
const PROBE_LIMITS = { timeoutSeconds: 10, cpuSeconds: 5, memoryMb: 64, processes: 16, outputBytes: 4096 };
const PROBE_FILE_BYTES = 1024;

/** A command that fails unless it runs without privileges. Without /proc it cannot see its capabilities. */
const PROBE = `test "$(id -u)" != 0 || { echo "the command runs as root"; exit 1; }
test ! -e /proc || grep -Eq '^CapEff:[[:space:]]*0+$' /proc/self/status ||
  { echo "the command has capabilities"; exit 1; }
test -w . || { echo "the account that commands run as (uid $(id -u)) cannot write to the workspace $PWD"; exit 1; }`;

/**
 * Finds a sandbox for absolute, existing roots, and runs a command in it. As root, may give an empty root to the account that
 * commands run as. In the mode `required`, rejects with `unavailable` when no sandbox works.
 */
export async function findSandbox(
  mode: 'auto' | 'off' | 'required',
  roots: readonly string[],
): Promise<SandboxFinding> {
  if (mode === 'off') return { reason: 'The sandbox is switched off in the configuration.' };
  try {
    return { sandbox: await openSandbox(roots) };
  } catch (error) {
    const reason = errorText(error);
    if (mode === 'auto') return { reason };
    const problem = `Commands must run in a sandbox, and none works here. ${reason}`;
    throw new LangoError('unavailable', problem, { cause: error });
  }
}

async function openSandbox(roots: readonly string[]): Promise<Sandbox> {
  if (process.platform !== 'linux') {
    const problem = `There is no sandbox for ${process.platform}. Run the server on Linux.`;
    throw new LangoError('unavailable', problem);
  }
  const bwrap = await findProgram('bwrap');
  if (bwrap === undefined) {
    const advice = 'apt install bubblewrap (the package has the same name for dnf, apk and pacman)';
    throw new LangoError('unavailable', `bubblewrap is not installed: ${advice}.`);
  }
  const account = await prepareAccount(roots);
  const isRoot = process.getuid?.() === 0;
  const privilegeDrop = isRoot ? await preparePrivilegeDrop(account) : undefined;
  const filter = seccompFilter();
  const probed = async (options: BubblewrapOptions, lacks?: string): Promise<Sandbox> => {
    const sandbox = { ...bubblewrap(bwrap, account, { privilegeDrop, ...options }), lacks };
    for (const root of account.roots) await probe(sandbox, account.roots, root);
    return sandbox;
  };
  if (!filter) return probed({}, `a filter of system calls for ${process.arch}`);
  try {
    return await probed({ filter });
  } catch (error) {
    const problem = errorText(error);
    const masked = 'a /proc for commands, because that of this container is masked';
    if (NO_PROC.test(problem)) return probed({ filter, hasNoProc: true }, masked);
    if (!/seccomp/i.test(problem)) throw error;
    return probed({}, 'seccomp, a filter of system calls, in its kernel');
  }
}

async function probe(sandbox: Sandbox, roots: readonly string[], root: string): Promise<void> {
  const command = {
    ...{ shell: '/bin/sh', command: PROBE, cwd: root, env: {} },
    ...{ writable: roots, readable: [], fileBytes: PROBE_FILE_BYTES, limits: PROBE_LIMITS },
  };
  const launch = sandbox.launch(command, false);
  const child = startProcess(launch, PROBE_LIMITS.outputBytes);
  using _late = new Timer(PROBE_LIMITS.timeoutSeconds * 1000, () => void child.stop());
  const { exitCode } = await child.ended;
  if (exitCode === 0) return;
  const output = `${child.stderr.text('').trim()} ${child.stdout.text('').trim()}`.trim();
  const advice = ADVICE.find(([pattern]) => pattern.test(output))?.[1];
  const problem = output === '' ? 'the probe failed without output' : output;
  const fix = advice === undefined ? '' : ` To fix it: ${advice}.`;
  throw new LangoError('unavailable', `The sandbox does not work here: ${problem}.${fix}`);
}

const NO_PROC = /mount proc|max_user_namespaces: Read-only/i;

const ADVICE: readonly (readonly [RegExp, string])[] = [
  [
    /new namespace|uid map|clone|unshare|user namespaces/i,
    'allow user namespaces (sysctl user.max_user_namespaces; on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0; in a container seccomp=unconfined)',
  ],
  [NO_PROC, 'let the container mount /proc (docker: --security-opt systempaths=unconfined)'],
  [/unknown option/i, 'install bubblewrap 0.8 or newer'],
  [/cannot write/i, 'give that account the folder with chown -R'],
];
