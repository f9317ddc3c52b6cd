import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { serverStopping } from '../core/errors.js';
import { attachExchange, type HttpRoute } from '../core/http.js';
import { Box, BoxList } from '../core/releasing-map.js';
import { waitAtMost } from '../core/time.js';
import type { Admission, AdmissionRules } from './admission.js';
import { createAdmission, forwardedPrefix, sendPreflight, shareWithOrigin } from './admission.js';
import { sendError } from './errors.js';
import { Exchange, type ExchangeOptions } from './exchange.js';
import { createWebApp, mountHealth, type Mount, type Problem } from './web-app.js';

export interface PipelineOptions extends AdmissionRules, ExchangeOptions {
  readonly limits: ExchangeOptions['limits'] & {
    /** Maximum time that open requests get to finish when the server stops. */
    readonly drainSeconds: number;
  };
  /** The hot path: plain handlers, called in this order before express. */
  readonly routes: readonly HttpRoute[];
  /** Whether one of `routes` may handle this request; needed for `handleMounted` alone. */
  readonly claims?: (method: string, path: string) => boolean;
  /** All other routes: express routers. */
  readonly mounts?: readonly Mount[];
  /** Whether responses tell browsers to use HTTPS only. */
  readonly hsts?: boolean;
  readonly problem: Problem;
  readonly onResponse?: ((response: { method: string; status: number; ms: number }) => void) | undefined;
}

const HSTS = { 'Strict-Transport-Security': 'max-age=31536000' };

/** Checks Host and Origin of each request, and tries the handlers of the hot path, then express. */
export class RequestPipeline {
  readonly #options: PipelineOptions;
  readonly #admit: (request: IncomingMessage) => Admission;
  readonly #mounts: readonly Mount[];
  readonly #closing = new AbortController();
  /** Each in a box that is emptied, for the reason that `ReleasingMap` gives. */
  readonly #open = new BoxList<Box<Exchange>>();
  #isStopping = false;
  #baseUrl: string | undefined;
  #whenIdle: (() => void) | undefined;
  #webApp: Promise<RequestListener> | undefined;

  constructor(options: PipelineOptions) {
    this.#options = options;
    this.#admit = createAdmission(options);
    const problem = () => (this.#isStopping ? serverStopping() : options.problem());
    this.#mounts = [mountHealth(problem), ...(options.mounts ?? [])];
  }

  get isIdle(): boolean {
    return this.#open.size === 0;
  }

  /** The base URL of the first admitted request; undefined before it. */
  get baseUrl(): string | undefined {
    return this.#baseUrl;
  }

  /** Handles one request; in another app when `isMounted`, which may read the headers of the response. Never rejects. */
  async handle(request: IncomingMessage, response: ServerResponse, isMounted = false): Promise<void> {
    let exchange: Exchange | undefined;
    try {
      const admission = this.#admit(request);
      exchange = this.#begin(request, response, admission);
      // The getter sets the headers of all responses, which otherwise are sent without being set.
      if (isMounted) void exchange.response;
      if (this.#isStopping) exchange.response.setHeader('Connection', 'close');
      if (admission.crossOrigin !== undefined) {
        shareWithOrigin(exchange.response, admission.crossOrigin);
        if (sendPreflight(exchange)) return;
      }
      for (const route of this.#options.routes) if (await route(exchange)) return;
      // The first request that needs express loads it, because a start without it is faster and smaller.
      this.#webApp ??= createWebApp(this.#mounts, this.#options.logger);
      attachExchange(exchange);
      (await this.#webApp)(request, exchange.response);
    } catch (error) {
      sendError({ request, response: exchange?.response ?? response }, error, this.#options.logger);
    }
  }

  /** Makes health not ready, and has clients close each connection after a response. Requests are still handled. */
  announceStop(): void {
    this.#isStopping = true;
  }

  /**
   * Aborts `closing` of open exchanges, and resolves once they have ended, after `drainSeconds` at the latest. Requests
   * that arrive meanwhile are refused with `unavailable`, and health is not ready.
   */
  async drain(): Promise<void> {
    this.announceStop();
    this.#closing.abort(serverStopping());
    for (const { value: exchange } of this.#open) exchange?.stop();
    if (!this.isIdle) {
      const idle = new Promise<void>((resolve) => (this.#whenIdle = resolve));
      await waitAtMost(this.#options.limits.drainSeconds * 1_000, idle);
    }
  }

  /** Handles a request inside another express app, and calls `next` for paths of that app. */
  handleMounted(request: IncomingMessage, response: ServerResponse, next: () => void): void {
    if (this.#claims(request)) void this.handle(request, response, true);
    else next();
  }

  /** Closes the connections of exchanges that are still open. */
  cut(): void {
    for (const { value: exchange } of this.#open) exchange?.destroy();
  }

  #claims({ method = 'GET', url = '/' }: IncomingMessage): boolean {
    const [path = '/'] = url.split('?', 1);
    return (
      this.#options.claims?.(method, path) === true ||
      this.#mounts.some(({ paths }) => paths.some((own) => path === own || path.startsWith(`${own}/`)))
    );
  }

  #begin(request: IncomingMessage, response: ServerResponse, admission: Admission): Exchange {
    const exchange = new Exchange({
      options: this.#options,
      request,
      response,
      closing: this.#closing.signal,
      headers: this.#options.hsts ? HSTS : undefined,
      baseUrl:
        admission.origin + (mountPathOf(request) || forwardedPrefix(request, this.#options.trustProxy)),
    });
    const startedAt = performance.now();
    this.#baseUrl ??= exchange.baseUrl;
    const open = new Box(exchange);
    this.#open.add(open);
    // Not `once`, which takes more memory for as long as a stream lasts: the event comes once.
    response.on('close', () => {
      this.#open.empty(open);
      exchange.closed();
      if (this.isIdle) this.#whenIdle?.();
      const { method = '' } = request;
      const { statusCode: status } = response;
      const ms = performance.now() - startedAt;
      this.#options.onResponse?.({ method, status, ms });
      const { path, logFields } = exchange;
      this.#options.logger.debug('request', { ...logFields, method, path, status, ms: Math.round(ms) });
    });
    return exchange;
  }
}

/** The path at which an express app mounts this server; empty without one. */
function mountPathOf(request: IncomingMessage): string {
  return 'baseUrl' in request && typeof request.baseUrl === 'string' ? request.baseUrl : '';
}
