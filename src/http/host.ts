import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { errorText, isLangoError, serverStopping } from '../core/errors.js';
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
import type { Health } from './health-route.js';
import { createHealthRoute } from './health-route.js';
import { cannotListen } from './listen-error.js';
import { SilentConnections, createNodeServer, renewCertificates } from './node-server.js';
import type { PlainApp } from './plain-app.js';
import { createPlainApp } from './plain-app.js';
import type { TlsMaterial } from './tls.js';

interface HostLimits extends BodyLimits {
  readonly headerBytes: number;
  /** Open at the same time; those beyond are closed at once. */
  readonly connections: number;
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
  /** Without it, plain HTTP. */
  readonly tls?: TlsMaterial | undefined;
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
  /** New connections get this certificate from now on. */
  renewTls(tls: TlsMaterial): void;
  /**
   * Aborts `signal` of open exchanges and waits for them up to `drainSeconds`, then cuts. Meanwhile callers are told
   * `unavailable`, and health is not ready. Never rejects.
   */
  stop(): Promise<void>;
}

const WILDCARDS: ReadonlySet<string> = new Set(['0.0.0.0', '::', '']);
/** For connections on which an answer is on its way out. */
const LAST_WORDS_MS = 500;
const HSTS = 'max-age=31536000';
const NOT_READY: Health = { ready: false, reason: 'The server is stopping.' };

export function createHost(options: HostOptions): Host {
  return new NodeHost(options);
}

class NodeHost implements Host {
  readonly #options: HostOptions;
  readonly #server: ReturnType<typeof createNodeServer>;
  readonly #admit: (request: IncomingMessage) => Admission;
  readonly #closing = new AbortController();
  readonly #silent: SilentConnections;
  readonly #routes: readonly HttpRoute[];
  /** Exchanges under way. */
  #underWay = 0;
  #whenIdle: (() => void) | undefined;
  #plainApp: Promise<PlainApp> | undefined;

  constructor(options: HostOptions) {
    this.#options = options;
    const { limits, host } = options;
    const health = (): Health => (this.#closing.signal.aborted ? NOT_READY : options.health());
    this.#routes = [...options.routes, createHealthRoute(health)];
    this.#admit = createAdmission({
      ...options,
      isSecure: options.tls !== undefined,
      allowedHosts: WILDCARDS.has(host) ? options.allowedHosts : [...options.allowedHosts, urlHost(host)],
    });
    const headersTimeout = limits.headerSeconds * 1000;
    const times = {
      maxHeaderSize: limits.headerBytes,
      headersTimeout,
      requestTimeout: headersTimeout + limits.bodySeconds * 1000,
      connectionsCheckingInterval: Math.min(1_000, headersTimeout / 2),
    };
    this.#server = createNodeServer(times, options.tls);
    this.#server.maxConnections = limits.connections;
    this.#silent = new SilentConnections(this.#server);
    this.#server.on('clientError', answerBrokenRequest);
    this.#server.on('request', (request, response) => {
      this.#silent.heard(request.socket);
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
        const scheme = this.#options.tls ? 'https' : 'http';
        resolve({ host, port: taken, origin: `${scheme}://${name}:${taken}` });
      });
    });
  }

  renewTls(tls: TlsMaterial): void {
    renewCertificates(this.#server, tls);
  }

  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    this.#closing.abort(serverStopping());
    this.#silent.destroy();
    const { drainSeconds } = this.#options.limits;
    await within(drainSeconds * 1_000, this.#idle());
    // Until now it listened: who came late was told so.
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeIdleConnections();
    this.#silent.destroy();
    if (this.#underWay === 0) await within(LAST_WORDS_MS, closed);
    this.#server.closeAllConnections();
    await closed;
  }

  /** Resolves once no exchange is under way. */
  #idle(): Promise<void> {
    return this.#underWay === 0 ? Promise.resolve() : new Promise((resolve) => (this.#whenIdle = resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const admission = this.#admit(request);
      const exchange = this.#open(request, response, admission);
      if (this.#closing.signal.aborted) response.setHeader('Connection', 'close');
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
    if (this.#options.tls) response.setHeader('Strict-Transport-Security', HSTS);
    const startedAt = performance.now();
    this.#underWay += 1;
    response.once('close', () => {
      this.#underWay -= 1;
      if (this.#underWay === 0) this.#whenIdle?.();
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
    for (const route of this.#routes) {
      if (await route(exchange)) return;
    }
    exchange.anyone();
    this.#plainApp ??= createPlainApp(this.#options.logger);
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

/** Resolves when `work` does, or after that time. */
async function within(ms: number, work: Promise<void>): Promise<void> {
  const done = new AbortController();
  await Promise.race([work, delay(ms, undefined, { signal: done.signal }).catch(() => {})]);
  done.abort();
}

function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

function stackOf(error: unknown): string | undefined {
  return error instanceof Error ? error.stack : undefined;
}
