import type { HttpRoute } from '../core/http.js';
import { sendJson } from './errors.js';

/** Whether the server can do its work, for `/readyz`. */
export interface Health {
  readonly ready: boolean;
  /** Why not, fit for anybody to read. */
  readonly reason?: string;
}

const METHODS: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD']);

/** `/healthz` (the process answers) and `/readyz` (it takes work). Asked every few seconds: it needs no express. */
export function createHealthRoute(health: () => Health): HttpRoute {
  return async (exchange) => {
    const { request, response, path } = exchange;
    if (!METHODS.has(request.method) || (path !== '/healthz' && path !== '/readyz')) return false;
    exchange.anyone();
    if (path === '/healthz') sendJson(response, 200, { status: 'ok' });
    else {
      const { ready, reason } = health();
      sendJson(response, ready ? 200 : 503, { status: ready ? 'ready' : 'not ready', reason });
    }
    return true;
  };
}
