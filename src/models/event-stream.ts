import { ModelFailure } from './failure.js';

/** One server-sent event; `name` is empty when the server gave none. */
export interface ServerEvent {
  readonly name: string;
  readonly data: string;
}

const LONGEST_EVENT_CHARACTERS = 8 * 1024 * 1024;

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
  for await (const line of readLines(chunks)) {
    if (line === '') {
      if (data.length > 0) yield { name, data: data.join('\n') };
      name = '';
      data = [];
    } else {
      const [field, value] = fieldOf(line);
      if (field === 'event') name = value;
      if (field === 'data') data.push(value);
    }
  }
  if (data.length > 0) yield { name, data: data.join('\n') };
}

async function* readLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of chunks) {
    rest += decoder.decode(chunk, { stream: true });
    // A carriage return at the end of a chunk may be the first half of a line break.
    const lines = rest.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? '';
    if (rest.length > LONGEST_EVENT_CHARACTERS) {
      throw new ModelFailure('bad-answer', 'The model server sent an event that is far too long.');
    }
    yield* lines;
  }
}

function fieldOf(line: string): readonly [string, string] {
  const colon = line.indexOf(':');
  if (colon === -1) return [line, ''];
  return [line.slice(0, colon), line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)];
}
