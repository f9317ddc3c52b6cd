import { LangoError } from '../core/errors.js';
import type { HttpRoute } from '../core/http.js';
import type { Page } from '../core/page.js';
import type { Scope } from '../core/task.js';
import type { OwnerRequest } from './owner-route.js';
import { createOwnerRoute, wrongMethod } from './owner-route.js';

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
  return createOwnerRoute(options.path, ({ name = '', ...request }) =>
    name === '' ? onAll(request, options) : onKind({ ...request, kind: name }, options),
  );
}

type Request = Omit<OwnerRequest, 'name'>;

async function onAll({ exchange, scope }: Request, { pages, remove }: DataRouteOptions): Promise<unknown> {
  switch (exchange.request.method) {
    case 'GET':
      return { kinds: Object.keys(pages) };
    case 'DELETE':
      return { deleted: await remove(scope) };
    default:
      throw wrongMethod('GET', 'DELETE');
  }
}

async function onKind(
  { exchange, scope, kind }: Request & { readonly kind: string },
  { pages, forget }: DataRouteOptions,
): Promise<unknown> {
  const { query } = exchange;
  switch (exchange.request.method) {
    case 'GET':
      return { ...(await known(pages, kind)(scope, query.get('after') ?? '')) };
    case 'DELETE':
      return { deleted: await forgotten(known(forget, kind), scope, query.get('name') ?? '') };
    default:
      throw wrongMethod('GET', 'DELETE');
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
