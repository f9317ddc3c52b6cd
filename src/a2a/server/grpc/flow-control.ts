import type { ServerUnaryCall, ServerWritableStream } from '@grpc/grpc-js';
import { LangoError } from '../../../core/errors.js';
import { stallMs, type StreamLimits } from '../stream-slots.js';

type Out = ServerWritableStream<Buffer, Buffer>;

/** Writes the events of a stream. While the reader is behind, the sender waits; the events are in the journal, so waiting costs no memory. */
export class EventWriter {
  readonly #call: Out;
  readonly #limits: StreamLimits;
  /** Bytes that the reader has not read. */
  #unread = 0;
  #onRead = ignore;

  constructor(call: Out, limits: StreamLimits) {
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
      this.#onRead();
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
        this.#onRead = ignore;
        resolve();
      };
      const timer = setTimeout(() => {
        reject(tooSlow());
        leave();
      }, stallMs(this.#limits));
      this.#onRead = () => void (this.#unread <= bytes ? leave() : timer.refresh());
      signal.addEventListener('abort', leave);
    });
  }
}

function tooSlow(): LangoError {
  return new LangoError('too-many', 'The reader of this stream is too slow.', {
    retryable: true,
    hint: 'Subscribe again with last-event-id to get the missing events.',
  });
}

function ignore(): void {}

type AnsweredCall = Pick<ServerUnaryCall<unknown, unknown>, 'getPeer' | 'cancelled'> & {
  once(event: 'cancelled', listener: () => void): unknown;
};

/** Limits the answers that clients have not read, per connection: the library itself buffers without a bound. */
export class UnreadAnswers {
  readonly #maxBytes: number;
  readonly #bytesOf = new Map<string, number>();

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Counts an answer until its call is over. Throws `too-many` over the limit, but never for a connection's only answer. */
  add(call: AnsweredCall, bytes: number): void {
    if (call.cancelled) return;
    const connection = call.getPeer();
    const held = this.#bytesOf.get(connection) ?? 0;
    if (held > 0 && held + bytes > this.#maxBytes) throw tooMany();
    this.#bytesOf.set(connection, held + bytes);
    // The library emits this at the end of every call, also of a completed one.
    call.once('cancelled', () => this.#remove(connection, bytes));
  }

  #remove(connection: string, bytes: number): void {
    const left = (this.#bytesOf.get(connection) ?? bytes) - bytes;
    if (left === 0) this.#bytesOf.delete(connection);
    else this.#bytesOf.set(connection, left);
  }
}

function tooMany(): LangoError {
  return new LangoError('too-many', 'Too many answers on this connection are unread.', {
    retryable: true,
    hint: 'Read the answers that have arrived, then try again.',
  });
}
