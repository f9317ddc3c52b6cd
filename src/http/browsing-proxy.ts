import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, request as openRequest } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex, Readable } from 'node:stream';
import { errorText } from '../core/errors.js';
import { isAddressRefusal, portOf } from './address-check.js';
import { createCheckedAgents, type CheckedAgents } from './checked-connections.js';
import { constantTimeEquals } from './verifiers.js';

export interface BrowsingProxyOptions {
  /** Hosts that may have a private or loopback address, as `name` or `name:port`. */
  readonly allowPrivate: readonly string[];
  /** Maximum bytes that may arrive until the next `renew`. At the limit the proxy ends all connections. */
  readonly maxBytes: number;
  /** Called once for each connection that failed or was refused. */
  readonly onFailure: (failure: ConnectionFailure) => void;
}

export interface ConnectionFailure {
  /** `name:port`, as the browser asked for it. */
  readonly host: string;
  /** `private`: the address is refused. `weight`: `maxBytes` are used up. `unreachable`: the connection failed. */
  readonly why: 'private' | 'weight' | 'unreachable';
}

export type BrowsingProxy = Awaited<ReturnType<typeof openBrowsingProxy>>;

const PROXY_USER = 'browser';
const LOGIN_URL = 'http://login.proxy.invalid/';

const CONNECTIONS_MAX = 256;
const IDLE_MS = 120_000;
const HOP_HEADERS: ReadonlySet<string> = new Set([
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te'],
  ...['trailer', 'transfer-encoding', 'upgrade'],
]);

/** Opens the egress of one browser: an HTTP proxy on loopback, with a password, that checks the address of each connection. */
export async function openBrowsingProxy(options: BrowsingProxyOptions) {
  const connections = new ProxyConnections(options);
  const password = randomBytes(PASSWORD_BYTES).toString('base64url');
  const isLogin = constantTimeEquals(`Basic ${Buffer.from(`${PROXY_USER}:${password}`).toString('base64')}`);
  const isOurs = ({ headers }: IncomingMessage) => isLogin(headers['proxy-authorization'] ?? '');
  const server = createServer((request, response) => {
    if (!isOurs(request)) response.writeHead(407, { 'Proxy-Authenticate': CHALLENGE }).end();
    else if (request.url === LOGIN_URL) response.writeHead(200, { 'Access-Control-Allow-Origin': '*' }).end();
    else connections.forward(request, response);
  });
  server.maxConnections = CONNECTIONS_MAX;
  server.on('connect', (request, client, head) => {
    if (isOurs(request)) connections.tunnel(request, client, head);
    else refuse(client, 407, `Proxy-Authenticate: ${CHALLENGE}\r\n`);
  });
  server.on('upgrade', (_request, client) => client.destroy());
  server.on('clientError', (_error, client) => client.destroy());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    /** The port on 127.0.0.1. */
    port: (server.address() as AddressInfo).port,
    /** The browser's credentials (HTTP Basic), and a URL of the proxy itself at which it can log in. Others get a 407. */
    login: { username: PROXY_USER, password, url: LOGIN_URL },
    /** Starts a new count of bytes and ends the connections that are still open. */
    renew: () => connections.renew(),
    async close(): Promise<void> {
      connections.end();
      server.close();
      server.closeAllConnections();
      if (server.listening) await once(server, 'close');
    },
  };
}

const PASSWORD_BYTES = 32;
const CHALLENGE = 'Basic realm="lango"';

class ProxyConnections {
  readonly #options: BrowsingProxyOptions;
  readonly #agents: CheckedAgents;
  readonly #open = new Set<Duplex>();
  #bytes = 0;

  constructor(options: BrowsingProxyOptions) {
    this.#options = options;
    this.#agents = createCheckedAgents({ allowPrivate: options.allowPrivate });
  }

  renew(): void {
    this.end();
    this.#bytes = 0;
  }

  end(): void {
    for (const stream of this.#open) stream.destroy();
    this.#open.clear();
  }

  /** Forwards a request for an http:// address. */
  forward(request: IncomingMessage, response: ServerResponse): void {
    const url = targetOf(request.url ?? '');
    const agent = url && this.#allowed(url, () => this.#agents.of(url));
    if (!agent) {
      response.writeHead(403).end();
      return;
    }
    const method = request.method ?? 'GET';
    const headers = withoutHopHeaders(request.headers);
    const outgoing = openRequest(url, { method, headers, agent });
    outgoing.on('socket', (socket) => this.#track(socket));
    outgoing.setTimeout(IDLE_MS, () => outgoing.destroy(new Error('silent for too long')));
    outgoing.on('error', (error) => {
      const why = this.#report(url, error);
      if (response.headersSent) response.destroy();
      else response.writeHead(why === 'private' ? 403 : 502).end();
    });
    outgoing.on('response', (incoming) => {
      this.#count(url, incoming);
      incoming.on('error', () => response.destroy());
      response.writeHead(incoming.statusCode ?? 502, withoutRawHopHeaders(incoming.rawHeaders));
      incoming.pipe(response);
    });
    response.on('close', () => outgoing.destroy());
    request.on('error', () => outgoing.destroy());
    request.pipe(outgoing);
  }

  /** Opens a tunnel, for https:// and for WebSockets. */
  tunnel(request: IncomingMessage, client: Duplex, head: Buffer): void {
    client.on('error', () => client.destroy());
    const url = targetOf(`http://${request.url ?? ''}`);
    const upstream = url && this.#allowed(url, () => this.#agents.connect(url));
    if (!upstream) return refuse(client, 403);
    this.#track(upstream);
    this.#track(client);
    upstream.on('error', (error) => refuse(client, this.#report(url, error) === 'private' ? 403 : 502));
    upstream.on('close', () => client.destroy());
    client.on('close', () => upstream.destroy());
    upstream.once('connect', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.write(head);
      this.#count(url, upstream);
      upstream.pipe(client);
      client.pipe(upstream);
    });
  }

  /** Returns what `open` opens; undefined, with a report, when it may not. */
  #allowed<Opened>(url: URL, open: () => Opened): Opened | undefined {
    if (this.#isFull(url)) return undefined;
    try {
      return open();
    } catch (error) {
      this.#report(url, error);
      return undefined;
    }
  }

  #track(stream: Duplex): void {
    this.#open.add(stream);
    stream.once('close', () => this.#open.delete(stream));
  }

  #count(url: URL, stream: Readable): void {
    stream.on('data', (chunk: Buffer) => {
      this.#bytes += chunk.length;
      if (this.#isFull(url)) this.end();
    });
  }

  #isFull(url: URL): boolean {
    const isFull = this.#bytes >= this.#options.maxBytes;
    if (isFull) this.#options.onFailure({ host: hostOf(url), why: 'weight' });
    return isFull;
  }

  #report(url: URL, error: unknown): ConnectionFailure['why'] {
    const why = isAddressRefusal(errorText(error)) ? 'private' : 'unreachable';
    this.#options.onFailure({ host: hostOf(url), why });
    return why;
  }
}

function targetOf(text: string): URL | undefined {
  const url = URL.parse(text);
  return url?.protocol === 'http:' && url.hostname !== '' ? url : undefined;
}

const hostOf = (url: URL): string => `${url.hostname}:${portOf(url)}`;

function withoutHopHeaders(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_HEADERS.has(name)));
}

function withoutRawHopHeaders(headers: readonly string[]): string[] {
  return headers.filter((_, index) => !HOP_HEADERS.has(headers[index - (index % 2)]!.toLowerCase()));
}

function refuse(client: Duplex, status: number, headers = ''): void {
  if (client.destroyed) return;
  client.end(`HTTP/1.1 ${status} Refused\r\n${headers}Content-Length: 0\r\nConnection: close\r\n\r\n`);
}
