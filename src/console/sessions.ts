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

type Session = Readonly<{ authorization: string; endsAt: number }>;

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
    const id = cookieIn(request, baseUrl, 'session');
    const session = id && this.#sessions.get(id);
    if (!session) return undefined;
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

export function cookieIn({ headers }: IncomingMessage, baseUrl: string, name: CookieName) {
  const start = `${cookieName(baseUrl, name)}=`;
  const cookies = (headers.cookie ?? '').split(';').map((text) => text.trim());
  return cookies.find((text) => text.startsWith(start))?.slice(start.length);
}

/** Returns the header that sets a cookie, or removes it when it has no value. */
export function setCookie(baseUrl: string, name: CookieName, value = ''): string {
  const { protocol, pathname } = new URL(baseUrl);
  const { seconds, sameSite } = COOKIES[name];
  const secure = protocol === 'https:' ? '; Secure' : '';
  const rules = `Path=${pathname}; Max-Age=${value === '' ? 0 : seconds}; HttpOnly; SameSite=${sameSite}${secure}`;
  return `${cookieName(baseUrl, name)}=${value}; ${rules}`;
}

/** Includes the port, because browsers send cookies to all ports of a host. */
function cookieName(baseUrl: string, name: CookieName): string {
  const { port } = new URL(baseUrl);
  return port === '' ? `lango-${name}` : `lango-${name}-${port}`;
}
