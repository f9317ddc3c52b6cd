import type { Env } from '../config/env.js';
import { EXIT } from './exit.js';
import type { Progress } from './progress.js';
import { createProgress } from './progress.js';

/** Where a command writes: results to standard output, everything about them to standard error. */
export interface Terminal {
  /** Somebody looks at the output as it comes. */
  readonly isLive: boolean;
  /** Somebody is there who can be asked. */
  readonly canAsk: boolean;
  /** Colors on the output, and on standard error. */
  readonly color: boolean;
  readonly noteColor: boolean;
  readonly progress: Progress;
  /** To standard output, as it is. */
  readonly write: (text: string) => void;
  /** A line to standard output. */
  readonly print: (line: string) => void;
  /** A line to standard error. */
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

/** A reader of the output that goes away, such as `head`, is no failure; a server goes on without it. */
export function outlastReaders(isServer: boolean): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (!isServer) process.exit(error.code === 'EPIPE' ? EXIT.ok : EXIT.failure);
  });
  process.stderr.on('error', () => {});
}

function hasColor(stream: NodeJS.WriteStream, { noColor, forceColor }: Env): boolean {
  return !noColor && (forceColor || (isTerminal(stream) && stream.hasColors()));
}

/** Of a pipe Node leaves `isTTY` undefined, in spite of its type. */
function isTerminal({ isTTY }: { readonly isTTY?: boolean }): boolean {
  return isTTY === true;
}

/** What every command is given besides its flags; it resolves with the exit code, and throws what went wrong. */
export interface CommandContext {
  readonly env: Env;
  readonly terminal: Terminal;
}

/** Runs a command: loads what it needs, and only that. */
export type Act = (command: (context: CommandContext) => Promise<number>) => Promise<void>;
