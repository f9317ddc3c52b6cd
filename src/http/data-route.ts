import { LangoError } from '../core/errors.js';
import type { HttpExchange, HttpRoute } from '../core/http.js';
import type { Page } from '../core/page.js';
import type { Scope } from '../core/task.js';
import { sendJson } from './errors.js';

/** How many of each. */
type Counts = Readonly<Record<string, number>>;

export interface DataRouteOptions {
  /** Answers `GET` with the kinds there are, and `DELETE` of everything. */
  readonly path: string;
  /** By kind: `GET` of the kind below the path, with the `next` of the page before as `after`. */
  readonly pages: Readonly<Record<string, (scope: Scope, after: string) => Promise<Page<unknown>>>>;
  /** Resolves with what is gone. */
  readonly remove: (scope: Scope) => Promise<Counts>;
  /** By kind: `DELETE` of the kind below the path, with the `name` of what is to be forgotten. */
  readonly forget: Readonly<Record<string, (scope: Scope, name: string) => Promise<Counts>>>;
}

/** What is kept for the caller's own owner, to take away or to delete. */
export function createDataRoute(options: DataRouteOptions): HttpRoute {
  const { path } = options;
  return async (exchange) => {
    if (exchange.path !== path && !exchange.path.startsWith(`${path}/`)) return false;
    const { tenant, owner } = await exchange.caller();
    const kind = exchange.path.slice(path.length + 1);
    const answer = kind === '' ? onAll : onKind;
    sendJson(exchange.response, 200, await answer({ exchange, scope: { tenant, owner }, kind }, options));
    return true;
  };
}

interface Request {
  readonly exchange: HttpExchange;
  readonly scope: Scope;
  readonly kind: string;
}

async function onAll({ exchange, scope }: Request, { pages, remove }: DataRouteOptions): Promise<unknown> {
  switch (exchange.request.method) {
    case 'GET':
      return { kinds: Object.keys(pages) };
    case 'DELETE':
      return { deleted: await remove(scope) };
    default:
      throw wrongMethod();
  }
}

async function onKind(
  { exchange, scope, kind }: Request,
  { pages, forget }: DataRouteOptions,
): Promise<unknown> {
  const { query } = exchange;
  switch (exchange.request.method) {
    case 'GET':
      return { ...(await known(pages, kind)(scope, query.get('after') ?? '')) };
    case 'DELETE':
      return { deleted: await forgotten(known(forget, kind), scope, query.get('name') ?? '') };
    default:
      throw wrongMethod();
  }
}

async function forgotten(
  forget: DataRouteOptions['forget'][string],
  scope: Scope,
  name: string,
): Promise<Counts> {
  if (name.trim() === '') throw new LangoError('invalid-input', 'name: what is to be forgotten is missing.');
  const counts = await forget(scope, name);
  if (Object.values(counts).some((count) => count > 0)) return counts;
  throw new LangoError('not-found', 'Nothing is kept for you under that name.');
}

function known<Kind>(kinds: Readonly<Record<string, Kind>>, kind: string): Kind {
  const found = Object.hasOwn(kinds, kind) ? kinds[kind] : undefined;
  if (found !== undefined) return found;
  const hint = `Kinds: ${Object.keys(kinds).join(', ')}.`;
  throw new LangoError('not-found', 'There is no such kind of data here.', { hint });
}

function wrongMethod(): LangoError {
  return new LangoError('not-supported', 'Only GET and DELETE are answered here.');
}
