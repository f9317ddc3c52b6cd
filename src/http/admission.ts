import type { IncomingMessage, ServerResponse } from 'node:http';
import { hostInUrl, isLoopback } from '../core/addresses.js';
import { LangoError } from '../core/errors.js';
import type { HttpExchange } from '../core/http.js';

export interface AdmissionRules {
  /** Whether to trust the headers X-Forwarded-Host, -Proto and -For. */
  readonly trustProxy: boolean;
  /** Host names of this server besides loopback and the address of the connection, as `name` or `name:port`. */
  readonly allowedHosts: readonly string[];
  /** Web origins that may call, as `https://app.example`. */
  readonly allowedOrigins: readonly string[];
  /** Refuses requests that arrived at any other address than a loopback one. Default: false. */
  readonly isLoopbackOnly?: boolean;
}

export interface Admission {
  /** Scheme, host and port that the client used. */
  readonly origin: string;
  /** The web origin of the page that calls, when it is one of `allowedOrigins`. */
  readonly crossOrigin: string | undefined;
}

const LOOPBACK_NAMES: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);
const HOST = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(\d{1,5}))?$/;

const EXPOSED_HEADERS =
  'A2A-Extensions, WWW-Authenticate, X-Request-Id, Retry-After, RateLimit, RateLimit-Policy, ETag, Last-Modified';
const ACCEPTED_HEADERS =
  'Authorization, Content-Type, A2A-Version, A2A-Extensions, Last-Event-ID, If-None-Match, X-Request-Id, Traceparent, Tracestate';
const PREFLIGHT_SECONDS = '600';

/** Checks Host and Origin against DNS rebinding and pages of other sites. Throws `invalid-input` or `forbidden`. */
export function createAdmission(rules: AdmissionRules): (request: IncomingMessage) => Admission {
  const allowedHosts = new Set(rules.allowedHosts.map(spelledAsHere));
  const allowedOrigins = new Set(rules.allowedOrigins.map((origin) => new URL(origin).origin));

  function isOurs(name: string, port: string | undefined, request: IncomingMessage): boolean {
    if (allowedHosts.has(name) || (port !== undefined && allowedHosts.has(`${name}:${port}`))) return true;
    // DNS rebinding needs a host name, so a request that names the address of its connection is safe.
    return LOOPBACK_NAMES.has(name) || name === hostInUrl(request.socket.localAddress ?? '');
  }

  /** The host of the last request: most of them name the same one. */
  let last = { host: '', ...partsOf('') };
  return (request) => {
    if (rules.isLoopbackOnly && !isLoopback(request.socket.localAddress ?? '')) {
      throw new LangoError(
        'forbidden',
        'This server does not authenticate callers (auth.mode is none), so it serves loopback addresses only.',
        { hint: 'Set auth.mode to token, jwt or mtls.' },
      );
    }
    const host = requestedHost(request, rules.trustProxy);
    if (host !== last.host) last = { host, ...partsOf(host) };
    const { name, port } = last;
    if (name === '') throw new LangoError('invalid-input', 'The Host header is not a host name.');
    if (!isOurs(name, port, request)) {
      throw new LangoError('forbidden', 'The Host header names no host of this server.', {
        hint: 'If it is a name of this server, add it to server.allowedHosts.',
      });
    }
    const origin = `${requestedScheme(request, rules)}://${host}`;
    const pageOrigin = request.headers.origin;
    if (pageOrigin === undefined || pageOrigin === origin) return { origin, crossOrigin: undefined };
    if (allowedOrigins.has(pageOrigin)) return { origin, crossOrigin: pageOrigin };
    throw new LangoError('forbidden', 'Pages of the origin in the Origin header may not call this server.', {
      hint: 'To allow them, add the origin to server.allowedOrigins.',
    });
  };
}

/** Returns the client's address: the last one in X-Forwarded-For behind a trusted proxy, else the socket's. */
export function clientAddress(request: IncomingMessage, trustProxy: boolean): string {
  const forwarded = trustProxy ? lastOf(request.headers['x-forwarded-for']) : undefined;
  return forwarded ?? request.socket.remoteAddress ?? 'unknown';
}

/** Sets the headers that let pages of an allowed origin read the response. */
export function shareWithOrigin(response: ServerResponse, origin: string): void {
  response.setHeader('Access-Control-Allow-Origin', origin);
  response.setHeader('Access-Control-Expose-Headers', EXPOSED_HEADERS);
  response.setHeader('Vary', 'Origin');
}

/** Responds to a browser's preflight request; returns false for any other request. */
export function sendPreflight({ request, response }: HttpExchange): boolean {
  if (request.method !== 'OPTIONS' || !request.headers['access-control-request-method']) return false;
  response.writeHead(204, {
    'Access-Control-Allow-Methods': 'GET, POST, DELETE',
    'Access-Control-Allow-Headers': ACCEPTED_HEADERS,
    'Access-Control-Max-Age': PREFLIGHT_SECONDS,
  });
  response.end();
  return true;
}

function requestedHost(request: IncomingMessage, trustProxy: boolean): string {
  const { rawHeaders } = request;
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) if (isHost(rawHeaders[at]!)) hosts += 1;
  // node:http uses the first of two Host headers, but a proxy before it may have used the second.
  if (hosts > 1) throw new LangoError('invalid-input', 'The request has more than one Host header.');
  const forwarded = trustProxy ? lastOf(request.headers['x-forwarded-host']) : undefined;
  return (forwarded ?? request.headers.host ?? '').toLowerCase();
}

const isHost = (header: string): boolean => header.length === 4 && header.toLowerCase() === 'host';

function requestedScheme({ headers, socket }: IncomingMessage, { trustProxy }: AdmissionRules): string {
  const forwarded = trustProxy ? lastOf(headers['x-forwarded-proto']) : undefined;
  const scheme = forwarded?.toLowerCase() ?? ('encrypted' in socket ? 'https' : 'http');
  return scheme === 'https' ? 'https' : 'http';
}

function lastOf(header: string | readonly string[] | undefined): string | undefined {
  const text = typeof header === 'string' ? header : header?.join(',');
  return text?.split(',').at(-1)?.trim() || undefined;
}

/** A host of the configuration, `name` or `name:port`, in the one spelling that requests are compared in. */
function spelledAsHere(host: string): string {
  const { name, port } = partsOf(host.toLowerCase());
  if (name === '') return host.toLowerCase();
  return port === undefined ? name : `${name}:${port}`;
}

/** The name and the port of a host in lower case; an empty name for what is no host. */
function partsOf(host: string): { readonly name: string; readonly port: string | undefined } {
  const [, name = '', port] = HOST.exec(host) ?? [];
  return { name: hostInUrl(name), port };
}

/** Segments of a path, of which none is `.` or `..`: those would lead out of the prefix. */
const PREFIX = /^((?:\/(?!\.{1,2}(?:\/|$))[\w.~-]+)+)\/*$/;

/** The path that a trusted proxy has before those of this server (X-Forwarded-Prefix); empty without one. */
export function forwardedPrefix({ headers }: IncomingMessage, trustProxy: boolean): string {
  const given = headers['x-forwarded-prefix'];
  return (trustProxy && typeof given === 'string' && PREFIX.exec(given.trim())?.[1]) || '';
}

/** Removes the prefix from the path of a request, for proxies that pass it on. Other paths stay as they are. */
export function removePrefix(request: IncomingMessage, prefix: string): void {
  const { url = '/' } = request;
  if (prefix === '' || !url.startsWith(prefix)) return;
  const rest = url.slice(prefix.length);
  if (/^([/?]|$)/.test(rest)) request.url = rest.startsWith('/') ? rest : `/${rest}`;
}
