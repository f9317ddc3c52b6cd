import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { LangoError, rejected } from '../core/errors.js';
import type { HttpExchange } from '../core/http.js';
import type { Authenticator, Caller, ClientCertificate } from '../core/identity.js';
import { newId } from '../core/ids.js';
import type { Json } from '../core/json.js';
import { readTraceparent, traceIdOf } from '../core/trace.js';
import type { Logger } from '../core/logger.js';
import { scopeKey } from '../core/task.js';
import { clientAddress } from './admission.js';
import { readBytes, readJson, type BodyLimits } from './body.js';
import { HeldBytes, type BytesInFlight } from '../core/bytes-in-flight.js';
import { networkOf } from './rate-limit.js';

/** The settings that all exchanges share. */
export interface ExchangeOptions {
  readonly limits: BodyLimits;
  readonly bytesInFlight: BytesInFlight;
  readonly logger: Logger;
  /** Whether requests come through a proxy, which may send those of several clients over one connection. */
  readonly trustProxy: boolean;
  readonly authenticator: Authenticator;
  /** Returns the Authorization header that the session of a browser stands for. Default: there are no sessions. */
  readonly sessionAuthorization?:
    ((request: IncomingMessage, baseUrl: string) => string | undefined) | undefined;
}

interface ExchangeFacts {
  readonly options: ExchangeOptions;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly baseUrl: string;
  readonly closing: AbortSignal; // Aborts when the host stops.
  readonly headers: OutgoingHttpHeaders | undefined; // Further headers of all responses.
}

const REQUEST_ID = /^[\w.:-]{1,128}$/;

/** One request with its response. Creates costly parts (child logger, abort signal, parsed query) on first use. */
export class Exchange implements HttpExchange {
  readonly request: IncomingMessage;
  readonly path: string;
  readonly baseUrl: string;
  readonly requestId: string;
  /** The headers of all responses of the host, until the response has them: setting each alone takes longer. */
  #headers: OutgoingHttpHeaders | undefined;
  readonly #facts: ExchangeFacts;
  readonly #search: string;
  #query: URLSearchParams | undefined;
  #logger: Logger | undefined;
  #ending: AbortController | undefined;
  #address: string | undefined;
  #caller: Caller | Promise<Caller> | undefined;
  #json: Promise<Json> | undefined;
  #isCounted = false;
  #owner: string | undefined;
  #held: HeldBytes | undefined;

  constructor(facts: ExchangeFacts) {
    this.#facts = facts;
    this.request = facts.request;
    this.baseUrl = facts.baseUrl;
    const url = facts.request.url ?? '/';
    const mark = url.indexOf('?');
    this.path = mark === -1 ? url : url.slice(0, mark);
    this.#search = mark === -1 ? '' : url.slice(mark + 1);
    this.requestId = requestIdOf(facts.request);
    this.#headers = { 'X-Content-Type-Options': 'nosniff', 'X-Request-Id': this.requestId, ...facts.headers };
  }

  get response(): ServerResponse {
    const { response } = this.#facts;
    const headers = Object.entries(this.#headers ?? {});
    this.#headers = undefined;
    // An app around this server may have responded meanwhile.
    if (!response.headersSent) for (const [name, value] of headers) response.setHeader(name, value!);
    return response;
  }

  get query(): URLSearchParams {
    return (this.#query ??= new URLSearchParams(this.#search));
  }

  get logger(): Logger {
    return (this.#logger ??= this.#facts.options.logger.child(this.logFields));
  }

  /** The fields of each log line of this request. */
  get logFields(): Readonly<Record<string, string>> {
    const traceparent = readTraceparent(headerText(this.request.headers['traceparent']) ?? '');
    return { requestId: this.requestId, ...(traceparent && { traceId: traceIdOf({ traceparent }) }) };
  }

  get signal(): AbortSignal {
    if (this.#ending === undefined) {
      this.#ending = new AbortController();
      if (this.closing.aborted) this.stop();
      if (this.#facts.response.closed) this.#leave();
    }
    return this.#ending.signal;
  }

  get closing(): AbortSignal {
    return this.#facts.closing;
  }

  get address(): string {
    return (this.#address ??= clientAddress(this.request, this.#facts.options.trustProxy));
  }

  caller(): Caller | Promise<Caller> {
    return (this.#caller ??= this.#identify());
  }

  anyone(): void {
    if (this.#isCounted) return;
    this.#isCounted = true;
    this.#facts.options.authenticator.admitAnyone(this.address);
  }

  readJson(): Promise<Json> {
    return (this.#json ??= readJson(this.request, this.#facts.options.limits, this.#heldBytes()));
  }

  readBytes(limit: number): Promise<Buffer> {
    return readBytes(this.request, { ...this.#facts.options.limits, bodyBytes: limit }, this.#heldBytes());
  }

  roomForAnswer(bytes?: number): Promise<void> | undefined {
    return this.#heldBytes().addAnswer(bytes);
  }

  send(status: number, headers: OutgoingHttpHeaders, body: string): void {
    const { request, response } = this.#facts;
    if (response.destroyed || response.headersSent) return;
    const length = Buffer.byteLength(body);
    response.writeHead(status, { ...this.#headers, 'Content-Length': length, ...headers });
    this.#headers = undefined;
    response.end(request.method === 'HEAD' ? undefined : body);
    this.answered();
  }

  answered(): void {
    this.#json = undefined;
    this.#held?.set(this.#facts.response.writableLength);
  }

  /** Call it when `closing` was aborted. */
  stop(): void {
    this.#ending?.abort(this.closing.reason);
  }

  /** Closes the connection. */
  destroy(): void {
    this.#facts.response.destroy();
  }

  /** Call it once the response is closed. */
  closed(): void {
    this.#held?.release();
    this.#leave();
  }

  #leave(): void {
    if (!this.#facts.response.writableFinished)
      this.#ending?.abort(new LangoError('canceled', 'The client went away.'));
  }

  #heldBytes(): HeldBytes {
    const { bytesInFlight } = this.#facts.options;
    return (this.#held ??= new HeldBytes(bytesInFlight, this.#owner ?? networkOf(this.address)));
  }

  #identify(): Caller | Promise<Caller> {
    const { closing, request, options } = this.#facts;
    const { authenticator, trustProxy, sessionAuthorization } = options;
    if (closing.aborted) return rejected(closing.reason);
    const caller = authenticator.authenticate({
      authorization: request.headers.authorization ?? sessionAuthorization?.(request, this.baseUrl),
      views: headerText(request.headers['lango-owner']),
      path: this.path,
      address: this.address,
      ...(trustProxy ? {} : { connection: request.socket }),
      certificate: () => certificateOf(request),
    });
    return caller instanceof Promise ? caller.then((one) => this.#known(one)) : this.#known(caller);
  }

  #known(caller: Caller): Caller {
    this.#owner = scopeKey(caller);
    return caller;
  }
}

function requestIdOf(request: IncomingMessage): string {
  const given = headerText(request.headers['x-request-id']);
  return REQUEST_ID.test(given) ? given : newId();
}

function headerText(header: string | readonly string[] | undefined): string {
  return typeof header === 'string' ? header : '';
}

/** The client certificate of the connection; undefined without TLS or without a certificate. */
function certificateOf(request: IncomingMessage): ClientCertificate | undefined {
  const socket = request.socket as Partial<TLSSocket>;
  const { subject, subjectaltname } = socket.getPeerCertificate?.() ?? {};
  if (subject === undefined) return undefined;
  return {
    problem: socket.authorized ? undefined : problemOf(socket.authorizationError),
    subject: subject as unknown as ClientCertificate['subject'],
    alternativeNames: subjectaltname ?? '',
  };
}

/** Node passes an error code here, although its types declare an error. */
function problemOf(problem: unknown): string {
  if (problem instanceof Error) return problem.message;
  return typeof problem === 'string' ? problem : 'not verified';
}
