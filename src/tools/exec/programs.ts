import { realpath } from 'node:fs/promises';
import { LangoError } from '../../core/errors.js';
import { unsandboxedLaunch, type ExecLimits, type ShellCommand } from './launch.js';
import { startDialog, type Dialog } from './process.js';
import { findSandbox, type SandboxFinding } from './sandbox.js';

/** A program that serves for as long as it is wanted, and is talked to through its pipes. */
export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  /** All variables that it gets, besides PATH, HOME, LANG and TMPDIR. */
  readonly env: Readonly<Record<string, string>>;
  /** Its working directory and home, which it may write to. Absolute, existing. */
  readonly folder: string;
  /** Further folders: absolute, existing. */
  readonly writable: readonly string[];
  readonly readable: readonly string[];
  readonly network: boolean;
  /** False: the program runs with all rights of the server's own user. */
  readonly isSandboxed: boolean;
  readonly limits: Pick<ExecLimits, 'memoryMb' | 'processes'>;
}

const STDERR_BYTES = 4096;
/** A program may work for weeks, so its processor time has no limit that it would reach. */
const CPU_SECONDS = 10_000_000;
const FILE_BYTES = 1024 ** 3;

/** Starts programs, each in a sandbox of its own, and tracks them, so that none outlives the server. */
export class Programs {
  readonly #running = new Set<Dialog>();
  readonly #sandboxes = new Map<string, Promise<SandboxFinding>>();
  readonly #killAll = () => this.#running.forEach((program) => program.killNow());

  constructor() {
    process.on('exit', this.#killAll);
  }

  /** Rejects with `unavailable` when the sandbox that the program must run in does not work here. */
  async start(program: Program): Promise<Dialog> {
    const writable = await Promise.all(
      [program.folder, ...program.writable].map((folder) => realpath(folder)),
    );
    const folder = writable[0]!;
    const command: ShellCommand = {
      shell: '/bin/sh',
      command: `exec ${[program.command, ...program.args].map(quoted).join(' ')}`,
      cwd: folder,
      env: { ...environment(folder), ...program.env },
      writable,
      readable: await Promise.all(program.readable.map((each) => realpath(each))),
      fileBytes: FILE_BYTES,
      limits: {
        ...program.limits,
        cpuSeconds: CPU_SECONDS,
        timeoutSeconds: CPU_SECONDS,
        outputBytes: STDERR_BYTES,
      },
    };
    const sandbox = program.isSandboxed ? await this.#sandboxFor(writable) : undefined;
    const launch = sandbox?.launch(command, program.network) ?? unsandboxedLaunch(command);
    const dialog = startDialog(launch, STDERR_BYTES);
    this.#running.add(dialog);
    void dialog.ended.catch(() => undefined).then(() => this.#running.delete(dialog));
    return dialog;
  }

  /** Ends all programs. Resolves when none is running. */
  async close(): Promise<void> {
    await Promise.allSettled([...this.#running].map((program) => program.stop()));
    process.off('exit', this.#killAll);
  }

  /** Each set of folders has a finding of its own, because the account that programs run as depends on the first. */
  async #sandboxFor(writable: readonly string[]) {
    const key = writable.join('\0');
    const finding = this.#sandboxes.get(key) ?? findSandbox({ mode: 'auto', roots: writable });
    this.#sandboxes.set(key, finding);
    const { sandbox, reason } = await finding;
    if (sandbox) return sandbox;
    this.#sandboxes.delete(key);
    throw new LangoError(
      'unavailable',
      `It must run in a sandbox, and none works here. ${reason ?? ''}`.trim(),
      {
        hint: 'If you trust the program with all rights of this server, set sandbox: false in its entry.',
      },
    );
  }
}

function environment(home: string): Record<string, string> {
  return {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    HOME: home,
    LANG: 'C.UTF-8',
    TMPDIR: '/tmp',
  };
}

/** Quotes a word for the shell. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
