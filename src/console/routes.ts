import { readFile, readdir } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { LangoError } from '../core/errors.js';
import type { HttpExchange, HttpRoute } from '../core/http.js';
import type { OidcSignIn } from './oidc.js';
import { cookieIn, LINK_SECONDS, requirePage, setCookie, type Sessions } from './sessions.js';

export interface ConsoleOptions {
  readonly folder: string;
  readonly sessions: Sessions;
  readonly oidc?: OidcSignIn | undefined; // Undefined: people sign in with a token only.
}

const PAGES = '/console/';
const SESSION = '/console/session';
const LINK = '/console/link';
const OIDC = '/console/oidc';
const CALLBACK = `${OIDC}/callback`;
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
};
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ');
const NO_STORE = { 'Cache-Control': 'no-store' };
const JSON_HEADERS = { ...NO_STORE, 'Content-Type': 'application/json' };
const SAFE_HEADERS = {
  'Content-Security-Policy': POLICY,
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
};

export const isConsolePath = (path: string): boolean => path === '/console' || path.startsWith(PAGES);

/** Leads a browser from the root of the server to the console, or says there how to switch the console on. */
export function createRootRoute(isOn: boolean): HttpRoute {
  return async (exchange) => {
    const { path, request, response, baseUrl } = exchange;
    const isPage = request.method === 'GET' && request.headers.accept?.includes('text/html') === true;
    if (path !== '/' || !isPage) return false;
    exchange.anyone();
    if (isOn) response.writeHead(302, { ...NO_STORE, Location: `${baseUrl}${PAGES}` }).end();
    else response.writeHead(404, OFF_HEADERS).end(SWITCHED_OFF);
    return true;
  };
}

const OFF_HEADERS = { ...NO_STORE, ...SAFE_HEADERS, 'Content-Type': 'text/plain' };
const SWITCHED_OFF =
  'This is a Lango server. It shows no console: its operator switches it on with console.enabled: true.\n';

/** Serves the console: its pages, which are public, and the sign-in. */
export function createConsoleRoute({ folder, sessions, oidc }: ConsoleOptions): HttpRoute {
  let files: Promise<ReadonlyMap<string, Buffer>> | undefined;
  return async (exchange) => {
    const { path, request, response } = exchange;
    if (!isConsolePath(path)) return false;
    if (path === SESSION) await handleSession(exchange, sessions);
    else if (path === LINK) await handleLink(exchange, sessions);
    else if (path.startsWith(OIDC)) await handleOidc(exchange, sessions, oidc);
    else {
      exchange.anyone();
      if (request.method !== 'GET' && request.method !== 'HEAD') throw nothingAt(exchange);
      if (path === '/console') response.writeHead(308, { Location: `${exchange.baseUrl}${PAGES}` }).end();
      else sendFile(exchange, await (files ??= readPages(folder)));
    }
    return true;
  };
}

/** POST exchanges the bearer token of the request, or a sign-in link, for a session. DELETE ends the session. */
async function handleSession(exchange: HttpExchange, sessions: Sessions): Promise<void> {
  const { request, response, baseUrl } = exchange;
  if (request.method !== 'POST' && request.method !== 'DELETE') throw nothingAt(exchange);
  const linked = request.method === 'POST' ? sessions.redeemLink(request) : undefined;
  if (linked === undefined) await exchange.caller();
  else exchange.anyone();
  // A session cannot open another one; otherwise it could be extended forever.
  const authorization = linked ?? request.headers.authorization;
  if (request.method === 'DELETE') {
    sessions.close(cookieIn(request, baseUrl, 'session') ?? '');
    response.setHeader('Set-Cookie', setCookie(baseUrl, 'session'));
  } else if (authorization !== undefined) {
    const session = sessions.open(authorization, requirePage(request));
    response.setHeader('Set-Cookie', setCookie(baseUrl, 'session', session));
  }
  response.writeHead(204, NO_STORE).end();
}

/** POST creates a sign-in link for the bearer token of the request. Without authentication there is no token and no link. */
async function handleLink(exchange: HttpExchange, sessions: Sessions): Promise<void> {
  const { request, response } = exchange;
  if (request.method !== 'POST') throw nothingAt(exchange);
  await exchange.caller();
  const { authorization } = request.headers;
  const link =
    authorization === undefined ? {} : { code: sessions.openLink(authorization), seconds: LINK_SECONDS };
  response.writeHead(200, JSON_HEADERS).end(JSON.stringify(link));
}

/**
 * GET tells whether people can sign in at an issuer. A page POSTs to `begin` for the address there, and `callback` opens the
 * session, for that page.
 */
async function handleOidc(exchange: HttpExchange, sessions: Sessions, oidc?: OidcSignIn): Promise<void> {
  const { path, baseUrl, request, response, query } = exchange;
  exchange.anyone();
  const isBegin = path === `${OIDC}/begin`;
  if (request.method !== (isBegin ? 'POST' : 'GET')) throw nothingAt(exchange);
  if (path === OIDC) {
    response.writeHead(200, JSON_HEADERS).end(JSON.stringify({ enabled: oidc !== undefined }));
  } else if (oidc && isBegin) {
    const { url, flow } = await oidc.begin(`${baseUrl}${CALLBACK}`, requirePage(request));
    response.setHeader('Set-Cookie', setCookie(baseUrl, 'sign-in', flow));
    response.writeHead(200, JSON_HEADERS).end(JSON.stringify({ url }));
  } else if (oidc && path === CALLBACK) {
    const address = new URL(`${baseUrl}${CALLBACK}?${query.toString()}`);
    const signedIn = await oidc.finish(address, cookieIn(request, baseUrl, 'sign-in') ?? '');
    const session = sessions.open(...signedIn);
    response.setHeader('Set-Cookie', [setCookie(baseUrl, 'session', session), setCookie(baseUrl, 'sign-in')]);
    response.writeHead(302, { ...NO_STORE, Location: `${baseUrl}${PAGES}` }).end();
  } else throw nothingAt(exchange);
}

function sendFile(exchange: HttpExchange, files: ReadonlyMap<string, Buffer>): void {
  const { path, request, response } = exchange;
  const name = path === PAGES ? 'index.html' : path.slice(PAGES.length);
  const content = files.get(name);
  if (content === undefined) throw nothingAt(exchange);
  response.writeHead(200, {
    ...SAFE_HEADERS,
    'Content-Type': TYPES[extname(name)],
    'Content-Length': content.length,
    // The names of scripts and styles hold a hash of their content.
    'Cache-Control': name === 'index.html' ? 'no-cache' : 'public, max-age=31536000, immutable',
  });
  response.end(request.method === 'HEAD' ? undefined : content);
}

/** Reads all pages into memory, so that the path of a request is never used as the path of a file. */
async function readPages(folder: string): Promise<ReadonlyMap<string, Buffer>> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => extname(name) in TYPES);
  return new Map(
    await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name))] as const)),
  );
}

function nothingAt({ request, path }: HttpExchange): LangoError {
  return new LangoError('not-found', `There is nothing at ${request.method} ${path}.`);
}
