import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { LangoError, errorText, isLangoError } from '../core/errors.js';
import type { HttpRoute } from '../core/http.js';
import type { Authenticator } from '../core/identity.js';
import type { Logger } from '../core/logger.js';
import type { Admission } from './admission.js';
import { clientAddress, createAdmission } from './admission.js';
import type { BodyLimits } from './body.js';
import { answerBrokenRequest } from './broken-request.js';
import { answerPreflight, shareWithOrigin } from './cross-origin.js';
import { sendError } from './errors.js';
import { Exchange } from './exchange.js';
import type { Health, PlainApp } from './plain-app.js';
import { createPlainApp } from './plain-app.js';

/** Not imported: that reads every export of the module, and one of them loads a whole WebSocket client (some 5 MB). */
const { createServer } = process.getBuiltinModule('node:http');

interface HostLimits extends BodyLimits {
  readonly headerBytes: number;
  /** Time a client has to send its headers. */
  readonly headerSeconds: number;
  /** Time that open requests get to end when the host stops. */
  readonly drainSeconds: number;
}

export interface HostOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly trustProxy: boolean;
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  readonly limits: HostLimits;
  readonly authenticator: Authenticator;
  /** Asked in order, before health and "not found". */
  readonly routes: readonly HttpRoute[];
  readonly health: () => Health;
  readonly logger: Logger;
}

export interface HostAddress {
  readonly host: string;
  readonly port: number;
  /** How a client on this machine reaches it. */
  readonly origin: string;
}

/** The HTTP server: limits, identity, errors and shutdown for all routes. */
export interface Host {
  /** Rejects with `unavailable` when the address cannot be taken. Call it once. */
  start(): Promise<HostAddress>;
  /** Stops accepting, aborts `signal` of open exchanges, waits up to `drainSeconds`, then cuts. Never rejects. */
  stop(): Promise<void>;
}

const WILDCARDS: ReadonlySet<string> = new Set(['0.0.0.0', '::', '']);
const RETRY_AFTER_MS = 2_000;

export function createHost(options: HostOptions): Host {
  return new NodeHost(options);
}

class NodeHost implements Host {
  readonly #options: HostOptions;
  readonly #server: Server;
  readonly #admit: (request: IncomingMessage) => Admission;
  readonly #closing = new AbortController();
  /** Connections on which no request has come yet. Node does not count them among the idle ones. */
  readonly #silent = new Set<Socket>();
  #plainApp: Promise<PlainApp> | undefined;

  constructor(options: HostOptions) {
    this.#options = options;
    const { limits, host } = options;
    this.#admit = createAdmission({
      ...options,
      allowedHosts: WILDCARDS.has(host) ? options.allowedHosts : [...options.allowedHosts, urlHost(host)],
    });
    const headersTimeout = limits.headerSeconds * 1000;
    this.#server = createServer({
      maxHeaderSize: limits.headerBytes,
      headersTimeout,
      requestTimeout: headersTimeout + limits.bodySeconds * 1000,
      connectionsCheckingInterval: Math.min(1_000, headersTimeout / 2),
    });
    this.#server.on('clientError', answerBrokenRequest);
    this.#server.on('connection', (socket) => {
      this.#silent.add(socket);
      socket.once('close', () => this.#silent.delete(socket));
    });
    this.#server.on('request', (request, response) => {
      this.#silent.delete(request.socket);
      void this.#answer(request, response);
    });
  }

  start(): Promise<HostAddress> {
    const { host, port } = this.#options;
    return new Promise((resolve, reject) => {
      const fail = (error: NodeJS.ErrnoException): void => reject(cannotListen(error, host, port));
      this.#server.once('error', fail);
      this.#server.listen(port, host, () => {
        this.#server.off('error', fail);
        this.#server.on('error', (error) => {
          this.#options.logger.error('http server failed', { error: errorText(error) });
        });
        const address = this.#server.address();
        const taken = typeof address === 'object' && address !== null ? address.port : port;
        const name = WILDCARDS.has(host) ? 'localhost' : urlHost(host);
        resolve({ host, port: taken, origin: `http://${name}:${taken}` });
      });
    });
  }

  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#closing.abort(stopping());
    for (const socket of this.#silent) socket.destroy();
    const late = new AbortController();
    await Promise.race([
      closed,
      delay(this.#options.limits.drainSeconds * 1000, undefined, { signal: late.signal }).catch(() => {}),
    ]);
    late.abort();
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const admission = this.#admit(request);
      const exchange = this.#open(request, response, admission);
      if (this.#closing.signal.aborted) {
        response.setHeader('Connection', 'close');
        throw stopping();
      }
      if (admission.crossOrigin !== undefined) {
        shareWithOrigin(response, admission.crossOrigin);
        if (answerPreflight(exchange)) return;
      }
      await this.#route(exchange);
    } catch (error) {
      this.#fail(request, response, error);
    }
  }

  #open(request: IncomingMessage, response: ServerResponse, admission: Admission): Exchange {
    const { trustProxy, limits, logger, authenticator } = this.#options;
    const exchange = new Exchange({
      request,
      response,
      origin: admission.origin,
      limits,
      logger,
      address: () => clientAddress(request, trustProxy),
      authenticator,
      closing: this.#closing.signal,
    });
    response.setHeader('X-Request-Id', exchange.requestId);
    const startedAt = performance.now();
    response.once('close', () => {
      // A connection that has just become idle would keep a stopping server waiting.
      if (this.#closing.signal.aborted) setImmediate(() => this.#server.closeIdleConnections());
      logger.debug('request', {
        ...exchange.logFields,
        method: request.method,
        path: exchange.path,
        status: response.statusCode,
        ms: Math.round(performance.now() - startedAt),
      });
    });
    return exchange;
  }

  async #route(exchange: Exchange): Promise<void> {
    for (const route of this.#options.routes) {
      if (await route(exchange)) return;
    }
    this.#plainApp ??= createPlainApp({
      logger: this.#options.logger,
      health: () => this.#options.health(),
    });
    (await this.#plainApp)(exchange.request, exchange.response);
  }

  #fail(request: IncomingMessage, response: ServerResponse, error: unknown): void {
    if (!isLangoError(error)) {
      this.#options.logger.error('request failed', { error: errorText(error), stack: stackOf(error) });
    }
    // What still comes of the request would be read for nothing.
    if (!request.complete && !response.headersSent) response.setHeader('Connection', 'close');
    sendError(response, error);
  }
}

function stopping(): LangoError {
  return new LangoError('unavailable', 'The server is stopping.', {
    retryable: true,
    retryAfterMs: RETRY_AFTER_MS,
  });
}

function cannotListen(cause: NodeJS.ErrnoException, host: string, port: number): LangoError {
  switch (cause.code) {
    case 'EADDRINUSE':
      return new LangoError('unavailable', `Port ${port} on ${host} is already in use.`, {
        hint: 'Choose another with --port (0 takes a free one), or stop the program that uses it.',
        cause,
      });
    case 'EACCES':
      return new LangoError('unavailable', `Port ${port} on ${host} is not open to this user.`, {
        hint: 'Choose a port above 1023 with --port.',
        cause,
      });
    default:
      return new LangoError(
        'unavailable',
        `Cannot listen on ${host}, port ${port}: ${cause.code ?? cause.message}.`,
        {
          hint: 'Check server.host and server.port.',
          cause,
        },
      );
  }
}

function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

function stackOf(error: unknown): string | undefined {
  return error instanceof Error ? error.stack : undefined;
}
