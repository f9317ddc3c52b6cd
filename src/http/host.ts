import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { hostInUrl, isLoopback } from '../core/addresses.js';
import { errorText } from '../core/errors.js';
import type { TlsMaterial } from '../core/http.js';
import { pause, waitAtMost } from '../core/time.js';
import { SilentConnections, refuseBrokenRequest, cannotListen, createNodeServer } from './node-server.js';
import { forwardedPrefix, removePrefix } from './admission.js';
import { RequestPipeline, type PipelineOptions } from './pipeline.js';

export interface HostOptions extends PipelineOptions {
  readonly host: string;
  readonly port: number; // 0 picks a free port.
  readonly limits: PipelineOptions['limits'] & {
    readonly headerBytes: number;
    readonly connections: number; // Open connections; further ones are closed at once.
    readonly headerSeconds: number; // Time a client has to send its headers.
    readonly keepAliveSeconds: number; // Time an idle connection stays open.
    readonly noticeSeconds?: number; // See `announceStop`. Default: 5, or 0 on a loopback address.
  };
  readonly tls?: TlsMaterial | undefined; // Without it, plain HTTP.
  readonly pathPrefix?: string; // A path that proxies may have before those of this server. Default: none.
}

export interface HostAddress {
  readonly host: string;
  readonly port: number;
  readonly origin: string; // The URL at which a client on this machine reaches the server.
}

/** About the time in which a balancer notices that a node is not ready. */
const NOTICE_SECONDS = 5;
const WILDCARDS: ReadonlySet<string> = new Set(['0.0.0.0', '::', '']);
/** Maximum time to finish sending responses when the server stops. */
const FLUSH_MS = 500;
/** Turns of the event loop in which a connection is accepted, and the request read that its client sent already. */
const TURNS_TO_READ = 3;

/** The HTTP server, which passes each request to the pipeline. */
export class Host {
  readonly #options: HostOptions;
  readonly #server: ReturnType<typeof createNodeServer>;
  /** Handles requests, also inside another express app and without `start`. */
  readonly pipeline: RequestPipeline;
  readonly #silent: SilentConnections;

  constructor(options: HostOptions) {
    this.#options = options;
    const { limits, host } = options;
    this.pipeline = new RequestPipeline({
      ...options,
      hsts: options.tls !== undefined,
      allowedHosts: WILDCARDS.has(host) ? options.allowedHosts : [...options.allowedHosts, hostInUrl(host)],
    });
    const headersTimeout = limits.headerSeconds * 1000;
    const timeouts = {
      maxHeaderSize: limits.headerBytes,
      headersTimeout,
      keepAliveTimeout: limits.keepAliveSeconds * 1000,
      requestTimeout: headersTimeout + limits.bodySeconds * 1000,
      connectionsCheckingInterval: Math.min(1_000, headersTimeout / 2),
    };
    this.#server = createNodeServer(timeouts, options.tls);
    this.#server.maxConnections = limits.connections;
    this.#silent = new SilentConnections(this.#server);
    this.#server.on('clientError', refuseBrokenRequest);
    this.#server.on('request', (request, response) => {
      this.#silent.requestArrived(request.socket);
      for (const prefix of [options.pathPrefix ?? '', forwardedPrefix(request, options.trustProxy)])
        removePrefix(request, prefix);
      void this.pipeline.handle(request, response);
    });
  }

  /** Starts to listen. Rejects with `unavailable` when the address is not free. Call it once. */
  async start(): Promise<HostAddress> {
    const { host, port, tls, logger } = this.#options;
    try {
      await once(this.#server.listen(port, host), 'listening');
    } catch (error) {
      throw cannotListen(error as NodeJS.ErrnoException, host, port);
    }
    this.#server.on('error', (error) => logger.error('http server failed', { error: errorText(error) }));
    const { port: taken } = this.#server.address() as AddressInfo;
    const name = WILDCARDS.has(host) ? 'localhost' : hostInUrl(host);
    return { host, port: taken, origin: `${tls ? 'https' : 'http'}://${name}:${taken}` };
  }

  /** Uses this certificate, and these authorities for client certificates, on new connections. */
  renewTls(tls: TlsMaterial): void {
    if ('setSecureContext' in this.#server) this.#server.setSecureContext(tls);
  }

  /**
   * Makes health not ready, so that balancers send requests elsewhere, and resolves after `noticeSeconds`; at once when the
   * host does not listen. Requests that still arrive are handled, and their connections closed. Never rejects.
   */
  async announceStop(): Promise<void> {
    const { host, limits } = this.#options;
    const { noticeSeconds = isLoopback(host) ? 0 : NOTICE_SECONDS } = limits;
    this.pipeline.announceStop();
    if (this.#server.listening) await pause(noticeSeconds * 1_000);
  }

  /**
   * Aborts the `closing` signal of open exchanges, waits for them up to `drainSeconds`, and then closes their connections.
   * Requests that arrive meanwhile are refused with `unavailable`. Never rejects.
   */
  async stop(): Promise<void> {
    await this.pipeline.drain();
    if (!this.#server.listening) return this.pipeline.cut();
    const isDrained = this.pipeline.isIdle;
    await this.#readSent();
    // The server listens until here, so that new requests learn that it stops.
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeIdleConnections();
    this.#silent.destroy();
    if (isDrained) await waitAtMost(FLUSH_MS, closed);
    this.#server.closeAllConnections();
    await closed;
  }
  /** Answers the requests that were sent already: each turn of the event loop accepts only one connection. */
  async #readSent(): Promise<void> {
    let quiet = 0;
    const accepted = (): void => void (quiet = 0);
    this.#server.on('connection', accepted);
    const { connections } = this.#options.limits;
    for (let turn = 0; quiet < TURNS_TO_READ && turn < connections; turn += 1, quiet += 1) await nextTurn();
    this.#server.off('connection', accepted);
  }
}
