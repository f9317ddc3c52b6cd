import { AsyncLocalStorage } from 'node:async_hooks';
import { Timer } from '../../core/time.js';
import { AFTER_WHOLE_MS, mostBytes, tooMuch, type Exchange } from '../exchange.js';
import { ModelFailure } from '../failure.js';

/** A model call, in whose course its package sends requests. */
export interface WatchedCall extends Pick<Exchange, 'endpoint' | 'maxTokens'> {
  /** Called for each chunk of a response: pings too show that the server is alive. */
  onBytes(): void;
  /** The media type of the last response. */
  mediaType?: string;
}

const calls = new AsyncLocalStorage<WatchedCall>();

/** Runs a step of a model call, so that the requests in its course belong to it. */
export function inCall<Result>(call: WatchedCall, step: () => Result): Result {
  return calls.run(call, step);
}

/** Makes the `fetch` for a package: it follows no redirects, limits the size of responses, and ends those that are whole. */
export function watchedFetch(given: typeof fetch): typeof fetch {
  return async (input, init) => {
    // A redirect would carry the conversation and the key to another host.
    const response = await given(input, { ...init, redirect: 'manual' });
    const call = calls.getStore();
    if (!call || !response.ok || !response.body) return response;
    call.mediaType = (response.headers.get('content-type') ?? '').split(';', 1)[0]!.trim().toLowerCase();
    if (call.mediaType === 'text/html') {
      const text = `${call.endpoint.place} responds with text/html, not with an event stream. Check model.baseUrl.`;
      throw new ModelFailure('bad-answer', text);
    }
    const { status, headers } = response;
    return new Response(watchedBody(response.body, call), { status, headers: [...headers] });
  };
}

/** The marks of a stream's last events in the formats of vendors: packages report the end only once the stream has ended. */
const LAST =
  /\[DONE\]|"(finish_reason|finishReason|stopReason)":\s*"[^"]|"type":\s*"(message_stop|response\.(completed|incomplete|failed))"/;
/** More than the longest mark. */
const TAIL_CHARACTERS = 64;

function watchedBody(body: ReadableStream<Uint8Array>, call: WatchedCall): ReadableStream<Uint8Array> {
  // The body of node-fetch is no web stream.
  const reader = ('getReader' in body ? body : ReadableStream.from<Uint8Array>(body)).getReader();
  let left = mostBytes(call.maxTokens);
  let tail = '';
  let isLast = false;
  let idle: Timer | undefined;
  const end = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    idle?.cancel();
    controller.close();
  };
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      // A server that leaves the connection open after its last event, or breaks it, has said all the same.
      if (isLast)
        idle = new Timer(AFTER_WHOLE_MS, () => void reader.cancel().catch(() => undefined), { ref: false });
      try {
        const { done, value } = await reader.read();
        idle?.cancel();
        if (done) return end(controller);
        call.onBytes();
        left -= value.byteLength;
        if (left < 0) throw tooMuch(call);
        const text = tail + Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('latin1');
        isLast ||= LAST.test(text);
        tail = text.slice(-TAIL_CHARACTERS);
        controller.enqueue(value);
      } catch (error) {
        if (isLast && !(error instanceof ModelFailure)) return end(controller);
        await reader.cancel().catch(() => undefined);
        throw error;
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
