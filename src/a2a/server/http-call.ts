import type { ServerCallContext } from '@a2a-js/sdk/server';
import type { HttpExchange } from '../../core/http.js';
import type { Caller } from '../../core/identity.js';
import type { Call } from '../translate/call.js';
import { toCallContext } from '../translate/call.js';
import type { Trace } from '../../core/trace.js';
import { readTrace } from '../../core/trace.js';
import type { ProtocolVersion } from './service-parameters.js';
import {
  CURSOR_PARAMETER,
  EXTENSIONS_PARAMETER,
  OLD_EXTENSIONS_PARAMETER,
  VERSION_PARAMETER,
  activatedExtensions,
  cursorIn,
  versionIn,
} from './service-parameters.js';

/** Rejects with `unauthenticated` or `too-many`. */
export async function openCall(exchange: HttpExchange, version: ProtocolVersion): Promise<ServerCallContext> {
  return toCallContext(new HttpCall(exchange, await exchange.caller(), version));
}

/** The same call for a client that waits for no answer. */
export async function detached(exchange: HttpExchange, version: ProtocolVersion): Promise<ServerCallContext> {
  const scope = await exchange.caller();
  const from = exchange.address;
  const trace = traceOf(exchange);
  return toCallContext({ scope, signal: AbortSignal.abort(), after: undefined, from, trace, version });
}

/** What the header or the request parameter A2A-Version says; undefined when there is none. Throws `version-not-supported`. */
export function namedVersion(
  exchange: HttpExchange,
  spoken: readonly ProtocolVersion[],
): ProtocolVersion | undefined {
  const named = headerOf(exchange, VERSION_PARAMETER) || (exchange.query.get('A2A-Version') ?? '');
  return versionIn(named, spoken);
}

/** The answer's header that says which of the extensions the client named are in use; 0.3 had another name for it. */
export function extensionHeaders(exchange: HttpExchange): Readonly<Record<string, string>> {
  const current = activatedExtensions(headerOf(exchange, EXTENSIONS_PARAMETER));
  const old = activatedExtensions(headerOf(exchange, OLD_EXTENSIONS_PARAMETER));
  return {
    ...(current === '' ? {} : { 'A2A-Extensions': current }),
    ...(old === '' ? {} : { 'X-A2A-Extensions': old }),
  };
}

/** Asked late: most calls need neither the signal nor the cursor. */
class HttpCall implements Call {
  readonly scope: Caller;
  readonly version: ProtocolVersion;
  readonly #exchange: HttpExchange;

  constructor(exchange: HttpExchange, scope: Caller, version: ProtocolVersion) {
    this.#exchange = exchange;
    this.scope = scope;
    this.version = version;
  }

  get from(): string {
    return this.#exchange.address;
  }

  get signal(): AbortSignal {
    return this.#exchange.signal;
  }

  get trace(): Trace | undefined {
    return traceOf(this.#exchange);
  }

  get after(): number | undefined {
    return cursorIn(headerOf(this.#exchange, CURSOR_PARAMETER));
  }
}

function traceOf(exchange: HttpExchange): Trace | undefined {
  return readTrace((name) => headerOf(exchange, name));
}

function headerOf(exchange: HttpExchange, name: string): string {
  const value = exchange.request.headers[name];
  return (Array.isArray(value) ? value.join(',') : (value ?? '')).trim();
}
