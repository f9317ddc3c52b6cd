import { once } from 'node:events';
import { Agent, request as httpRequest, type ClientRequest } from 'node:http';
import { Agent as SecureAgent, request as httpsRequest, type AgentOptions } from 'node:https';
import { connect, isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { plainHost } from '../core/addresses.js';
import { codeOf } from '../core/errors.js';
import { percentDecoded } from '../core/text.js';
import { portOf } from './address-check.js';
import { refusal } from './proxy.js';

/** Sends requests for http addresses to a proxy, which sends them on. */
export class ForwardingAgent extends Agent {
  readonly #proxy: URL;

  constructor(proxy: URL) {
    super(addressOf(proxy));
    this.#proxy = proxy;
  }

  /** Node calls it with each request, before the head of the request is written. */
  addRequest(request: ClientRequest, options: object): void {
    request.path = `http://${String(request.getHeader('host'))}${request.path}`;
    for (const [name, value] of Object.entries(loginOf(this.#proxy))) request.setHeader(name, value);
    const parent = Agent.prototype as unknown as Pick<ForwardingAgent, 'addRequest'>;
    parent.addRequest.call(this, request, options);
  }

  override createConnection(...[options, connected]: Parameters<Agent['createConnection']>) {
    if (this.#proxy.protocol !== 'https:') return super.createConnection(options, connected);
    const address = addressOf(this.#proxy);
    return connectTls({ ...address, ...(isIP(address.host) === 0 && { servername: address.host }) });
  }
}

/** Reaches https addresses through a tunnel of a proxy, which sees only the name and the port. */
export class TunnelingAgent extends SecureAgent {
  readonly #proxy: URL;

  constructor(proxy: URL, options: AgentOptions) {
    super(options);
    this.#proxy = proxy;
  }

  override createConnection(...[options, connected]: Parameters<SecureAgent['createConnection']>) {
    const { host, port } = options as { readonly host?: string; readonly port?: number };
    const name = host?.includes(':') ? `[${host}]` : host;
    openTunnel(this.#proxy, `${name}:${port}`).then(
      (socket) => connected?.(null, super.createConnection({ ...options, socket } as typeof options)!),
      (error: Error) => connected?.(error, undefined as never),
    );
    return undefined;
  }
}

const TUNNEL_MS = 30_000;

/** Opens a connection to `target` (`host:port`) through the proxy. Rejects with a sentence about the proxy. */
function openTunnel(proxy: URL, target: string): Promise<Duplex> {
  const opened = Promise.withResolvers<Duplex>();
  const fail = (what: string): void => opened.reject(new Error(`The proxy ${proxy.host} ${what}`));
  const send = proxy.protocol === 'https:' ? httpsRequest : httpRequest;
  const request = send({
    ...{ ...addressOf(proxy), method: 'CONNECT', path: target },
    ...{ headers: { host: target, ...loginOf(proxy) }, agent: false, timeout: TUNNEL_MS },
  });
  request.once('connect', ({ statusCode = 0 }, socket, head) => {
    if (statusCode === 200) {
      if (head.length > 0) socket.unshift(head);
      socket.setTimeout(0);
      return opened.resolve(socket);
    }
    socket.destroy();
    fail(refusal(statusCode, target));
  });
  request.once('timeout', () => request.destroy(new Error('no answer in time')));
  request.once('error', ({ code, message }: NodeJS.ErrnoException) =>
    fail(`cannot be reached (${code ?? message}).`),
  );
  request.end();
  return opened.promise;
}

const addressOf = (proxy: URL) => ({ host: plainHost(proxy.hostname), port: Number(portOf(proxy)) });

function loginOf({ username, password }: URL): Readonly<Record<string, string>> {
  if (username === '' && password === '') return {};
  const login = [username, password].map(percentDecoded).join(':');
  return { 'proxy-authorization': `Basic ${Buffer.from(login).toString('base64')}` };
}

const CONNECT_MS = 3_000;

/** Connects to a proxy. Resolves with the reason when that fails. */
export async function connectProblem(proxy: URL): Promise<string | undefined> {
  const socket = connect(addressOf(proxy));
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(CONNECT_MS) });
    return undefined;
  } catch (error) {
    return codeOf(error) ?? 'no answer in time';
  } finally {
    socket.destroy();
  }
}
