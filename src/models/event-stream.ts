import { ModelFailure } from './failure.js';

/** One server-sent event; `name` is empty when the server gave none. */
export type ServerEvent = Readonly<{ name: string; data: string }>;

/** Parsing a longer event would block the event loop, and no task can store an output of this size. */
const MAX_EVENT_CHARACTERS = 1024 * 1024;

/**
 * Reads server-sent events (WHATWG HTML section 9.2) from bytes that may be cut anywhere. A last event
 * without its empty line counts; a last line without its line break does not, since its rest may be missing.
 *
 * Replaces the readers of the SDKs, which drop the pings that show that a silent server is alive, fail on an unknown event
 * that is not JSON, and buffer lines of any length.
 */
export async function* readEvents(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<ServerEvent, void> {
  let name = '';
  let data: string[] = [];
  let size = 0;
  const lines = new LineCutter();
  for await (const chunk of chunks) {
    // The lines of a chunk cost no turns of their own: a chunk may hold thousands that are empty.
    for (const line of lines.take(chunk)) {
      if (line === '') {
        if (data.length > 0) yield { name, data: data.join('\n') };
        name = '';
        data = [];
        size = 0;
      } else {
        const [field, value] = fieldOf(line);
        if (field === 'event') name = value;
        if (field === 'data') data.push(value);
        size += line.length;
        assertNotTooLong(size);
      }
    }
  }
  if (data.length > 0) yield { name, data: data.join('\n') };
}

class LineCutter {
  readonly #decoder = new TextDecoder();
  /** The chunks of a line that has not ended. Only a new chunk is searched for the line break. */
  #begun: string[] = [];
  #size = 0;
  #isHalfBreak = false;

  /** Returns the lines that end in this chunk. Throws `bad-answer` when one is too long. */
  take(chunk: Uint8Array): readonly string[] {
    const text = this.#decoder.decode(chunk, { stream: true });
    if (text === '') return [];
    // A line feed at the start completes the carriage return at the end of the chunk before.
    const lines = text.slice(this.#isHalfBreak && text.startsWith('\n') ? 1 : 0).split(LINE_BREAK);
    this.#isHalfBreak = text.endsWith('\r');
    const rest = lines.pop()!;
    this.#size += (lines[0] ?? rest).length;
    assertNotTooLong(this.#size);
    if (lines.length === 0) {
      this.#begun.push(rest);
      return [];
    }
    lines[0] = this.#begun.join('') + lines[0]!;
    this.#begun = [rest];
    this.#size = rest.length;
    return lines;
  }
}

const LINE_BREAK = /\r\n|\n|\r/;

/** Throws `bad-answer` when an event is longer than the limit. */
export function assertNotTooLong(characters: number): void {
  if (characters > MAX_EVENT_CHARACTERS)
    throw new ModelFailure(
      'bad-answer',
      `The model server sent an event of more than ${MAX_EVENT_CHARACTERS} characters.`,
    );
}

function fieldOf(line: string): readonly [string, string] {
  const colon = line.indexOf(':');
  if (colon === -1) return [line, ''];
  return [line.slice(0, colon), line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)];
}
