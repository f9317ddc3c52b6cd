import { createInterface } from 'node:readline';
import { Transform } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { LangoError } from '../core/errors.js';
import { nothingChanged } from './exit.js';

const HISTORY_LINES = 200;

/** One message that a person typed. */
export interface TypedLine {
  /** With the line breaks of what was pasted. */
  readonly text: string;
  /** The texts that were pasted into it, each whole. A terminal pastes the path of a file that is dropped on it. */
  readonly pasted: readonly string[];
}

/** Reads lines that a person types until Ctrl-C or Ctrl-D, with a history. A paste of several lines is part of one line. */
export async function* terminalLines(prompt: string): AsyncGenerator<TypedLine, void, undefined> {
  let history: string[] = [];
  for (;;) {
    const pastes = new PasteReader();
    const lines = createInterface({
      input: process.stdin.pipe(pastes),
      output: process.stderr,
      terminal: true,
      history: [...history],
      historySize: HISTORY_LINES,
    });
    lines.on('history', (newer) => {
      history = newer;
    });
    process.stderr.write(PASTES_MARKED);
    const line = await new Promise<string | undefined>((resolve) => {
      lines.once('close', () => resolve(undefined));
      lines.once('SIGINT', () => lines.close());
      lines.question(prompt, resolve);
    });
    lines.close();
    process.stdin.unpipe(pastes).pause();
    process.stderr.write(PASTES_PLAIN);
    if (line === undefined) return;
    yield { text: line.replaceAll(LINE_BREAK_MARK, '\n'), pasted: pastes.pasted };
  }
}

/** Asks the terminal to put marks around what is pasted (xterm's bracketed paste mode), and to stop doing so. */
const PASTES_MARKED = '\u001b[?2004h';
const PASTES_PLAIN = '\u001b[?2004l';
const PASTE_BEGINS = '\u001b[200~';
const PASTE_ENDS = '\u001b[201~';
/** Stands for a line break in the line that is edited. */
const LINE_BREAK_MARK = '⏎';
/** Control characters that would edit the line, were they typed. */
// eslint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u0008\u000a-\u001f\u007f]/g;

/** Passes on what the terminal sends. A paste goes on without its marks, as text of one line. */
class PasteReader extends Transform {
  readonly pasted: string[] = [];
  readonly #decoder = new StringDecoder('utf8');
  /** The text so far of an open paste, or of a mark that is not complete yet. */
  #held = '';
  #isInPaste = false;

  /** Called by readline. */
  setRawMode(isRaw: boolean): void {
    process.stdin.setRawMode(isRaw);
  }

  override _transform(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#held += this.#decoder.write(chunk);
    for (;;) {
      const mark = this.#isInPaste ? PASTE_ENDS : PASTE_BEGINS;
      const at = this.#held.indexOf(mark);
      if (at === -1) break;
      const before = this.#held.slice(0, at);
      this.#held = this.#held.slice(at + mark.length);
      this.push(this.#isInPaste ? this.#asOneLine(before) : before);
      this.#isInPaste = !this.#isInPaste;
    }
    if (!this.#isInPaste) this.#passOn();
    done();
  }

  #asOneLine(paste: string): string {
    this.pasted.push(paste);
    return paste.replace(/\r\n?|\n/g, LINE_BREAK_MARK).replace(CONTROLS, '');
  }

  /** Passes on all but a beginning of a mark at the end. An escape character alone is a key that a person pressed. */
  #passOn(): void {
    const cut = this.#held.lastIndexOf('\u001b[');
    const isMark = cut !== -1 && PASTE_BEGINS.startsWith(this.#held.slice(cut));
    this.push(isMark ? this.#held.slice(0, cut) : this.#held);
    this.#held = isMark ? this.#held.slice(cut) : '';
  }
}

export async function* pipedLines(): AsyncGenerator<TypedLine, void, undefined> {
  for await (const text of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    yield { text, pasted: [] };
  }
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

/** Asks on the terminal, without echo, or reads standard input to its end where it is no terminal. */
export async function readHidden(title: string): Promise<string> {
  return process.stdin.isTTY ? askHidden(title) : readPiped();
}
