import { hash, randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { BoundedCache } from '../core/bounded-cache.js';
import { LangoError } from '../core/errors.js';
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
/** The form of the key that a page makes up and keeps where only pages of its origin read it. */
const PAGE_KEY = /^[\w-]{20,100}$/;

type Session = Readonly<{ authorization: string; page: string; endsAt: number }>;

/**
 * Returns a name of the console in one browser, which only its own pages can make the browser send; undefined for any other
 * request. A cookie cannot prove that: pages of other ports and of sibling domains can set one of the same name.
 */
export function pageOf({ headers }: IncomingMessage): string | undefined {
  const key = headers[CONSOLE_HEADER];
  return typeof key === 'string' && PAGE_KEY.test(key) ? hash('sha256', key, 'base64url') : undefined;
}

/** Like `pageOf`; throws `invalid-input` when the request does not come from a page. */
export function requirePage(request: IncomingMessage): string {
  const page = pageOf(request);
  if (page !== undefined) return page;
  throw new LangoError('invalid-input', 'Only a page of the console signs in here.', {
    hint: 'Open /console/ in a browser. Its page sends the header Lango-Console.',
  });
}

/** Stores the Authorization header of each sign-in, which is checked at each request: a replaced token ends its sessions. */
export class Sessions {
  readonly #sessions = new BoundedCache<string, Session>(MAX_SESSIONS);
  readonly #links = new BoundedCache<string, Session>(MAX_SESSIONS);
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Returns the id of a new session of a page. Beyond 100 sessions of a token, or 1,000 in all, the oldest one ends. */
  open(authorization: string, page: string): string {
    return this.#add(this.#sessions, { authorization, page }, SESSION_SECONDS);
  }

  /** Returns the code of a sign-in link, which opens one session within `LINK_SECONDS`. */
  openLink(authorization: string): string {
    return this.#add(this.#links, { authorization, page: '' }, LINK_SECONDS);
  }

  #add(all: BoundedCache<string, Session>, of: Omit<Session, 'endsAt'>, seconds: number): string {
    const { authorization } = of;
    const ofToken = [...all].filter(([, session]) => session.authorization === authorization);
    if (ofToken.length >= MAX_SESSIONS_OF_TOKEN) all.take(ofToken[0]![0]);
    const id = randomBytes(32).toString('base64url');
    all.set(id, { ...of, endsAt: this.#now() + seconds * 1_000 });
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

  /** Returns the Authorization header of the session of the request and its page; undefined without a valid session. */
  authorizationOf(request: IncomingMessage, baseUrl: string): string | undefined {
    const { headers } = request;
    const site = headers['sec-fetch-site'];
    const page = pageOf(request);
    if (page === undefined || (site !== undefined && site !== 'same-origin')) return undefined;
    if (headers.origin !== undefined && headers.origin !== new URL(baseUrl).origin) return undefined;
    const id = cookieIn(request, baseUrl, 'session');
    if (id === undefined) return undefined;
    const session = this.#sessions.get(id);
    if (session?.page !== page) return undefined;
    if (session.endsAt > this.#now()) return session.authorization;
    this.close(id);
    return undefined;
  }
}

/** The cookies of a session, and of a sign-in at an issuer: it is `Lax`, since the redirect back carries no `Strict` one. */
const COOKIES = {
  session: { seconds: SESSION_SECONDS, sameSite: 'Strict' },
  'sign-in': { seconds: FLOW_SECONDS, sameSite: 'Lax' },
} as const;
type CookieName = keyof typeof COOKIES;

/** Returns the value of a cookie; undefined when there is none, or more than one: others set all but one of them. */
export function cookieIn({ headers }: IncomingMessage, baseUrl: string, name: CookieName) {
  const start = `${cookieName(baseUrl, name)}=`;
  const cookies = (headers.cookie ?? '').split(';').map((text) => text.trim());
  const [value, ...others] = cookies.filter((text) => text.startsWith(start));
  return others.length === 0 ? value?.slice(start.length) : undefined;
}

/** Returns the header that sets a cookie, or removes it when it has no value. */
export function setCookie(baseUrl: string, name: CookieName, value = ''): string {
  const { protocol, pathname } = new URL(baseUrl);
  const { seconds, sameSite } = COOKIES[name];
  const secure = protocol === 'https:' ? '; Secure' : '';
  const rules = `Path=${pathname}; Max-Age=${value === '' ? 0 : seconds}; HttpOnly; SameSite=${sameSite}${secure}`;
  return `${cookieName(baseUrl, name)}=${value}; ${rules}`;
}

/**
 * Includes the port, because browsers send cookies to all ports of a host. Browsers accept the prefixes from a page of this
 * host over TLS only; `__Host-` is for the whole host.
 */
function cookieName(baseUrl: string, name: CookieName): string {
  const { port, protocol, pathname } = new URL(baseUrl);
  const prefix = protocol !== 'https:' ? '' : pathname === '/' ? '__Host-' : '__Secure-';
  return port === '' ? `${prefix}lango-${name}` : `${prefix}lango-${name}-${port}`;
}
