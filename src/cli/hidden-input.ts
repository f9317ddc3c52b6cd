import { LangoError } from '../core/errors.js';
import { nothingChanged } from './exit.js';

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
