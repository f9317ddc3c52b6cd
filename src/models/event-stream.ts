import { ModelFailure } from './failure.js';

/** One server-sent event; `name` is empty when the server gave none. */
export interface ServerEvent {
  readonly name: string;
  readonly data: string;
}

/** Parsing a longer event would block the event loop, and no task can store an answer of this size. */
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
  for await (const line of readLines(chunks)) {
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
  if (data.length > 0) yield { name, data: data.join('\n') };
}

async function* readLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  // The chunks of a line that has not ended. Only a new chunk is searched for the line break.
  let begun: string[] = [];
  let size = 0;
  let isHalfBreak = false;
  for await (const chunk of chunks) {
    const text = decoder.decode(chunk, { stream: true });
    if (text === '') continue;
    // A line feed at the start completes the carriage return at the end of the chunk before.
    const [first = '', ...others] = text
      .slice(isHalfBreak && text.startsWith('\n') ? 1 : 0)
      .split(LINE_BREAK);
    isHalfBreak = text.endsWith('\r');
    begun.push(first);
    size += first.length;
    assertNotTooLong(size);
    for (const next of others) {
      yield begun.join('');
      begun = [next];
      size = next.length;
    }
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
