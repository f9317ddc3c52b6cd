import { ServerCallContext } from '@a2a-js/sdk/server';
import type { Scope } from '../../core/task.js';
import { EXTENSIONS } from './extensions.js';

/** Where the SDK's own HTTP adapters put the request's headers (lower-case names). */
const HEADERS_KEY = 'headers';
const SIGNAL_KEY = 'lango.signal';
const PROTOCOL_VERSION = '1.0';

export interface CallFacts {
  readonly scope: Scope;
  /** The `seq` of the last event the caller saw: a subscription replays from there. */
  readonly cursor?: number;
  /** Aborts when nobody waits for the answer any more; a stream ends soon after. */
  readonly signal?: AbortSignal;
}

/** The call context of a request that does not come over HTTP. */
export function createCallContext({ scope, cursor, signal }: CallFacts): ServerCallContext {
  const headers = cursor === undefined ? {} : { [CURSOR_HEADER]: String(cursor) };
  const state = new Map<string, unknown>([[HEADERS_KEY, headers]]);
  if (signal) state.set(SIGNAL_KEY, signal);
  return new ServerCallContext({
    user: { isAuthenticated: true, userName: scope.owner },
    requestedVersion: PROTOCOL_VERSION,
    requestedExtensions: Object.values(EXTENSIONS),
    ...(scope.tenant === '' ? {} : { tenant: scope.tenant }),
    state,
  });
}

/** The standard header of a resumed event stream, in lower case. */
export const CURSOR_HEADER = 'last-event-id';

/** The cursor a call names, by header or by `createCallContext`; undefined when there is none. */
export function cursorOf(context: ServerCallContext): number | undefined {
  const headers = context.state.get(HEADERS_KEY) as Readonly<Record<string, unknown>> | undefined;
  const text = headers?.[CURSOR_HEADER];
  return typeof text === 'string' && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/** The signal of a call made by `createCallContext`. */
export function signalOf(context: ServerCallContext): AbortSignal | undefined {
  const signal = context.state.get(SIGNAL_KEY);
  return signal instanceof AbortSignal ? signal : undefined;
}
