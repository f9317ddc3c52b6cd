import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { serverStopping } from '../core/errors.js';
import type { HttpRoute } from '../core/http.js';
import { attachExchange } from '../core/http.js';
import type { Authenticator } from '../core/identity.js';
import type { Logger } from '../core/logger.js';
import type { Admission, AdmissionRules } from './admission.js';
import { answerPreflight, clientAddress, createAdmission, shareWithOrigin } from './admission.js';
import type { BodyLimits } from './body.js';
import { answerError, sendJson } from './errors.js';
import { Exchange } from './exchange.js';
import type { Mount } from './web-app.js';
import { createWebApp } from './web-app.js';

/** Whether the server takes work, for `/readyz`. */
export interface Health {
  readonly ready: boolean;
  /** Why it does not; `/readyz` shows it to everyone. */
  readonly reason?: string;
}

export interface PipelineOptions extends AdmissionRules {
  readonly limits: BodyLimits & {
    /** Time that open requests get to end when the server stops. */
    readonly drainSeconds: number;
  };
  readonly authenticator: Authenticator;
  /** The hot path: plain handlers, asked in this order before express. */
  readonly routes: readonly HttpRoute[];
  /** All other routes: express routers. */
  readonly mounts?: readonly Mount[];
  readonly health: () => Health;
  readonly logger: Logger;
}

const HSTS = 'max-age=31536000';
const NOT_READY: Health = { ready: false, reason: 'The server is stopping.' };

/**
 * The way of every HTTP request: Host and Origin checks, the hot path's handlers, then express; one set of limits,
 * identity and error functions for both.
 */
export class RequestPipeline {
  readonly #options: PipelineOptions;
  readonly #admit: (request: IncomingMessage) => Admission;
  readonly #routes: readonly HttpRoute[];
  readonly #closing = new AbortController();
  #openExchanges = 0;
  #whenIdle: (() => void) | undefined;
  #webApp: Promise<RequestListener> | undefined;

  constructor(options: PipelineOptions) {
    this.#options = options;
    this.#admit = createAdmission(options);
    const health = (): Health => (this.#closing.signal.aborted ? NOT_READY : options.health());
    this.#routes = [...options.routes, createHealthRoute(health)];
  }

  get isIdle(): boolean {
    return this.#openExchanges === 0;
  }

  /** Answers one request. Never rejects. */
  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
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
      answerError({ request, response }, error, this.#options.logger);
    }
  }

  /**
   * Aborts `closing` of open exchanges, and resolves once they have ended, after `drainSeconds` at the latest. Requests
   * that arrive meanwhile are answered `unavailable`, and health is not ready.
   */
  async drain(): Promise<void> {
    this.#closing.abort(serverStopping());
    if (!this.isIdle) {
      const idle = new Promise<void>((resolve) => (this.#whenIdle = resolve));
      await within(this.#options.limits.drainSeconds * 1_000, idle);
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
    if (this.#options.isSecure) response.setHeader('Strict-Transport-Security', HSTS);
    const startedAt = performance.now();
    this.#openExchanges += 1;
    response.once('close', () => {
      this.#openExchanges -= 1;
      if (this.isIdle) this.#whenIdle?.();
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
    const { mounts = [], logger } = this.#options;
    // Express is loaded by the first request that needs it: a start without it is faster and smaller.
    this.#webApp ??= createWebApp(mounts, logger);
    attachExchange(exchange);
    (await this.#webApp)(exchange.request, exchange.response);
  }
}

/** Resolves when `work` does, or after that time. */
export async function within(ms: number, work: Promise<void>): Promise<void> {
  const done = new AbortController();
  await Promise.race([work, delay(ms, undefined, { signal: done.signal }).catch(() => {})]);
  done.abort();
}

const READING: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD']);

/**
 * `/healthz` (the process answers) and `/readyz` (it takes work). Probes ask every few seconds, so these do not need
 * express, which takes 50 ms and 8 MB to load.
 */
function createHealthRoute(health: () => Health): HttpRoute {
  const pages = new Map<string, (response: ServerResponse) => void>([
    ['/healthz', (response) => sendJson(response, 200, { status: 'ok' })],
    ['/readyz', (response) => sendReadiness(response, health())],
  ]);
  return async (exchange) => {
    const page = READING.has(exchange.request.method) ? pages.get(exchange.path) : undefined;
    if (!page) return false;
    exchange.anyone();
    page(exchange.response);
    return true;
  };
}

function sendReadiness(response: ServerResponse, { ready, reason }: Health): void {
  sendJson(response, ready ? 200 : 503, { status: ready ? 'ready' : 'not ready', reason });
}
