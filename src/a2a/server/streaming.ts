import type { StreamResponse } from '@a2a-js/sdk';
import type { HttpExchange } from '../../core/http.js';
import { seqIn } from '../translate/extensions.js';
import { EventStream } from './sse.js';
import type { StreamLimits } from './stream-limits.js';
import { StreamPlaces } from './stream-places.js';

/** How a binding writes one event, and an error after the first event. */
export interface Framing {
  event(event: StreamResponse): string;
  error(error: unknown): string;
}

/** Until then an error is answered with its own status; a stream that has nothing to say yet opens all the same. */
const OPEN_AFTER_MS = 200;
/** A comment: clients that know nothing of it skip it. The ids of the events are the cursor. */
const GOODBYE = 'retry: 2000\n: the server is stopping; subscribe again with Last-Event-ID to go on\n\n';

/** Answers calls with event streams, so many at the same time. */
export class Streaming {
  readonly #limits: StreamLimits;
  readonly #places: StreamPlaces;

  constructor(limits: StreamLimits, places: StreamPlaces = new StreamPlaces(limits)) {
    this.#limits = limits;
    this.#places = places;
  }

  /**
   * Asks for the events once there is a free place and sends them until they end. Throws `too-many`, and
   * what `events` throws before the stream was opened; later errors are told inside it.
   */
  async answer(exchange: HttpExchange, call: StreamCall): Promise<void> {
    await this.#places.hold(await exchange.caller(), () => this.#pump(exchange, call));
  }

  async #pump({ response, closing }: HttpExchange, { events, framing, headers }: StreamCall): Promise<void> {
    const iterator = events()[Symbol.asyncIterator]();
    let next = iterator.next();
    await Promise.race([next, delay(OPEN_AFTER_MS)]);
    const stream = new EventStream(response, { limits: this.#limits, headers });
    try {
      for (let item = await next; item.done !== true && !response.destroyed; item = await next) {
        const waiting = stream.send(frame(item.value, framing));
        if (waiting) await waiting;
        next = iterator.next();
      }
    } catch (error) {
      void stream.send(`event: error\ndata: ${framing.error(error)}\n\n`);
    } finally {
      if (closing.aborted) void stream.send(GOODBYE);
      await iterator.return?.();
      await stream.close();
    }
  }
}

export interface StreamCall {
  readonly events: () => AsyncIterable<StreamResponse>;
  readonly framing: Framing;
  readonly headers: Readonly<Record<string, string>>;
}

function frame(event: StreamResponse, framing: Framing): string {
  const payload = event.payload;
  const seq = payload && seqIn(payload.value.metadata);
  const id = seq === undefined ? '' : `id: ${seq}\n`;
  return `${id}data: ${framing.event(event)}\n\n`;
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms).unref());
}
