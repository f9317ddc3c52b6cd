import type { ServerUnaryCall, ServerWritableStream } from '@grpc/grpc-js';
import { LangoError } from '../../../core/errors.js';
import { CountByKey, stallMs, type StreamLimits } from '../stream-slots.js';

export type UnaryCall = ServerUnaryCall<Buffer, Buffer>;
export type StreamCall = ServerWritableStream<Buffer, Buffer>;

/** Writes the events of a stream. While the reader is behind, the sender waits; the events are in the journal, so waiting costs no memory. */
export class EventWriter {
  readonly #call: StreamCall;
  readonly #limits: StreamLimits;
  /** Bytes that the reader has not read. */
  #unread = 0;
  #onRead: (() => void) | undefined;

  constructor(call: StreamCall, limits: StreamLimits) {
    this.#call = call;
    this.#limits = limits;
  }

  /**
   * Resolves once there is room for the next event, or when the call is abandoned. Rejects with `too-many` for a reader
   * that reads nothing for too long; it can resume by its cursor.
   */
  async write(event: Buffer, signal: AbortSignal): Promise<void> {
    this.#unread += event.length;
    this.#call.write(event, () => {
      this.#unread -= event.length;
      this.#onRead?.();
    });
    await this.#untilUnread(this.#limits.streamBufferBytes, signal);
  }

  /** Resolves once the reader has read everything; otherwise like `write`. */
  flush(signal: AbortSignal): Promise<void> {
    return this.#untilUnread(0, signal);
  }

  async #untilUnread(bytes: number, signal: AbortSignal): Promise<void> {
    if (this.#unread <= bytes || signal.aborted) return;
    await new Promise<void>((resolve, reject) => {
      const leave = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', leave);
        this.#onRead = undefined;
        resolve();
      };
      const timer = setTimeout(() => {
        const hint = 'Subscribe again with last-event-id to get the missing events.';
        reject(tooMany('The reader of this stream is too slow.', hint));
        leave();
      }, stallMs(this.#limits));
      this.#onRead = () => void (this.#unread <= bytes ? leave() : timer.refresh());
      signal.addEventListener('abort', leave);
    });
  }
}

function tooMany(message: string, hint: string): LangoError {
  return new LangoError('too-many', message, { retryable: true, hint });
}

/** Limits the responses that clients have not read, per connection: the library itself buffers without a bound. */
export class UnreadResponses {
  readonly #maxBytes: number;
  readonly #bytesOf = new CountByKey();

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Counts a response until its call is over. Throws `too-many` over the limit, but never for a connection's only one. */
  add(call: UnaryCall, bytes: number): void {
    if (call.cancelled) return;
    const connection = call.getPeer();
    const unread = this.#bytesOf.get(connection);
    if (unread > 0 && unread + bytes > this.#maxBytes)
      throw tooMany(
        'Too many responses on this connection are unread.',
        'Read the responses that have arrived, then try again.',
      );
    this.#bytesOf.add(connection, bytes);
    // The library emits this at the end of every call, also of a completed one.
    call.once('cancelled', () => this.#bytesOf.add(connection, -bytes));
  }
}
