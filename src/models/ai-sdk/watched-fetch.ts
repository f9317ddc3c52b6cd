import { AsyncLocalStorage } from 'node:async_hooks';
import { mediaTypeOf } from '../../core/http.js';
import { Timer } from '../../core/time.js';
import { AFTER_WHOLE_MS, mostBytes, noStream, piecesOf, tooMuch, type Exchange } from '../exchange.js';
import { ModelFailure } from '../failure.js';

/** A model call, in whose course its package sends requests. */
export interface WatchedCall extends Pick<Exchange, 'endpoint' | 'maxTokens'> {
  /** Called for each chunk of a response: pings too show that the server is alive. */
  onBytes?(): void;
  /** The media type of the last response. */
  mediaType?: string;
}

/** The model calls to which the requests belong that are sent in their course. */
export const calls = new AsyncLocalStorage<WatchedCall>();

/** Makes the `fetch` for a package: it follows no redirects, limits the size of responses, and ends those that are whole. */
export function watchedFetch(given: typeof fetch): typeof fetch {
  return async (input, init) => {
    // A redirect would carry the conversation and the key to another host.
    const response = await given(input, { ...init, redirect: 'manual' });
    const call = calls.getStore();
    if (!call || !response.ok || !response.body) return response;
    call.mediaType = mediaTypeOf(response);
    if (call.mediaType === 'text/html') throw noStream(call.mediaType, call.endpoint);
    const { status, headers } = response;
    const body = ReadableStream.from(watchedBody(response.body, call));
    return new Response(body, { status, headers: [...headers] });
  };
}

/** The marks of a stream's last events in the formats of vendors: packages report the end only once the stream has ended. */
const LAST =
  /\[DONE\]|"(finish_reason|finishReason|stopReason)":\s*"[^"]|"type":\s*"(message_stop|response\.(completed|incomplete|failed))"/;
/** More than the longest mark. */
const TAIL_CHARACTERS = 64;

async function* watchedBody(body: ReadableStream<Uint8Array>, call: WatchedCall) {
  // The body of node-fetch is no web stream.
  const reader = ('getReader' in body ? body : ReadableStream.from<Uint8Array>(body)).getReader();
  const cancel = (): Promise<void> => reader.cancel().catch(() => undefined);
  let left = mostBytes(call.maxTokens);
  let tail = '';
  let isLast = false;
  // A server that leaves the connection open after its last event, or breaks it, has said all the same.
  const read = async () => {
    using _ = new Timer(isLast ? AFTER_WHOLE_MS : Infinity, () => void cancel(), { ref: false });
    return await reader.read();
  };
  try {
    for (;;) {
      const { done, value } = await read();
      if (done) return;
      call.onBytes?.();
      left -= value.byteLength;
      if (left < 0) throw tooMuch(call);
      const text = tail + Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('latin1');
      isLast ||= LAST.test(text);
      tail = text.slice(-TAIL_CHARACTERS);
      yield* piecesOf(value);
    }
  } catch (error) {
    if (!isLast || error instanceof ModelFailure) throw error;
  } finally {
    await cancel();
  }
}
