import { format } from 'node:util';
import type { Report, Terminal as CommandTerminal } from '../core/command.js';
import { EXIT } from './exit.js';
import { createPaint, type Paint } from './paint.js';
import { Progress } from './progress.js';
import { jsonLine, safeLine } from './safe-text.js';

/** The terminal of a command of the program itself. */
export interface Terminal extends CommandTerminal {
  readonly isLive: boolean; // Whether standard output is a terminal, so that output is shown as it arrives.
  readonly columns: number | undefined; // The width of standard output; undefined when it is no terminal.
  readonly paint: Paint;
  readonly notePaint: Paint; // Colors text for standard error.
  readonly progress: Progress;
  readonly write: (text: string) => void; // Writes text to standard output, without a line feed.
  readonly print: (line: string) => void; // Writes a line to standard output.
  readonly ring: () => void; // Calls the person to the terminal, if it is one.
}

const DEFAULT_COLUMNS = 80;

/** The name of this program before one of its commands. */
const PROGRAM = /(?<!npx )\blango (?=[a-z]{4,})/g;

export type TerminalEnv = Readonly<{ noColor: boolean; forceColor: boolean; isStartedByNpm: boolean }>;

export type Streams = Pick<NodeJS.Process, 'stdin' | 'stdout' | 'stderr'>;

export function createTerminal(env: TerminalEnv, { stdin, stdout, stderr }: Streams = process): Terminal {
  const progress = new Progress(stderr);
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
    columns: isTerminal(stdout) ? stdout.columns || DEFAULT_COLUMNS : undefined,
    canAsk: isTerminal(stdin) && isTerminal(stderr),
    paint: createPaint(hasColor(stdout, env)),
    notePaint: createPaint(hasColor(stderr, env)),
    progress,
    write,
    print: (line) => write(`${line}\n`),
    note: (line) => note(`${line}\n`),
    ring: () => void (isTerminal(stderr) && stderr.write('\u0007')),
    typed: (hint) => (env.isStartedByNpm ? hint.replace(PROGRAM, 'npx lango ') : hint),
  };
}

/** Survives a closed output, as with `lango … | head`: a command ends with success, a server keeps running. */
export function surviveClosedOutput(isServer: boolean): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (!isServer) process.exit(error.code === 'EPIPE' ? EXIT.ok : EXIT.failure);
  });
  process.stderr.on('error', () => {});
}

/** The most characters of a line that a library prints. */
const MAX_WARNING = 1_000;

/** Sends what libraries print to standard error, made safe for a terminal. Standard output is for results alone. */
export function tameConsole(): void {
  const print = (...words: readonly unknown[]): void =>
    void process.stderr.write(`${safeLine(format(...words), MAX_WARNING)}\n`);
  Object.assign(console, { debug: print, error: print, info: print, log: print, warn: print });
}

function hasColor(stream: NodeJS.WriteStream, { noColor, forceColor }: TerminalEnv): boolean {
  return !noColor && (forceColor || (isTerminal(stream) && stream.hasColors()));
}

/** Node leaves `isTTY` undefined for a pipe, in spite of its type. */
const isTerminal = ({ isTTY }: { readonly isTTY?: boolean }): boolean => isTTY === true;

export type { Report } from '../core/command.js';

/** A command resolves with its report, or with its exit code when it has printed everything itself. It throws what went wrong. */
export type Result = Report | number;

/** Prints the result of a command. Returns the exit code. */
export function printResult(result: Result, isJson: boolean, { print, note, typed }: Terminal): number {
  if (typeof result === 'number') return result;
  const { json, lines, notes = [], exitCode = EXIT.ok } = result;
  if (isJson) print(jsonLine(json));
  else {
    lines.forEach(print);
    notes.map(typed).forEach(note);
  }
  return exitCode;
}
