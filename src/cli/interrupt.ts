import { EXIT } from './exit.js';

/** How the person, or the system, asks the program to stop. */
export interface Interrupt {
  /** The exit code that goes with the signal; undefined as long as there was none. */
  readonly exitCode: number | undefined;
  /** Puts the signals back to what they do by default. */
  [Symbol.dispose](): void;
}

const SIGNALS = { SIGINT: EXIT.interrupted, SIGTERM: EXIT.terminated } as const;

/** Calls `onFirst` at the first SIGINT or SIGTERM; the second one ends the program at once. */
export function onInterrupt(onFirst: () => void): Interrupt {
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

/** Calls `work` at each SIGHUP, until it is disposed of. */
export function onHangup(work: () => Promise<void>): Disposable {
  const handle = (): void => void work();
  process.on('SIGHUP', handle);
  return { [Symbol.dispose]: () => void process.off('SIGHUP', handle) };
}
