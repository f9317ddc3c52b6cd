import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { PeerCertificate, SecureContext } from 'node:tls';
import type { ErrorCode } from './errors.js';
import type { Caller } from './identity.js';
import type { Json } from './json.js';
import type { Logger } from './logger.js';

/** One HTTP request, with the server's limits, identity and log, for all routes. */
export interface HttpExchange {
  readonly request: IncomingMessage;
  /** Has the headers of all responses of the host. */
  readonly response: ServerResponse;
  /** Percent-encoded path below `baseUrl`, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** The address of this server as the client reached it: scheme, host, port and mount path, by trusted headers or the connection. */
  readonly baseUrl: string;
  readonly logger: Logger;
  /** Aborts when the client goes away or the host shuts down. */
  readonly signal: AbortSignal;
  /** Aborts when the host shuts down. */
  readonly closing: AbortSignal;
  /** The client's address, as far as known. */
  readonly address: string;
  /** Authenticates once per request. Rejects like `Authenticator.authenticate`, and with `unavailable` when the host stops. */
  caller(): Caller | Promise<Caller>;
  /** Counts a request that needs no caller; counts it once. Throws `too-many`. */
  anyone(): void;
  /** Reads the whole body as JSON. Throws `too-large`, `invalid-input` (syntax, depth, keys, encoding) or `unavailable`. */
  readJson(): Promise<Json>;
  /** Reads the whole body, of at most `limit` bytes. Throws `too-large`, `content-type-not-supported` or `unavailable`. */
  readBytes(limit: number): Promise<Buffer>;
  /**
   * Call it before an answer is made of at most `bytes` (default: of unknown size), and `answered` after it. Returns a
   * promise when too many bytes are in flight: it resolves when there is room, and rejects with `unavailable` after seconds.
   */
  roomForAnswer(bytes?: number): Promise<void> | undefined;
  /**
   * Responds in one write, with these headers and those of all responses, so that the connection stays open. Does nothing
   * when the client is gone, or has a response.
   */
  send(status: number, headers: OutgoingHttpHeaders, body: string): void;
  /** Call it when the body is of no more use. From then on only what the client has not read of the response counts. */
  answered(): void;
}

/** Serves some paths of the host; returns false, with nothing written, for others. The host sends its errors. */
export type HttpRoute = (exchange: HttpExchange) => boolean | Promise<boolean>;

const EXCHANGES = new WeakMap<IncomingMessage, HttpExchange>();

/** Gives express routes access to the exchange of their request. */
export function attachExchange(exchange: HttpExchange): void {
  EXCHANGES.set(exchange.request, exchange);
}

/** The exchange of a request inside an express route. */
export function exchangeOf(request: IncomingMessage): HttpExchange {
  return EXCHANGES.get(request)!;
}

/** The media type of a response in lower case, without its parameters; empty when it names none. */
export const mediaTypeOf = ({ headers }: { readonly headers: Pick<Headers, 'get'> }): string =>
  (headers.get('content-type') ?? '').split(';', 1)[0]!.trim().toLowerCase();

/** Reads all chunks of a body. Resolves with undefined once they have more than `limit` bytes. */
export async function readAll(
  chunks: AsyncIterable<Uint8Array> | null,
  limit: number,
): Promise<Buffer | undefined> {
  const read: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks ?? []) {
    size += chunk.length;
    if (size > limit) return undefined;
    read.push(chunk);
  }
  return Buffer.concat(read, size);
}

/** Which server certificates a client accepts, as options of Node's TLS. */
export interface ServerTrust {
  readonly secureContext: SecureContext;
  /** Checks the host's name once the chain is verified; returns what is wrong. */
  readonly checkServerIdentity: (host: string, certificate: PeerCertificate) => Error | undefined;
}

/** The certificate of a server. */
export interface TlsMaterial {
  readonly cert: Buffer;
  readonly key: Buffer;
  /** The authority of client certificates; without it clients need none. */
  readonly ca?: Buffer;
  /** The revocation list of that authority. */
  readonly crl?: Buffer;
  readonly minVersion?: 'TLSv1.2' | 'TLSv1.3' | undefined;
}

/** A certificate that a client shows. */
export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
  readonly caFile?: string | undefined;
}

/** The limits of outgoing requests. */
export interface FetchOptions {
  /**
   * URLs from the configuration. Their hosts may have a private address, because the operator chose them; a name that had
   * public addresses may not change to one.
   */
  readonly configuredUrl?: string | readonly string[] | undefined;
  /** Further hosts that may have a private address, as `name` or `name:port`. */
  readonly allowPrivate?: readonly string[];
  /** Maximum time of a request with its whole response; for an event stream, until its headers arrive. */
  readonly timeoutMs: number;
  /** Maximum time between two chunks of an event stream. */
  readonly idleMs?: number;
  /** The largest decoded size of a response that is no event stream. */
  readonly maxBytes?: number;
  /** Whether a response, or each event of a stream, is JSON with a limited number of lists, objects and values. */
  readonly isBoundedJson?: boolean;
  /** The hint of the error for a private address. Default: it names `egress.allowPrivate`. */
  readonly privateHint?: string;
}

/** The limits of outgoing requests of the server itself. */
export interface EgressOptions extends FetchOptions {
  /** The requests that may get an event stream: those whose `Accept` header names the type (default), or all. */
  readonly streams?: 'accepted' | 'always';
  /** The largest decoded size of an event stream. */
  readonly streamBytes?: number;
  /** Which certificates of servers are accepted. Default: those that Node trusts. */
  readonly trust?: ServerTrust | undefined;
}

/** Makes a `fetch` that checks every address, and limits time and size. */
export type CreateFetch = (options: EgressOptions) => typeof fetch;

/** One operation of the server's own JSON API, which the host makes a route of. */
export interface HttpEndpoint {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** As express writes paths: "/lango/secrets/:name". */
  readonly path: string;
  /** Resolves with the response, which is sent as JSON. `params` are the decoded segments that the path names. */
  readonly handle: (exchange: HttpExchange, params: Readonly<Record<string, unknown>>) => Promise<unknown>;
}

const STATUS: Readonly<Partial<Record<ErrorCode, readonly [number, string]>>> = {
  'invalid-input': [400, 'INVALID_ARGUMENT'],
  'not-found': [404, 'NOT_FOUND'],
  'already-ended': [400, 'FAILED_PRECONDITION'],
  'not-cancelable': [400, 'FAILED_PRECONDITION'],
  conflict: [409, 'ALREADY_EXISTS'],
  'generation-mismatch': [409, 'ABORTED'],
  'not-supported': [501, 'UNIMPLEMENTED'],
  'content-type-not-supported': [415, 'INVALID_ARGUMENT'],
  unauthenticated: [401, 'UNAUTHENTICATED'],
  forbidden: [403, 'PERMISSION_DENIED'],
  'too-large': [413, 'RESOURCE_EXHAUSTED'],
  'too-many': [429, 'RESOURCE_EXHAUSTED'],
  'limit-reached': [429, 'RESOURCE_EXHAUSTED'],
  timeout: [408, 'DEADLINE_EXCEEDED'],
  canceled: [499, 'CANCELLED'],
  unavailable: [503, 'UNAVAILABLE'],
  fenced: [503, 'UNAVAILABLE'],
  storage: [503, 'UNAVAILABLE'],
};

/** The HTTP status of an error and its canonical name, wherever A2A (section 5.4) names no other. */
export function statusOf(code: ErrorCode): readonly [number, string] {
  return STATUS[code] ?? [500, 'INTERNAL'];
}
