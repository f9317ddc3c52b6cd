import { LangoError } from '../core/errors.js';
import type { HttpRoute } from '../core/http.js';
import type { Scope } from '../core/task.js';
import { sendJson } from './errors.js';

export interface DataRouteOptions {
  /** Answers `GET` and `DELETE` of this path. */
  readonly path: string;
  readonly read: (scope: Scope) => Promise<unknown>;
  /** Of the tasks, which may be many: answers `GET` of `tasks` below the path, with `after` in the query. */
  readonly readTasks: (scope: Scope, after: string) => Promise<unknown>;
  /** Resolves with what it did. */
  readonly remove: (scope: Scope) => Promise<unknown>;
}

/** What is kept for the caller's own owner, to take away or to delete. */
export function createDataRoute({ path, read, readTasks, remove }: DataRouteOptions): HttpRoute {
  return async (exchange) => {
    const isTasks = exchange.path === `${path}/tasks`;
    if (exchange.path !== path && !isTasks) return false;
    const { tenant, owner } = await exchange.caller();
    const scope = { tenant, owner };
    switch (`${exchange.request.method} ${isTasks ? 'tasks' : 'all'}`) {
      case 'GET all':
        sendJson(exchange.response, 200, await read(scope));
        return true;
      case 'GET tasks':
        sendJson(exchange.response, 200, await readTasks(scope, exchange.query.get('after') ?? ''));
        return true;
      case 'DELETE all':
        sendJson(exchange.response, 200, { deleted: await remove(scope) });
        return true;
      default:
        throw new LangoError('not-supported', 'That method is not answered here.');
    }
  };
}
