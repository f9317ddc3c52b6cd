import { isLangoError, LangoError, type ErrorCode, type ErrorDetails } from '../core/errors.js';
import type { TaskState } from '../core/task.js';

/** The exit codes of the program, as docs/reference/cli.md lists them. */
export const EXIT = {
  ok: 0,
  failure: 1,
  usage: 2,
  noServer: 3,
  inputRequired: 4,
  taskFailed: 5,
  taskRejected: 6,
  taskCanceled: 7,
  noAccess: 8,
  interrupted: 130,
  terminated: 143,
} as const;

export class CommandError extends LangoError {
  readonly exitCode: number;

  constructor(code: ErrorCode, message: string, details: ErrorDetails & { readonly exitCode: number }) {
    super(code, message, details);
    this.exitCode = details.exitCode;
  }
}

/** The error for a command line that is itself wrong. */
export function usageError(message: string, hint?: string): CommandError {
  return new CommandError('invalid-input', message, { exitCode: EXIT.usage, hint });
}

/** The error for a prompt that the person left. */
export function nothingChanged(): CommandError {
  return new CommandError('canceled', 'Nothing was changed.', { exitCode: EXIT.interrupted });
}

export function exitCodeOfError(error: unknown): number {
  if (error instanceof CommandError) return error.exitCode;
  return isLangoError(error, 'unauthenticated') || isLangoError(error, 'forbidden')
    ? EXIT.noAccess
    : EXIT.failure;
}

const STATE_CODES = {
  completed: EXIT.ok,
  failed: EXIT.taskFailed,
  rejected: EXIT.taskRejected,
  canceled: EXIT.taskCanceled,
  'input-required': EXIT.inputRequired,
  'auth-required': EXIT.inputRequired,
} as const;

/** `state`: that of a task that has ended or waits. */
export const exitCodeOfState = (state: Exclude<TaskState, 'submitted' | 'working'>) => STATE_CODES[state];

const SIGNALS = { SIGINT: EXIT.interrupted, SIGTERM: EXIT.terminated } as const;

/**
 * Calls `onFirst` at the first SIGINT or SIGTERM. The second signal ends the program at once. `exitCode` is that of the
 * signal that arrived. Disposal restores the default effect of the signals.
 */
export function onInterrupt(onFirst: () => void): Disposable & { readonly exitCode: number | undefined } {
  let exitCode: number | undefined;
  const handle = (signal: keyof typeof SIGNALS): void => {
    if (exitCode !== undefined) process.exit(SIGNALS[signal]);
    exitCode = SIGNALS[signal];
    onFirst();
  };
  const names = Object.keys(SIGNALS) as readonly (keyof typeof SIGNALS)[];
  for (const name of names) process.on(name, handle);
  return {
    get exitCode() {
      return exitCode;
    },
    [Symbol.dispose]() {
      for (const name of names) process.off(name, handle);
    },
  };
}

/** Calls `work` at each SIGHUP, until the result is disposed of. */
export function onHangup(work: () => Promise<void>): Disposable {
  const handle = (): void => void work();
  process.on('SIGHUP', handle);
  return { [Symbol.dispose]: () => void process.off('SIGHUP', handle) };
}
