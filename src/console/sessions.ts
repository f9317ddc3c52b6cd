import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { BoundedCache } from '../core/bounded-cache.js';
import { FLOW_SECONDS } from './oidc.js';

/** A session ends this long after its sign-in, even if it is used. */
const SESSION_SECONDS = 12 * 60 * 60;
const MAX_SESSIONS = 1_000;
/** Limits the sessions of one token, so that its holder cannot end the sessions of other tokens. */
const MAX_SESSIONS_OF_TOKEN = 100;
export const LINK_SECONDS = 60;
// Only a script of this origin can send these headers: a page of another origin would need a preflight, which is refused.
const LINK_HEADER = 'lango-console-link';
const CONSOLE_HEADER = 'lango-console';

interface Session {
  readonly authorization: string;
  readonly endsAt: number;
}

/** Stores the Authorization header of each sign-in, which is checked at each request: a replaced token ends its sessions. */
export class Sessions {
  readonly #sessions = new BoundedCache<string, Session>(MAX_SESSIONS);
  readonly #links = new BoundedCache<string, Session>(MAX_SESSIONS);
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Returns the id of a new session. Beyond 100 sessions of a token, or 1,000 in all, the oldest one ends. */
  open(authorization: string): string {
    return this.#add(this.#sessions, authorization, SESSION_SECONDS);
  }

  /** Returns the code of a sign-in link, which opens one session within `LINK_SECONDS`. */
  openLink(authorization: string): string {
    return this.#add(this.#links, authorization, LINK_SECONDS);
  }

  #add(all: BoundedCache<string, Session>, authorization: string, seconds: number): string {
    const ofToken = [...all].filter(([, session]) => session.authorization === authorization);
    if (ofToken.length >= MAX_SESSIONS_OF_TOKEN) all.take(ofToken[0]![0]);
    const id = randomBytes(32).toString('base64url');
    all.set(id, { authorization, endsAt: this.#now() + seconds * 1_000 });
    return id;
  }

  /** Returns the Authorization header of the sign-in link in a request and removes the link; undefined without a valid one. */
  redeemLink({ headers }: IncomingMessage): string | undefined {
    const code = headers[LINK_HEADER];
    const link = typeof code === 'string' ? this.#links.take(code) : undefined;
    return link && link.endsAt > this.#now() ? link.authorization : undefined;
  }

  close(id: string): void {
    this.#sessions.take(id);
  }

  /** Returns the Authorization header of the request's session; undefined without a valid session. */
  authorizationOf(request: IncomingMessage, baseUrl: string): string | undefined {
    const { headers } = request;
    const site = headers['sec-fetch-site'];
    if (headers[CONSOLE_HEADER] !== '1' || (site !== undefined && site !== 'same-origin')) return undefined;
    if (headers.origin !== undefined && headers.origin !== new URL(baseUrl).origin) return undefined;
    const id = sessionIdOf(request, baseUrl);
    const session = id === undefined ? undefined : this.#sessions.get(id);
    if (id === undefined || session === undefined) return undefined;
    if (session.endsAt > this.#now()) return session.authorization;
    this.close(id);
    return undefined;
  }
}

export const sessionIdOf = (request: IncomingMessage, baseUrl: string) =>
  cookieIn(request, cookieName(baseUrl, 'session'));

/** Returns the flow of the sign-in that the browser of a request began at an issuer. */
export const flowOf = (request: IncomingMessage, baseUrl: string) =>
  cookieIn(request, cookieName(baseUrl, 'sign-in'));

function cookieIn({ headers }: IncomingMessage, name: string): string | undefined {
  const cookies = (headers.cookie ?? '').split(';').map((text) => text.trim());
  return cookies.find((text) => text.startsWith(`${name}=`))?.slice(name.length + 1);
}

/** The Set-Cookie header of a session; without an id it removes the cookie. */
export const sessionCookie = (baseUrl: string, id?: string) =>
  cookie(baseUrl, { name: 'session', value: id, seconds: SESSION_SECONDS, sameSite: 'Strict' });

/** The cookie of a sign-in at an issuer. It is `Lax`, because browsers send no `Strict` cookie when the issuer redirects back. */
export const flowCookie = (baseUrl: string, flow?: string) =>
  cookie(baseUrl, { name: 'sign-in', value: flow, seconds: FLOW_SECONDS, sameSite: 'Lax' });

interface Cookie {
  readonly name: 'session' | 'sign-in';
  readonly value: string | undefined;
  readonly seconds: number;
  readonly sameSite: 'Strict' | 'Lax';
}

function cookie(baseUrl: string, { name, value = '', seconds, sameSite }: Cookie): string {
  const { protocol, pathname } = new URL(baseUrl);
  const age = value === '' ? 0 : seconds;
  const secure = protocol === 'https:' ? '; Secure' : '';
  const rules = `Path=${pathname}; Max-Age=${age}; HttpOnly; SameSite=${sameSite}${secure}`;
  return `${cookieName(baseUrl, name)}=${value}; ${rules}`;
}

/** Includes the port, because browsers send cookies to all ports of a host. */
function cookieName(baseUrl: string, name: Cookie['name']): string {
  const { port } = new URL(baseUrl);
  return port === '' ? `lango-${name}` : `lango-${name}-${port}`;
}
