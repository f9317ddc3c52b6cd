import type { Readable, Writable } from 'node:stream';
import { Contract } from './service.js';

/** A long-running program that serves over stdin and stdout. */
export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  /** The environment of the program, besides PATH, HOME, LANG and TMPDIR. */
  readonly env: Readonly<Record<string, string>>;
  /** Its working directory and home, which it may write to. Absolute, existing. */
  readonly folder: string;
  /** Further folders that the program may write to: absolute, existing. */
  readonly writable: readonly string[];
  /** Further folders that the program may read: absolute, existing. */
  readonly readable: readonly string[];
  readonly network: boolean;
  /** False: the program has all rights of the server's user. */
  readonly isSandboxed: boolean;
}

export interface RunningProgram {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: { text(advice: string): string };
  /** Settles when the program has ended. */
  readonly ended: Promise<unknown>;
  stop(): Promise<unknown>;
}

/** Starts programs in a sandbox, within the limits of commands. */
export interface Programs {
  /** Rejects with `unavailable` when the sandbox that the program must run in does not work here. */
  start(program: Program): Promise<RunningProgram>;
  /** Ends all programs. Resolves when none is running. */
  close(): Promise<void>;
}

/** Makes the programs of one user of them, who closes them. */
export const PROGRAMS = new Contract<() => Promise<Programs>>('sandbox for programs');
