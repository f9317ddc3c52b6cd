import type { ServerWritableStream } from '@grpc/grpc-js';
import { LangoError } from '../../../core/errors.js';
import type { StreamLimits } from '../stream-limits.js';
import { stallMs } from '../stream-limits.js';

type Out = ServerWritableStream<Buffer, Buffer>;

/** Writes a stream's events. While the reader is behind, the sender waits: the events are in the journal, so waiting costs no memory. */
export class EventWriter {
  readonly #call: Out;
  readonly #limits: StreamLimits;
  /** Bytes that the reader has not taken. */
  #waiting = 0;
  #onTaken = ignore;

  constructor(call: Out, limits: StreamLimits) {
    this.#call = call;
    this.#limits = limits;
  }

  /**
   * Resolves once there is room for the next event, or when the call is given up. Rejects with `too-many` for a reader that takes
   * nothing for too long: it can come back with its cursor.
   */
  async write(event: Buffer, signal: AbortSignal): Promise<void> {
    this.#waiting += event.length;
    this.#call.write(event, () => {
      this.#waiting -= event.length;
      this.#onTaken();
    });
    await this.#leaving(this.#limits.streamBufferBytes, signal);
  }

  /** Resolves once the reader has it all; else as `write` does. */
  flush(signal: AbortSignal): Promise<void> {
    return this.#leaving(0, signal);
  }

  async #leaving(bytes: number, signal: AbortSignal): Promise<void> {
    if (this.#waiting <= bytes || signal.aborted) return;
    await new Promise<void>((resolve, reject) => {
      const leave = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', leave);
        this.#onTaken = ignore;
        resolve();
      };
      const timer = setTimeout(() => {
        reject(tooSlow());
        leave();
      }, stallMs(this.#limits));
      this.#onTaken = () => void (this.#waiting <= bytes ? leave() : timer.refresh());
      signal.addEventListener('abort', leave);
    });
  }
}

function tooSlow(): LangoError {
  return new LangoError('too-many', 'the reader of this stream is too slow', {
    retryable: true,
    hint: 'Subscribe again with last-event-id to get what is missing.',
  });
}

function ignore(): void {}
