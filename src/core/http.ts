import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Caller } from './identity.js';
import type { Json } from './json.js';
import type { Logger } from './logger.js';

/**
 * One request on its way through the host. Whoever answers it uses these functions, so that limits,
 * identity and errors are the same on every route.
 */
export interface HttpExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Percent-encoded path without the query, as sent. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Scheme, host and port that the client used (from trusted proxy headers or the socket), for cards. */
  readonly origin: string;
  readonly logger: Logger;
  /** Aborts when the client goes away or the host shuts down. */
  readonly signal: AbortSignal;
  /** Aborts when the host shuts down. */
  readonly closing: AbortSignal;
  /** Where the request came from: the client's address, as far as known. */
  readonly address: string;
  /** Rejects as `Authenticator.authenticate` does, and with `unavailable` when the host stops. Asked once per request. */
  caller(): Promise<Caller>;
  /** Counts a request that nobody needs to be known for. Throws `too-many`. */
  anyone(): void;
  /** The whole body as JSON. Throws `too-large` or `invalid-input` (syntax, depth, keys, encoding). */
  readJson(): Promise<Json>;
  /** The whole body as it is, of at most `limit` bytes. Throws `too-large` or `content-type-not-supported`. */
  readBytes(limit: number): Promise<Buffer>;
}

/**
 * A part of the host that answers some paths. Resolves to false, with nothing written, when the path is
 * not its own. What it throws before the head was sent is answered by the host.
 */
export type HttpRoute = (exchange: HttpExchange) => Promise<boolean>;
