/** One server-sent event; `name` is empty when the server gave none. */
export type ServerEvent = Readonly<{ name: string; data: string }>;

const LINE_BREAK = /\r\n|\n|\r/;

/**
 * Reads server-sent events (WHATWG HTML section 9.2) from bytes that may be cut anywhere. A last event
 * without its empty line counts; a last line without its line break does not, since its rest may be missing.
 * `assertSize` is called with the characters of the event so far, and throws when they are too many.
 *
 * Replaces the readers of the SDKs, which drop the pings that show that a silent server is alive, fail on an unknown event
 * that is not JSON, and buffer lines of any length.
 */
export async function* readEvents(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  assertSize: (characters: number) => void = () => undefined,
): AsyncGenerator<ServerEvent, void> {
  const decoder = new TextDecoder();
  let begun = '';
  let isHalfBreak = false;
  let name = '';
  let data: string[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    const text = decoder.decode(chunk, { stream: true });
    if (text === '') continue;
    // A line feed at the start completes the carriage return at the end of the chunk before.
    begun += isHalfBreak && text.startsWith('\n') ? text.slice(1) : text;
    isHalfBreak = text.endsWith('\r');
    // A long line in small chunks is not searched again with each of them.
    const lines = LINE_BREAK.test(text) ? begun.split(LINE_BREAK) : [begun];
    begun = lines.pop()!;
    // The lines of a chunk cost no turns of their own: a chunk may hold thousands that are empty.
    for (const line of lines) {
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
        assertSize(size);
      }
    }
    assertSize(begun.length);
  }
  if (data.length > 0) yield { name, data: data.join('\n') };
}

function fieldOf(line: string): readonly [string, string] {
  const colon = line.indexOf(':');
  if (colon === -1) return [line, ''];
  return [line.slice(0, colon), line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)];
}
