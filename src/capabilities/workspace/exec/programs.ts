import { realpath } from 'node:fs/promises';
import { LangoError } from '../../../core/errors.js';
import type { Program, Programs } from '../../../core/program.js';
import { baseEnvironment, unsandboxedLaunch, type ExecLimits, type ShellCommand } from './launch.js';
import { startPiped, type PipedProcess } from './process.js';
import { findSandbox, type SandboxFinding } from './sandbox.js';

const STDERR_BYTES = 4096;
/** Practically unlimited, because a program may run for weeks. */
const SECONDS = 10_000_000;
const FILE_BYTES = 1024 ** 3;

/** Starts programs, each in a separate sandbox, and tracks them, so that none outlives the server. */
export class SandboxedPrograms implements Programs {
  readonly #limits: Pick<ExecLimits, 'memoryMb' | 'processes'>;
  readonly #running = new Set<PipedProcess>();
  readonly #sandboxes = new Map<string, Promise<SandboxFinding>>();
  readonly #killAll = () => this.#running.forEach((program) => program.killNow());

  constructor(limits: Pick<ExecLimits, 'memoryMb' | 'processes'>) {
    this.#limits = limits;
    process.on('exit', this.#killAll);
  }

  /** Rejects with `unavailable` when the sandbox that the program must run in does not work here. */
  async start(program: Program): Promise<PipedProcess> {
    const realPaths = (paths: readonly string[]) => Promise.all(paths.map((path) => realpath(path)));
    const quoted = (word: string) => `'${word.replaceAll("'", `'\\''`)}'`;
    const writable = await realPaths([program.folder, ...program.writable]);
    const folder = writable[0]!;
    const command: ShellCommand = {
      shell: '/bin/sh',
      command: `exec ${[program.command, ...program.args].map(quoted).join(' ')}`,
      cwd: folder,
      env: { ...baseEnvironment(folder), ...program.env },
      writable,
      readable: await realPaths(program.readable),
      fileBytes: FILE_BYTES,
      limits: { ...this.#limits, cpuSeconds: SECONDS, timeoutSeconds: SECONDS, outputBytes: STDERR_BYTES },
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
    const finding = this.#sandboxes.get(key) ?? findSandbox('auto', writable);
    this.#sandboxes.set(key, finding);
    const { sandbox, reason } = await finding;
    if (sandbox) return sandbox;
    this.#sandboxes.delete(key);
    const problem = `The program must run in a sandbox, and none works here. ${reason ?? ''}`.trim();
    const hint = 'If you trust the program with all rights of this server, set sandbox: false in its entry.';
    throw new LangoError('unavailable', problem, { hint });
  }
}
