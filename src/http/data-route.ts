import { LangoError } from '../core/errors.js';
import type { HttpRoute } from '../core/http.js';
import type { Scope } from '../core/task.js';
import { sendJson } from './errors.js';

export interface DataRouteOptions {
  /** Answers `GET` and `DELETE` of this path. */
  readonly path: string;
  readonly read: (scope: Scope) => Promise<unknown>;
  /** Resolves with what it did. */
  readonly remove: (scope: Scope) => Promise<unknown>;
}

/** What is kept for the caller's own owner, to take away or to delete. */
export function createDataRoute({ path, read, remove }: DataRouteOptions): HttpRoute {
  return async (exchange) => {
    if (exchange.path !== path) return false;
    const { tenant, owner } = await exchange.caller();
    const { method } = exchange.request;
    if (method !== 'GET' && method !== 'DELETE') {
      throw new LangoError('not-supported', 'Only GET or DELETE is answered here.');
    }
    const scope = { tenant, owner };
    sendJson(exchange.response, 200, method === 'GET' ? await read(scope) : { deleted: await remove(scope) });
    return true;
  };
}
