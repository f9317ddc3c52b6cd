import { createInterface } from 'node:readline';
import { LangoError } from '../core/errors.js';
import { nothingChanged } from './exit.js';

/** Lines that somebody types or pipes in. */
export interface LineReader {
  /** The next line; undefined when there is none any more, or when the person leaves. */
  next(prompt: string): Promise<string | undefined>;
  close(): void;
}

const HISTORY_LINES = 200;

/** A person's lines, with a history; the terminal is free for others between two of them. */
export function terminalLines(): LineReader {
  let history: string[] = [];
  return {
    async next(prompt) {
      const lines = createInterface({
        input: process.stdin,
        output: process.stderr,
        history: [...history],
        historySize: HISTORY_LINES,
      });
      lines.on('history', (newer) => {
        history = newer;
      });
      const line = await new Promise<string | undefined>((resolve) => {
        lines.once('close', () => resolve(undefined));
        lines.once('SIGINT', () => lines.close());
        lines.question(prompt, resolve);
      });
      lines.close();
      return line;
    },
    close() {},
  };
}

/** Lines from a pipe or a file. */
export function pipedLines(): LineReader {
  const lines = createInterface({ input: process.stdin, crlfDelay: Infinity });
  const iterator = lines[Symbol.asyncIterator]();
  return {
    async next() {
      const { done, value } = await iterator.next();
      return done === true ? undefined : value;
    },
    close: () => lines.close(),
  };
}

const MAX_BYTES = 64 * 1024;

/** Asks on the terminal, without echo. */
export async function askHidden(message: string): Promise<string> {
  const { isCancel, password } = await import('@clack/prompts');
  const value = await password({ message, output: process.stderr });
  if (!isCancel(value)) return value;
  throw nothingChanged();
}

/** All of standard input; the line break at its end is the pipe's. */
export async function readPiped(): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BYTES)
      throw new LangoError('too-large', `Standard input holds more than ${MAX_BYTES} bytes.`);
    chunks.push(chunk);
  }
  if (size === 0) {
    throw new LangoError('invalid-input', 'Nothing came on standard input.', {
      hint: 'Give the value there, as in "< FILE", or run the command on a terminal, which asks for it.',
    });
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.concat(chunks));
    return text.replace(/\r?\n$/, '');
  } catch (cause) {
    throw new LangoError('invalid-input', 'Standard input is not UTF-8 text.', { cause });
  }
}
