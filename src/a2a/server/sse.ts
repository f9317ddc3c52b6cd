import type { ServerResponse } from 'node:http';
import { StreamResponse } from '@a2a-js/sdk';
import type { HttpExchange } from '../../core/http.js';
import { onOneLine, type JsonObject } from '../../core/json.js';
import type { Scope } from '../../core/task.js';
import { waitAtMost } from '../../core/time.js';
import type { NumberedResponse } from '../translate/events.js';
import { jsonWithGenerations } from '../translate/generation.js';
import { seqIn } from '../translate/extensions.js';
import { stallMs, type StreamLimits, type StreamSlots } from './stream-slots.js';

/** The form in which a binding writes one event, and an error after the first event. */
export interface Framing {
  event(event: JsonObject): string;
  error(error: unknown): string;
}

/** Milliseconds that a stream waits for its first event. Until then an error gets its own HTTP status. */
const OPEN_AFTER_MS = 200;
/** A comment, which clients skip. The ids of the events are the cursor. */
const GOODBYE = 'retry: 2000\n: the server is stopping; subscribe again with Last-Event-ID to go on\n\n';

const LAST_CHUNK = '0\r\n\r\n';

/** The limits of event streams on this node. */
export interface Streaming {
  readonly limits: StreamLimits;
  /** Shared by all transports. */
  readonly slots: StreamSlots;
}

/**
 * Takes a slot, asks for the events, and resolves once the stream is open; from then on it sends the events until they
 * end. Rejects with `too-many`, and with what `events` throws before; later errors become an event of the stream.
 */
export async function sendStream(exchange: HttpExchange, { limits, slots }: Streaming, call: StreamCall) {
  const slot = slots.take(call.scope);
  try {
    const events = call.events()[Symbol.asyncIterator]();
    const first = events.next();
    await waitAtMost(OPEN_AFTER_MS, first, { ref: false });
    const { framing, headers } = call;
    const stream = new EventStream(exchange, headers, { events, framing, slot, limits });
    exchange.answered();
    stream.pump(first);
  } catch (error) {
    slot[Symbol.dispose]();
    throw error;
  }
}

interface StreamCall {
  /** The caller, whose streams are counted. */
  readonly scope: Scope;
  readonly events: () => AsyncIterable<StreamResponse>;
  readonly framing: Framing;
  readonly headers: Readonly<Record<string, string>>;
}

interface Pumped {
  readonly framing: Framing;
  readonly events: AsyncIterator<StreamResponse>;
  /** Disposed of when the stream has ended. */
  readonly slot: Disposable;
  readonly limits: StreamLimits;
}

function frame(event: NumberedResponse, framing: Framing): string {
  // The handler's events have their number also for clients that did not ask for the cursor extension; live text has none.
  const seq = 'seq' in event ? event.seq : event.payload && seqIn(event.payload.value.metadata);
  const id = seq === undefined ? '' : `id: ${seq}\n`;
  return `${id}data: ${framing.event(jsonWithGenerations(StreamResponse.toJSON(event), event) as JsonObject)}\n\n`;
}

/**
 * A stream of server-sent events. Events of one turn of the event loop leave in one write. While the reader is behind,
 * `send` makes the sender wait; the events are in the journal, so waiting costs no memory.
 */
class EventStream {
  readonly #response: ServerResponse;
  readonly #closing: AbortSignal;
  readonly #pumped: Pumped;
  readonly #heartbeat: NodeJS.Timeout;
  #pending = '';
  #flushSoon: NodeJS.Immediate | undefined;
  #isIdle = true;
  /** Whether the chunks of the body are made here: node:http writes each one in four pieces. */
  readonly #isChunked: boolean;

  /** The headers leave with the first event, or at the end of this turn of the event loop. */
  constructor({ response, closing }: HttpExchange, headers: StreamCall['headers'], pumped: Pumped) {
    this.#response = response;
    this.#closing = closing;
    this.#pumped = pumped;
    const heartbeatMs = pumped.limits.heartbeatSeconds * 1_000;
    this.#heartbeat = setInterval(() => this.#beat(), heartbeatMs).unref();
    response.writeHead(200, {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-store',
      'X-Accel-Buffering': 'no',
      ...headers,
    });
    // Not where the app that mounts this server replaced the method, say to compress responses.
    this.#isChunked = response.chunkedEncoding && !Object.hasOwn(response, 'write');
    if (this.#isChunked) response.chunkedEncoding = false;
    this.#flushSoon = setImmediate(() => this.#begin());
  }

  /** Sends the event once it is there, and all later ones. */
  pump(next: Promise<IteratorResult<StreamResponse>>): void {
    next.then(this.#take, this.#fail);
  }

  // No member holds an event, which may be a whole task: the stream may wait for hours.
  readonly #take = ({ value, done }: IteratorResult<StreamResponse>): void => {
    if (done === true || this.#response.destroyed) return void this.#end();
    try {
      const waiting = this.#send(frame(value, this.#pumped.framing));
      if (waiting) void waiting.then(() => this.#next());
      else this.#next();
    } catch (error) {
      this.#fail(error);
    }
  };

  #next(): void {
    this.pump(this.#pumped.events.next());
  }

  readonly #fail = (error: unknown): void => {
    void this.#send(`event: error\ndata: ${this.#pumped.framing.error(error)}\n\n`);
    void this.#end();
  };

  /** Sends the rest and ends the stream. Resolves once the reader has taken it or was cut. */
  async #end(): Promise<void> {
    if (this.#closing.aborted) void this.#send(GOODBYE);
    try {
      await this.#pumped.events.return?.();
      clearInterval(this.#heartbeat);
      clearImmediate(this.#flushSoon);
      if (this.#response.destroyed) return;
      this.#response.end(this.#chunk(this.#pending) + (this.#isChunked ? LAST_CHUNK : ''));
      if (this.#response.writableLength > 0) await this.#readerTakes('finish');
    } finally {
      this.#pumped.slot[Symbol.dispose]();
    }
  }

  /** Await the promise, when there is one, before the next call; it never rejects. */
  #send(text: string): Promise<void> | undefined {
    this.#pending += onOneLine(text);
    this.#flushSoon ??= setImmediate(() => this.#flush());
    return this.#pending.length + this.#response.writableLength > this.#pumped.limits.streamBufferBytes
      ? this.#drained()
      : undefined;
  }

  /** node:http holds headers that leave in one text with the body in 50 pieces, for as long as the stream lasts. */
  #begin(): void {
    const { socket } = this.#response;
    socket?.cork();
    if (!this.#response.destroyed) this.#response.flushHeaders();
    this.#flush();
    socket?.uncork();
  }

  #flush(): void {
    clearImmediate(this.#flushSoon);
    this.#flushSoon = undefined;
    const text = this.#pending;
    this.#pending = '';
    this.#isIdle = false;
    if (this.#response.destroyed) return;
    if (text !== '') this.#response.write(this.#chunk(text));
  }

  #chunk(text: string): string {
    if (!this.#isChunked || text === '') return text;
    return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
  }

  async #drained(): Promise<void> {
    this.#flush();
    const most = this.#pumped.limits.streamBufferBytes;
    if (this.#response.writableLength > most) await this.#readerTakes('drain');
  }

  async #readerTakes(event: 'drain' | 'finish'): Promise<void> {
    const response = this.#response;
    await new Promise<void>((resolve) => {
      // Destroyed, since the unread buffer would keep an ended response open. The reader can resume by its cursor.
      const timer = setTimeout(() => response.destroy(), stallMs(this.#pumped.limits));
      const leave = (): void => {
        clearTimeout(timer);
        response.off(event, leave).off('close', leave);
        resolve();
      };
      response.on(event, leave).on('close', leave);
      if (response.destroyed) leave();
    });
  }

  #beat(): void {
    if (this.#isIdle && !this.#response.destroyed && this.#response.writableLength === 0)
      this.#response.write(this.#chunk(':\n\n'));
    this.#isIdle = true;
  }
}
