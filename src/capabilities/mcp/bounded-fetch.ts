import { setImmediate as nextTurn } from 'node:timers/promises';
import { LangoError } from '../../core/errors.js';
import { MessageBounds } from './process-transport.js';

const EVENT_STREAM = 'text/event-stream';
/** A message has about three lines, and the library may send a request for each message. */
const LINES_PER_SECOND = 500;

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
  const measured = new MessageBounds(LINES_PER_SECOND);
  return new TransformStream({
    async transform(chunk, controller) {
      if (!measured.admit(chunk))
        throw new LangoError('too-large', 'The MCP server sends messages that are too long or too many.');
      controller.enqueue(chunk);
      await nextTurn();
    },
  });
}
