import type { HttpRoute } from '../core/http.js';
import { sendJson } from './errors.js';

export interface StatusRouteOptions {
  readonly path: string;
  /** Asked at each request; what it gives is sent as JSON. */
  readonly read: () => Promise<unknown>;
}

/** A read-only page about the server itself, for callers it knows. */
export function createStatusRoute({ path, read }: StatusRouteOptions): HttpRoute {
  return async (exchange) => {
    if (exchange.path !== path || exchange.request.method !== 'GET') return false;
    await exchange.caller();
    sendJson(exchange.response, 200, await read());
    return true;
  };
}
