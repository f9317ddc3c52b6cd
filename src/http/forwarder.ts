import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { adviceText, errorText, isLangoError, LangoError } from '../core/errors.js';
import { statusOf } from '../core/http.js';
import { referencedSecrets, type Scrubber, type SecretUse } from '../core/secrets.js';
import { readBytes } from './body.js';

export interface ForwarderOptions {
  /** The folder for the sockets. It is created if it is missing. */
  readonly folder: string;
  /** The egress client. */
  readonly webFetch: typeof fetch;
  /** Throws when a request may not be sent. Called before any reference is replaced. */
  readonly permit: (request: ForwardedRequest) => void;
  /** Replaces references in a header by secrets. `use.scrubbed` settles once the response is scrubbed. */
  readonly resolve: (value: string, host: string, use: ForwardedUse) => Promise<string>;
  /** Whether the host is this machine, whose services are called over plain HTTP. */
  readonly isLocal: (host: string) => boolean;
  readonly scrubber: Scrubber;
}

/** A request of a command, as it would be sent. */
export interface ForwardedRequest {
  readonly method: string;
  readonly url: URL;
  /** The names of the secrets that its headers refer to, each once. */
  readonly secrets: readonly string[];
  readonly headerNames: readonly string[];
}

type ForwardedUse = Required<Pick<SecretUse, 'signal' | 'scrubbed'>>;

/** Each connection may hold a response in memory. */
const MAX_CONNECTIONS = 16;
const BODY_LIMITS = { bodyBytes: 1024 * 1024, bodySeconds: 30 };
/** A command writes this reference into a header. The forwarder replaces it, so that the command never sees the value. */
const REFERENCE = /\{\{secret:([A-Za-z][A-Za-z0-9_.-]{0,63}):http\}\}/g;
/** Headers of one connection (RFC 9110 section 7.6.1), and those that describe a body that is decoded here. */
const DROPPED_HEADERS: ReadonlySet<string> = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
  ...['host', 'expect', 'content-length', 'content-encoding', 'accept-encoding', 'proxy-authorization'],
]);

/**
 * Opens the HTTP forwarder of one command: a Unix socket that takes plain HTTP requests, inserts secrets into their headers
 * and sends them on over TLS. `folder` contains only the socket. A sandbox mounts it, so it is open to the account that
 * commands run as; its parent folder is closed to other users of the machine.
 */
export async function openForwarder(options: ForwarderOptions) {
  await mkdir(options.folder, { recursive: true, mode: 0o700 });
  const outer = await mkdtemp(join(options.folder, 'lango-'));
  const folder = join(outer, 'out');
  const socket = join(folder, 'http.sock');
  const server = createServer((request, response) => void handle(request, response, options));
  server.maxConnections = MAX_CONNECTIONS;
  await mkdir(folder);
  // The umask may close what is made to the account that commands run as.
  await chmod(folder, 0o711);
  await once(server.listen(socket), 'listening');
  await chmod(socket, 0o666);
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    server.close();
    await rm(outer, { recursive: true, force: true });
  };
  return { socket, folder, close };
}

async function handle(
  request: IncomingMessage,
  response: ServerResponse,
  options: ForwarderOptions,
): Promise<void> {
  const ended = new AbortController();
  response.once('close', () => ended.abort());
  const { promise: scrubbed, resolve } = Promise.withResolvers<void>();
  try {
    const received = await forward(request, options, { signal: ended.signal, scrubbed });
    const bytes = Buffer.from(await received.arrayBuffer());
    const encoding = bytes.includes(0) ? 'latin1' : 'utf8';
    const body = Buffer.from(options.scrubber.text(bytes.toString(encoding)), encoding);
    const headers = [...received.headers].filter(([name]) => !DROPPED_HEADERS.has(name));
    const safe = headers.map(([name, value]) => [name, options.scrubber.text(value)] as const);
    response.writeHead(received.status, Object.fromEntries(safe)).end(body);
  } catch (error) {
    if (response.headersSent || response.destroyed) return;
    const status = isLangoError(error) ? statusOf(error.code)[0] : 502;
    const text = isLangoError(error) ? adviceText(error) : errorText(error);
    response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' });
    response.end(`Lango did not send this request: ${options.scrubber.text(text)}\n`);
  } finally {
    resolve();
  }
}

/** Sends a request on with its references resolved. Refuses one without: only hosts that a secret permits may be reached. */
async function forward(
  request: IncomingMessage,
  { webFetch, resolve, permit, isLocal }: ForwarderOptions,
  use: ForwardedUse,
): Promise<Response> {
  const { method = 'GET', url = '/', rawHeaders } = request;
  const target = targetOf(url, request.headers.host, isLocal);
  const given: (readonly [name: string, value: string])[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (DROPPED_HEADERS.has(name.toLowerCase())) continue;
    given.push([name, rawHeaders[index + 1]!.replace(REFERENCE, '{{secret:$1}}')]);
  }
  const secrets = referencedSecrets(given.map(([, value]) => value).join('\n'));
  if (secrets.length === 0) {
    throw new LangoError('forbidden', 'The forwarder sends only requests with a secret in a header.', {
      hint: 'Write {{secret:NAME:http}} in a header, with a secret that may be sent to this host.',
    });
  }
  permit({ method, url: target, secrets, headerNames: given.map(([name]) => name) });
  const headers = new Headers();
  for (const [name, value] of given) {
    const hasReference = referencedSecrets(value).length > 0;
    headers.append(name, hasReference ? await resolve(value, target.hostname, use) : value);
  }
  const body = await readBytes(request, BODY_LIMITS);
  const content = body.length > 0 && { body: new Uint8Array(body) };
  return webFetch(target, { method, headers, signal: use.signal, ...content });
}

/** Returns the URL to request, with https unless the host is this machine. The request line holds a path or a whole URL. */
function targetOf(url: string, host: string | undefined, isLocal: (host: string) => boolean): URL {
  const target = URL.parse(url.startsWith('/') ? `http://${host ?? ''}${url}` : url);
  if (target?.protocol !== 'http:' || target.username !== '') {
    throw new LangoError('invalid-input', 'The request names no host: write http://HOST/PATH.');
  }
  if (!isLocal(target.hostname)) target.protocol = 'https:';
  return target;
}
