import type { ServerCallContext } from '@a2a-js/sdk/server';
import { LangoError } from '../../core/errors.js';
import type { HttpExchange } from '../../core/http.js';
import type { Caller } from '../../core/identity.js';
import type { Call } from '../translate/call.js';
import { toCallContext } from '../translate/call.js';
import { SUPPORTED_VERSIONS } from '../translate/errors.js';
import { EXTENSIONS } from '../translate/extensions.js';

const VERSION = /^(\d+)(?:\.(\d+))?(?:\.\d+)*$/;
const CURSOR = /^\d{1,15}$/;
const KNOWN_EXTENSIONS: readonly string[] = Object.values(EXTENSIONS);

/** Rejects with `unauthenticated` or `too-many`, then with `version-not-supported`. */
export async function openCall(exchange: HttpExchange): Promise<ServerCallContext> {
  const scope = await exchange.caller();
  assertVersion(exchange);
  return toCallContext(new HttpCall(exchange, scope));
}

/** The same call for a client that waits for no answer. */
export async function detached(exchange: HttpExchange): Promise<ServerCallContext> {
  const scope = await exchange.caller();
  return toCallContext({ scope, signal: AbortSignal.abort(), after: undefined, from: exchange.address });
}

/** The answer's header that says which of the extensions the client named are in use. */
export function extensionHeaders(exchange: HttpExchange): Readonly<Record<string, string>> {
  const named = headerOf(exchange, 'a2a-extensions').split(',');
  const known = new Set(named.map((uri) => uri.trim()).filter((uri) => KNOWN_EXTENSIONS.includes(uri)));
  return known.size === 0 ? {} : { 'A2A-Extensions': [...known].join(', ') };
}

/** Asked late: most calls need neither the signal nor the cursor. */
class HttpCall implements Call {
  readonly scope: Caller;
  readonly #exchange: HttpExchange;

  constructor(exchange: HttpExchange, scope: Caller) {
    this.#exchange = exchange;
    this.scope = scope;
  }

  get from(): string {
    return this.#exchange.address;
  }

  get signal(): AbortSignal {
    return this.#exchange.signal;
  }

  get after(): number | undefined {
    const text = headerOf(this.#exchange, 'last-event-id');
    if (text === '') return undefined;
    if (CURSOR.test(text)) return Number(text);
    throw new LangoError('invalid-input', 'the header Last-Event-ID must be the number of an event');
  }
}

/** Major.Minor counts, patch digits do not (A2A 1.0 section 3.6). A client that names no version gets ours. */
function assertVersion(exchange: HttpExchange): void {
  const named = headerOf(exchange, 'a2a-version') || (exchange.query.get('A2A-Version') ?? '').trim();
  if (named === '') return;
  const [, major, minor = '0'] = VERSION.exec(named) ?? [];
  if (major !== undefined && SUPPORTED_VERSIONS.includes(`${Number(major)}.${Number(minor)}`)) return;
  throw new LangoError('version-not-supported', 'this interface does not speak that version of A2A', {
    hint: `It speaks ${SUPPORTED_VERSIONS.join(', ')}.`,
  });
}

function headerOf(exchange: HttpExchange, name: string): string {
  const value = exchange.request.headers[name];
  return (Array.isArray(value) ? value.join(',') : (value ?? '')).trim();
}
