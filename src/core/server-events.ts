import { createParser } from 'eventsource-parser';

/** One server-sent event; `name` is empty when the server gave none. */
export type ServerEvent = Readonly<{ name: string; data: string }>;

/** The most characters of an event, and the error for a longer one. */
export type EventLimit = Readonly<{ characters: number; exceeded: () => Error }>;

/**
 * Reads server-sent events (WHATWG HTML section 9.2) from bytes that may be cut anywhere. A last event without its empty
 * line counts, unless a line is cut: its rest may be missing. Default of `limit`: none.
 *
 * Replaces the readers of the SDKs, which drop the pings that show that a silent server is alive, fail on an unknown event
 * that is not JSON, and buffer lines of any length.
 */
export async function* readEvents(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  limit?: EventLimit,
): AsyncGenerator<ServerEvent, void> {
  const events: ServerEvent[] = [];
  const parser = createParser({
    onEvent: ({ event: name = '', data }) => events.push({ name, data }),
    maxBufferSize: limit?.characters,
    onError({ type }) {
      if (type === 'max-buffer-size-exceeded') throw limit!.exceeded();
    },
  });
  const decoder = new TextDecoder();
  let isCut = false;
  for await (const chunk of chunks) {
    const text = decoder.decode(chunk, { stream: true });
    if (text === '') continue;
    parser.feed(text);
    isCut = !/[\r\n]$/.test(text);
    yield* events.splice(0);
  }
  if (!isCut) parser.feed('\n\n');
  yield* events;
}
