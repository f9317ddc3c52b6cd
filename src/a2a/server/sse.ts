import type { ServerResponse } from 'node:http';
import type { StreamLimits } from './stream-limits.js';
import { stallMs } from './stream-limits.js';

/**
 * A stream of server-sent events. What is sent in one turn of the event loop leaves in one write. While the
 * reader is behind, `send` makes the sender wait; the events are in the journal, so waiting costs no memory.
 */
export class EventStream {
  readonly #response: ServerResponse;
  readonly #bufferBytes: number;
  readonly #stallMs: number;
  readonly #heartbeat: NodeJS.Timeout;
  #pending = '';
  #soon: NodeJS.Immediate | undefined;
  #isQuiet = true;

  /** The head leaves with the first event, or in this turn of the event loop when there is none yet. */
  constructor(response: ServerResponse, options: EventStreamOptions) {
    const heartbeatMs = options.limits.heartbeatSeconds * 1_000;
    this.#response = response;
    this.#bufferBytes = options.limits.streamBufferBytes;
    this.#stallMs = stallMs(options.limits);
    this.#heartbeat = setInterval(() => this.#beat(), heartbeatMs).unref();
    response.writeHead(200, {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-store',
      'X-Accel-Buffering': 'no',
      'X-Content-Type-Options': 'nosniff',
      ...options.headers,
    });
    this.#soon = setImmediate(() => this.#flush());
  }

  /** The promise, when there is one, is to be awaited before more is sent; it never rejects. */
  send(text: string): Promise<void> | undefined {
    this.#pending += text;
    this.#soon ??= setImmediate(() => this.#flush());
    return this.#pending.length + this.#response.writableLength > this.#bufferBytes
      ? this.#drained()
      : undefined;
  }

  /** Sends what is left and ends the stream. Resolves once the reader has it all or was cut; never rejects. */
  async close(): Promise<void> {
    clearInterval(this.#heartbeat);
    clearImmediate(this.#soon);
    if (this.#response.destroyed) return;
    this.#response.end(this.#pending);
    if (this.#response.writableLength > 0) await this.#readerTakes('finish');
  }

  #flush(): void {
    clearImmediate(this.#soon);
    this.#soon = undefined;
    const text = this.#pending;
    this.#pending = '';
    this.#isQuiet = false;
    if (this.#response.destroyed) return;
    if (text === '') this.#response.flushHeaders();
    else this.#response.write(text);
  }

  async #drained(): Promise<void> {
    this.#flush();
    if (this.#response.writableLength > this.#bufferBytes) await this.#readerTakes('drain');
  }

  async #readerTakes(event: 'drain' | 'finish'): Promise<void> {
    const response = this.#response;
    await new Promise<void>((resolve) => {
      // Cut, not ended: what lies in the buffer would hold it open. The reader comes back with its cursor.
      const timer = setTimeout(() => response.destroy(), this.#stallMs);
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
    if (this.#isQuiet && !this.#response.destroyed && this.#response.writableLength === 0)
      this.#response.write(':\n\n');
    this.#isQuiet = true;
  }
}

export interface EventStreamOptions {
  readonly limits: StreamLimits;
  readonly headers: Readonly<Record<string, string>>;
}
