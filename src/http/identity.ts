import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { LangoError } from '../core/errors.js';
import type { Caller } from '../core/http.js';
import type { Logger } from '../core/logger.js';

/** Says who sends a request. */
export interface Authenticator {
  /** Throws `unauthenticated`, or `too-many` after many failures from one `address`. */
  authenticate(request: IncomingMessage, address: string): Caller;
}

export interface AuthenticatorOptions {
  readonly mode: 'token' | 'none';
  /** Required in mode `token`. */
  readonly token?: string;
  /** Whose data it is; 'default' with a token, 'local' without. */
  readonly owner?: string;
  readonly logger: Logger;
}

/** Throws `invalid-config` when mode `token` has no token. */
export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  if (options.mode === 'none') {
    const caller: Caller = { owner: options.owner ?? 'local', tenant: '' };
    return { authenticate: () => caller };
  }
  if (!options.token) throw new LangoError('invalid-config', 'The authentication token is missing.');
  return new TokenAuthenticator(
    digest(options.token),
    { owner: options.owner ?? 'default', tenant: '' },
    options.logger,
  );
}

class TokenAuthenticator implements Authenticator {
  readonly #digest: Buffer;
  readonly #caller: Caller;
  readonly #logger: Logger;
  readonly #failures = new FailureCounter();

  constructor(tokenDigest: Buffer, caller: Caller, logger: Logger) {
    this.#digest = tokenDigest;
    this.#caller = caller;
    this.#logger = logger;
  }

  authenticate(request: IncomingMessage, address: string): Caller {
    const given = bearerToken(request.headers.authorization);
    // Hashing first makes both sides the same length, so that the comparison tells nothing.
    if (given !== undefined && timingSafeEqual(digest(given), this.#digest)) return this.#caller;
    // Only failures are slowed down: many clients may share the address of one proxy.
    if (this.#failures.isOver(address)) {
      throw new LangoError('too-many', 'Too many failed authentications.', {
        retryable: true,
        retryAfterMs: WINDOW_MS,
      });
    }
    this.#failures.add(address);
    const reason = given === undefined ? 'no bearer token' : 'wrong token';
    this.#logger.warn('authentication failed', { address, reason });
    throw new LangoError('unauthenticated', 'A valid bearer token is required.', {
      hint: 'Send it in the header "Authorization: Bearer TOKEN".',
    });
  }
}

const WINDOW_MS = 60_000;
const FAILURES_PER_WINDOW = 20;
const ADDRESSES = 1_000;

/** Failures of each address in its current minute; the oldest address is forgotten when there are too many. */
class FailureCounter {
  readonly #windows = new Map<string, { readonly since: number; count: number }>();

  isOver(address: string): boolean {
    const window = this.#windows.get(address);
    if (!window) return false;
    if (Date.now() - window.since < WINDOW_MS) return window.count >= FAILURES_PER_WINDOW;
    this.#windows.delete(address);
    return false;
  }

  add(address: string): void {
    const window = this.#windows.get(address);
    if (window) {
      window.count += 1;
      return;
    }
    if (this.#windows.size >= ADDRESSES) {
      const oldest = this.#windows.keys().next();
      if (!oldest.done) this.#windows.delete(oldest.value);
    }
    this.#windows.set(address, { since: Date.now(), count: 1 });
  }
}

function bearerToken(header: string | undefined): string | undefined {
  return /^bearer +(\S+) *$/i.exec(header ?? '')?.[1];
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
