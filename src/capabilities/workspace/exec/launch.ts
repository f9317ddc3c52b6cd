import type { SettingsContext } from '../../../core/capability.js';
import type { WORKSPACE_SETTINGS } from '../settings.js';

/** The way to start a program. */
export interface Launch {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** The program reads these from its descriptors 3, 4 and so on. */
  readonly pipedInputs: readonly (string | Buffer)[];
  /** True when the kernel ends all child processes together with the program. */
  readonly contained: boolean;
}

/** A shell command, independent of the sandbox that it runs in. */
export interface ShellCommand {
  readonly shell: string;
  readonly command: string;
  /** Absolute, without symbolic links, inside a writable folder. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Folders that the command may write to: real paths. */
  readonly writable: readonly string[];
  /** Further folders that the command may read: absolute, existing. */
  readonly readable: readonly string[];
  /** The largest file that the command may write. */
  readonly fileBytes: number;
  readonly limits: ExecLimits;
}

/** An environment for commands, isolated from the rest of the machine. */
export interface Sandbox {
  /** One line for people: the kind of sandbox and the account that commands run as. */
  readonly summary: string;
  /** Names a part of the sandbox that this machine cannot provide. Part of a sentence. */
  readonly lacks?: string | undefined;
  /** Returns how to start `command` in the sandbox. Does no I/O. */
  launch(command: ShellCommand, network: boolean): Launch;
}

type Settings = SettingsContext<typeof WORKSPACE_SETTINGS>['settings']['tools.exec'];

/** The limits of the settings, which say what each of them means. */
export type ExecLimits = Omit<Settings, 'enabled' | 'sandbox' | 'network' | 'envAllow'>;

/** Unit of `ulimit -f` in POSIX. */
const FILE_BLOCK_BYTES = 512;

/**
 * Sets the limits and executes the shell. Tells the kernel to kill these processes first when memory runs out. The soft
 * CPU limit (SIGXCPU) fires one second before the hard one, so that it can be distinguished from other kills. The memory
 * limit is RLIMIT_DATA, because a limit on address space would stop every program that reserves more than it uses, such as
 * Node.js, which needs 1,024 MB. `-u` limits processes in bash, `-p` in dash; outside a sandbox, neither is set, because
 * the limit would count all processes of the account.
 */
const LIMITS_SCRIPT = `ulimit -c 0
ulimit -t "$(($1 + 1))" && ulimit -S -t "$1" && ulimit -d "$2" && ulimit -f "$3" || exit 125
[ "$4" = unlimited ] || ulimit -u "$4" 2>/dev/null || ulimit -p "$4" || exit 125
{ echo 1000 > /proc/self/oom_score_adj; } 2>/dev/null
shift 4
exec "$@"`;

/** Returns the command line that runs the command under its limits. */
export function limitedShell(command: ShellCommand, processes: number | 'unlimited'): readonly string[] {
  const { cpuSeconds, memoryMb } = command.limits;
  const fileBlocks = Math.ceil(command.fileBytes / FILE_BLOCK_BYTES);
  const values = [Math.ceil(cpuSeconds), memoryMb * 1024, fileBlocks, processes];
  const limits = ['/bin/sh', '-c', LIMITS_SCRIPT, 'sh', ...values.map(String)];
  return [...limits, command.shell, '-c', command.command];
}

/** The environment that every program gets. */
export function baseEnvironment(home: string): Readonly<Record<string, string>> {
  const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
  return { PATH: path, HOME: home, LANG: 'C.UTF-8', TMPDIR: '/tmp' };
}

/** Returns how to start `command` without a sandbox: as the server's own user, with all rights of that user. */
export function unsandboxedLaunch(command: ShellCommand): Launch {
  const [file, ...args] = limitedShell(command, 'unlimited');
  return { file: file!, args, env: command.env, cwd: command.cwd, pipedInputs: [], contained: false };
}
