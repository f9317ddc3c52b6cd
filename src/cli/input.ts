import { createInterface } from 'node:readline';
import { LangoError } from '../core/errors.js';
import { nothingChanged } from './exit.js';

const HISTORY_LINES = 200;

/**
 * Reads lines that a person types, with a history, until Ctrl-C or Ctrl-D. Between two lines the terminal is free for
 * other output.
 */
export async function* terminalLines(prompt: string): AsyncGenerator<string, void, undefined> {
  let history: string[] = [];
  for (;;) {
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
    if (line === undefined) return;
    yield line;
  }
}

/** Reads lines from a pipe or a file. */
export function pipedLines(): AsyncIterable<string> {
  return createInterface({ input: process.stdin, crlfDelay: Infinity });
}

const MAX_BYTES = 64 * 1024;

/** Asks on the terminal, without echo. Rejects when the person leaves the prompt. */
export async function askHidden(message: string): Promise<string> {
  const { isCancel, password } = await import('@clack/prompts');
  const value = await password({ message, output: process.stderr });
  if (!isCancel(value)) return value;
  throw nothingChanged();
}

/** Reads standard input to its end. The line break at its end is dropped. */
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
