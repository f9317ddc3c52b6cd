import type { IncomingMessage, ServerResponse } from 'node:http';
import type { PeerCertificate, SecureContext } from 'node:tls';
import type { Caller } from './identity.js';
import type { Json } from './json.js';
import type { Logger } from './logger.js';

/**
 * One HTTP request, with the server's limits, identity and log. All routes, plain ones and those of express, answer by
 * these functions.
 */
export interface HttpExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Percent-encoded path below `baseUrl`, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /**
   * The address under which the client reached this server: scheme, host and port (from trusted proxy headers or the
   * connection), and the path that it is mounted at in another app.
   */
  readonly baseUrl: string;
  readonly logger: Logger;
  /** Aborts when the client goes away or the host shuts down. */
  readonly signal: AbortSignal;
  /** Aborts when the host shuts down. */
  readonly closing: AbortSignal;
  /** Where the request came from: the client's address, as far as known. */
  readonly address: string;
  /** Rejects as `Authenticator.authenticate` does, and with `unavailable` when the host stops. Asked once per request. */
  caller(): Promise<Caller>;
  /** Counts a request that needs no caller, once however often it is called. Throws `too-many`. */
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

const EXCHANGE = Symbol('exchange');

interface Attached {
  [EXCHANGE]?: HttpExchange;
}

/** Makes an exchange known to the express routes that answer its request. */
export function attachExchange(exchange: HttpExchange): void {
  (exchange.request as Attached)[EXCHANGE] = exchange;
}

/** The exchange of a request inside an express route. */
export function exchangeOf(request: IncomingMessage): HttpExchange {
  return (request as Attached)[EXCHANGE]!;
}

/** Which certificates a client takes from servers, in the words of Node's TLS. */
export interface ServerTrust {
  readonly secureContext: SecureContext;
  /** Called with the name that was connected to, once the chain was verified; gives what is wrong. */
  readonly checkServerIdentity: (host: string, certificate: PeerCertificate) => Error | undefined;
}

/** One operation of the server's own JSON API, which the host makes a route of. */
export interface HttpEndpoint {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** As express writes paths: "/lango/secrets/:name". */
  readonly path: string;
  /** Resolves with the answer, which is sent as JSON. `params` are the decoded segments that the path names. */
  readonly handle: (exchange: HttpExchange, params: Readonly<Record<string, unknown>>) => Promise<unknown>;
}
