import type { Env } from '../config/env.js';
import { EXIT } from './exit.js';
import type { Progress } from './progress.js';
import { createProgress } from './progress.js';

/** The terminal of a command: results go to standard output, messages about them to standard error. */
export interface Terminal {
  /** Whether standard output is a terminal, so that output is shown as it arrives. */
  readonly isLive: boolean;
  /** Whether questions can be asked: standard input and standard error are a terminal. */
  readonly canAsk: boolean;
  /** Whether standard output is written in color. */
  readonly color: boolean;
  /** Whether standard error is written in color. */
  readonly noteColor: boolean;
  readonly progress: Progress;
  /** Writes text to standard output, without a line feed. */
  readonly write: (text: string) => void;
  /** Writes a line to standard output. */
  readonly print: (line: string) => void;
  /** Writes a line to standard error. */
  readonly note: (line: string) => void;
}

export type Streams = Pick<NodeJS.Process, 'stdin' | 'stdout' | 'stderr'>;

export function createTerminal(env: Env, { stdin, stdout, stderr }: Streams = process): Terminal {
  const progress = createProgress(stderr);
  const writeTo =
    (stream: NodeJS.WriteStream) =>
    (text: string): void => {
      progress.hide();
      stream.write(text);
    };
  const write = writeTo(stdout);
  const note = writeTo(stderr);
  return {
    isLive: isTerminal(stdout),
    canAsk: isTerminal(stdin) && isTerminal(stderr),
    color: hasColor(stdout, env),
    noteColor: hasColor(stderr, env),
    progress,
    write,
    print: (line) => write(`${line}\n`),
    note: (line) => note(`${line}\n`),
  };
}

/** Survives a closed output, as with `lango … | head`: a command ends with success, a server keeps running. */
export function surviveClosedOutput(isServer: boolean): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (!isServer) process.exit(error.code === 'EPIPE' ? EXIT.ok : EXIT.failure);
  });
  process.stderr.on('error', () => {});
}

function hasColor(stream: NodeJS.WriteStream, { noColor, forceColor }: Env): boolean {
  return !noColor && (forceColor || (isTerminal(stream) && stream.hasColors()));
}

/** Node leaves `isTTY` undefined for a pipe, in spite of its type. */
function isTerminal({ isTTY }: { readonly isTTY?: boolean }): boolean {
  return isTTY === true;
}

/** What each command gets besides its flags. A command resolves with its exit code and throws what went wrong. */
export interface CommandContext {
  readonly env: Env;
  readonly terminal: Terminal;
}

/** Runs a command. Its module is imported inside, so that a start loads only what the command needs. */
export type Act = (command: (context: CommandContext) => Promise<number>) => Promise<void>;
