import { realpath } from 'node:fs/promises';
import { LangoError } from '../../../core/errors.js';
import type { Program, Programs } from '../../../core/program.js';
import { unsandboxedLaunch, type ExecLimits, type ShellCommand } from './launch.js';
import { startPiped, type PipedProcess } from './process.js';
import { findSandbox, type SandboxFinding } from './sandbox.js';

const STDERR_BYTES = 4096;
/** Practically unlimited, because a program may run for weeks. */
const CPU_SECONDS = 10_000_000;
const FILE_BYTES = 1024 ** 3;

type ProgramLimits = Pick<ExecLimits, 'memoryMb' | 'processes'>;

/** Starts programs, each in a separate sandbox, and tracks them, so that none outlives the server. */
export class SandboxedPrograms implements Programs {
  readonly #limits: ProgramLimits;
  readonly #running = new Set<PipedProcess>();
  readonly #sandboxes = new Map<string, Promise<SandboxFinding>>();
  readonly #killAll = () => this.#running.forEach((program) => program.killNow());

  constructor(limits: ProgramLimits) {
    this.#limits = limits;
    process.on('exit', this.#killAll);
  }

  /** Rejects with `unavailable` when the sandbox that the program must run in does not work here. */
  async start(program: Program): Promise<PipedProcess> {
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
      readable: await Promise.all(program.readable.map((one) => realpath(one))),
      fileBytes: FILE_BYTES,
      limits: {
        ...this.#limits,
        cpuSeconds: CPU_SECONDS,
        timeoutSeconds: CPU_SECONDS,
        outputBytes: STDERR_BYTES,
      },
    };
    const sandbox = program.isSandboxed ? await this.#sandboxFor(writable) : undefined;
    const launch = sandbox?.launch(command, program.network) ?? unsandboxedLaunch(command);
    const child = startPiped(launch, STDERR_BYTES);
    this.#running.add(child);
    void child.ended.catch(() => undefined).then(() => this.#running.delete(child));
    return child;
  }

  /** Ends all programs. Resolves when none is running. */
  async close(): Promise<void> {
    await Promise.allSettled([...this.#running].map((program) => program.stop()));
    process.off('exit', this.#killAll);
  }

  /** Finds a sandbox for each set of folders, because the account that programs run as depends on the first folder. */
  async #sandboxFor(writable: readonly string[]) {
    const key = writable.join('\0');
    const finding = this.#sandboxes.get(key) ?? findSandbox({ mode: 'auto', roots: writable });
    this.#sandboxes.set(key, finding);
    const { sandbox, reason } = await finding;
    if (sandbox) return sandbox;
    this.#sandboxes.delete(key);
    throw new LangoError(
      'unavailable',
      `The program must run in a sandbox, and none works here. ${reason ?? ''}`.trim(),
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
