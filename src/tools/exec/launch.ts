import type { Logger } from '../../core/logger.js';
import type { Scope } from '../../core/task.js';

/** A program about to be started. */
export interface Launch {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Texts the program reads from its descriptors 3, 4 and so on. */
  readonly pipedInputs: readonly string[];
  /** True when the kernel ends everything below the program together with it. */
  readonly contained: boolean;
}

/** A shell command, before it is known where it will run. */
export interface ShellCommand {
  readonly shell: string;
  readonly command: string;
  /** Absolute, without symbolic links, inside a root. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Folders besides the roots that it may read: absolute, existing, outside the roots. */
  readonly readable: readonly string[];
  readonly limits: ExecLimits;
}

/** A place for commands to run in, cut off from the rest of the machine. */
export interface Sandbox {
  /** One line for people: what it is and as whom commands run. */
  readonly summary: string;
  /** How to start `command` inside. Does no I/O. */
  launch(command: ShellCommand, network: boolean): Launch;
}

export interface ExecLimits {
  /** Wall-clock time of one `exec` call. */
  readonly timeoutSeconds: number;
  /** CPU time of each process. */
  readonly cpuSeconds: number;
  /**
   * Writable private memory of each process (RLIMIT_DATA: a limit on address space would stop every
   * program that reserves more than it uses, Node.js first) and the size of /tmp and of /dev/shm.
   * Node.js needs 1,024.
   */
  readonly memoryMb: number;
  /** Processes and threads of one sandbox; not set outside, where it would count the whole account's. */
  readonly processes: number;
  /** How much is kept of stdout, and of stderr. */
  readonly outputBytes: number;
}

const FILE_LIMIT_BYTES = 1024 ** 3;
/** POSIX counts file sizes in these. */
const FILE_BLOCK_BYTES = 512;

/**
 * Sets the limits and becomes the shell. The kernel is told to take these processes first when memory
 * runs out. The CPU limit warns (SIGXCPU) a second before it kills, so that it can be told from other kills. `-u` is bash's word for processes and `-p` dash's.
 */
const LIMITS_SCRIPT = `ulimit -c 0
ulimit -t "$(($1 + 1))" && ulimit -S -t "$1" && ulimit -d "$2" && ulimit -f "$3" || exit 125
[ "$4" = open ] || ulimit -u "$4" 2>/dev/null || ulimit -p "$4" || exit 125
{ echo 1000 > /proc/self/oom_score_adj; } 2>/dev/null
shift 4
exec "$@"`;

/** The arguments of a process that runs the command under its limits. */
export function limitedShell(command: ShellCommand, processes: number | 'open'): readonly string[] {
  const { cpuSeconds, memoryMb } = command.limits;
  const values = [Math.ceil(cpuSeconds), memoryMb * 1024, FILE_LIMIT_BYTES / FILE_BLOCK_BYTES, processes];
  const limits = ['/bin/sh', '-c', LIMITS_SCRIPT, 'sh', ...values.map(String)];
  return [...limits, command.shell, '-c', command.command];
}

/** How to start `command` without a sandbox: as the server's own user, with what that user may do. */
export function unsandboxedLaunch(command: ShellCommand): Launch {
  const [file, ...args] = limitedShell(command, 'open');
  return { file: file!, args, env: command.env, cwd: command.cwd, pipedInputs: [], contained: false };
}

export interface ExecOptions {
  /** Absolute folders that commands may work in; the first is where they start. */
  readonly roots: readonly string[];
  /** From `findSandbox`. Undefined: commands run as the server's own user, each one `dangerous`. */
  readonly sandbox: Sandbox | undefined;
  /**
   * Whether sandboxed commands share the host's network. That includes its loopback services and its
   * abstract Unix sockets: there is no half of a network namespace.
   */
  readonly network: boolean;
  /** The server's environment; commands see only the variables that `envAllow` names. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly envAllow: readonly string[];
  /** Folders outside the roots that commands of this owner may read: those of skills. They exist. */
  readonly readable?: (scope: Scope) => readonly string[];
  readonly limits: ExecLimits;
  readonly logger: Logger;
}
