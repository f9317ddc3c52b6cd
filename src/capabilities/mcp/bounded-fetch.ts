import { setImmediate as nextTurn } from 'node:timers/promises';
import { LangoError } from '../../core/errors.js';
import { MESSAGE_MAX_BYTES } from './process-transport.js';

const EVENT_STREAM = 'text/event-stream';
const LINE_FEED = 0x0a;
/** A message has about three lines, and the library may send a request for each message. */
const LINES_PER_SECOND = 500;
const SECOND_MS = 1_000;

/** Ends an event stream with messages that are too long or too many, because reading them would block the event loop. */
export function boundedFetch(egress: typeof fetch): typeof fetch {
  return async (input, init) => {
    const response = await egress(input, init);
    const isStream = response.headers.get('content-type')?.toLowerCase().startsWith(EVENT_STREAM);
    if (!response.body || !isStream) return response;
    return new Response(response.body.pipeThrough(bounds()), response);
  };
}

function bounds(): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  let bytes = 0;
  let lines = 0;
  let since = 0;
  return new TransformStream({
    async transform(chunk, controller) {
      if (Date.now() - since > SECOND_MS) {
        since = Date.now();
        lines = 0;
      }
      for (let at = chunk.indexOf(LINE_FEED); at !== -1; at = chunk.indexOf(LINE_FEED, at + 1)) lines += 1;
      const last = chunk.lastIndexOf(LINE_FEED);
      bytes = last === -1 ? bytes + chunk.length : chunk.length - last;
      if (bytes > MESSAGE_MAX_BYTES || lines > LINES_PER_SECOND)
        throw new LangoError('too-large', 'The MCP server sends messages that are too long or too many.');
      controller.enqueue(chunk);
      await nextTurn();
    },
  });
}
