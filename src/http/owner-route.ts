import { LangoError } from '../core/errors.js';
import type { HttpExchange, HttpRoute } from '../core/http.js';
import type { Scope } from '../core/task.js';
import { sendJson } from './errors.js';

/** A request about what belongs to its caller. */
export interface OwnerRequest {
  readonly exchange: HttpExchange;
  readonly scope: Scope;
  /** What the path names below that of the route; undefined for the route's own. */
  readonly name: string | undefined;
}

/** Answers `path` and all below it, for callers that are known, with what `answer` resolves with, as JSON. */
export function createOwnerRoute(
  path: string,
  answer: (request: OwnerRequest) => Promise<unknown>,
): HttpRoute {
  return async (exchange) => {
    if (exchange.path !== path && !exchange.path.startsWith(`${path}/`)) return false;
    const { tenant, owner } = await exchange.caller();
    const name = exchange.path === path ? undefined : exchange.path.slice(path.length + 1);
    sendJson(exchange.response, 200, await answer({ exchange, scope: { tenant, owner }, name }));
    return true;
  };
}

export function wrongMethod(...right: readonly string[]): LangoError {
  const are = right.length === 1 ? 'is' : 'are';
  return new LangoError('not-supported', `Only ${right.join(' and ')} ${are} answered here.`);
}
