import type { ServerResponse } from 'node:http';
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
  const pages = new Map<string, (response: ServerResponse) => void>([
    ['/healthz', (response) => sendJson(response, 200, { status: 'ok' })],
    ['/readyz', (response) => sendReadiness(response, health())],
  ]);
  return async (exchange) => {
    const page = METHODS.has(exchange.request.method) ? pages.get(exchange.path) : undefined;
    if (!page) return false;
    exchange.anyone();
    page(exchange.response);
    return true;
  };
}

function sendReadiness(response: ServerResponse, { ready, reason }: Health): void {
  sendJson(response, ready ? 200 : 503, { status: ready ? 'ready' : 'not ready', reason });
}
