import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Authenticator } from '../core/identity.js';
import type { HttpRoute } from '../core/http.js';
import type { Logger } from '../core/logger.js';
import { errorText } from '../core/errors.js';
import type { BodyLimits } from './body.js';
import {
  SilentConnections,
  answerBrokenRequest,
  cannotListen,
  createNodeServer,
  renewCertificates,
} from './node-server.js';
import { RequestPipeline, within } from './pipeline.js';
import type { TlsMaterial } from './tls.js';
import type { Health, Mount } from './web-app.js';

interface HostLimits extends BodyLimits {
  readonly headerBytes: number;
  /** Open connections; further ones are closed at once. */
  readonly connections: number;
  /** Time a client has to send its headers. */
  readonly headerSeconds: number;
  /** Time that open requests get to end when the host stops. */
  readonly drainSeconds: number;
}

export interface HostOptions {
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  readonly trustProxy: boolean;
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  readonly limits: HostLimits;
  /** Without it, plain HTTP. */
  readonly tls?: TlsMaterial | undefined;
  readonly authenticator: Authenticator;
  /** The hot path: plain handlers, asked in this order before express. */
  readonly routes: readonly HttpRoute[];
  /** Whether one of `routes` may answer this request; needed for `answerMounted` alone. */
  readonly claims?: (method: string, path: string) => boolean;
  /** All other routes: express routers. */
  readonly mounts?: readonly Mount[];
  /** Refuses requests that arrived at any other address than a loopback one. Default: false. */
  readonly isLoopbackOnly?: boolean;
  readonly health: () => Health;
  readonly logger: Logger;
}

export interface HostAddress {
  readonly host: string;
  readonly port: number;
  /** The URL at which a client on this machine reaches the server. */
  readonly origin: string;
}

/** The HTTP server: it listens, and gives each request to the pipeline. */
export interface Host {
  /** Rejects with `unavailable` when the address cannot be taken. Call it once. */
  start(): Promise<HostAddress>;
  /**
   * Answers a request of another server in whose app this one is mounted, and hands paths of others to the app's next
   * handler. Works without `start`.
   */
  answerMounted(request: IncomingMessage, response: ServerResponse, next: () => void): void;
  /** The address that the first request came to; undefined before it. */
  readonly baseUrl: string | undefined;
  /** New connections get this certificate from now on. */
  renewTls(tls: TlsMaterial): void;
  /**
   * Aborts `signal` of open exchanges and waits for them up to `drainSeconds`, then cuts. Requests that arrive meanwhile
   * are answered `unavailable`, and health is not ready. Never rejects.
   */
  stop(): Promise<void>;
}

const WILDCARDS: ReadonlySet<string> = new Set(['0.0.0.0', '::', '']);
/** Time for answers that are being sent when the server stops. */
const FLUSH_MS = 500;

export function createHost(options: HostOptions): Host {
  return new NodeHost(options);
}

class NodeHost implements Host {
  readonly #options: HostOptions;
  readonly #server: ReturnType<typeof createNodeServer>;
  readonly #pipeline: RequestPipeline;
  readonly #silent: SilentConnections;

  constructor(options: HostOptions) {
    this.#options = options;
    const { limits, host } = options;
    this.#pipeline = new RequestPipeline({
      ...options,
      hsts: options.tls !== undefined,
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
      void this.#pipeline.handle(request, response);
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

  answerMounted(request: IncomingMessage, response: ServerResponse, next: () => void): void {
    this.#pipeline.answerMounted(request, response, next);
  }

  get baseUrl(): string | undefined {
    return this.#pipeline.baseUrl;
  }

  renewTls(tls: TlsMaterial): void {
    renewCertificates(this.#server, tls);
  }

  async stop(): Promise<void> {
    const drained = this.#pipeline.drain();
    this.#silent.destroy();
    await drained;
    if (!this.#server.listening) {
      this.#pipeline.cut();
      return;
    }
    // The server listened until now, so that late clients were told that it stops.
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeIdleConnections();
    this.#silent.destroy();
    if (this.#pipeline.isIdle) await within(FLUSH_MS, closed);
    this.#server.closeAllConnections();
    await closed;
  }
}

function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
