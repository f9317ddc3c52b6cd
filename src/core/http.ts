import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Json } from './json.js';
import type { Logger } from './logger.js';

/** The authenticated party behind a request: what its data is filed under. */
export interface Caller {
  readonly owner: string;
  readonly tenant: string;
}

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
  /** Throws `unauthenticated` or `forbidden`. Constant-time comparison; asked once per request. */
  caller(): Caller;
  /** The whole body as JSON. Throws `too-large` or `invalid-input` (syntax, depth, keys, encoding). */
  readJson(): Promise<Json>;
}

/**
 * A part of the host that answers some paths. Resolves to false, with nothing written, when the path is
 * not its own. What it throws before the head was sent is answered by the host.
 */
export type HttpRoute = (exchange: HttpExchange) => Promise<boolean>;
