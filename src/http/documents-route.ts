import { LangoError } from '../core/errors.js';
import type { HttpRoute } from '../core/http.js';
import { isJsonObject, isTexts } from '../core/json.js';
import type { Json } from '../core/json.js';
import { KEPT_BY_AGENTS } from '../core/library.js';
import type { DocumentIndex } from '../core/library.js';
import type { OwnerRequest } from './owner-route.js';
import { createOwnerRoute, wrongMethod } from './owner-route.js';

export interface DocumentsRouteOptions {
  /** Answers `GET PATH` and `POST PATH`, and `PUT` and `DELETE PATH/COLLECTION`. */
  readonly path: string;
  readonly desk: DocumentIndex;
}

const PAGE = 500;
const MOST_ORIGINS = 1_000;
const MOST_COLLECTIONS = 100;

/** A caller's own documents, for the command line while the server has the data folder open. */
export function createDocumentsRoute({ path, desk }: DocumentsRouteOptions): HttpRoute {
  return createOwnerRoute(path, ({ name: collection, ...request }) =>
    collection === undefined ? onAll({ ...request, desk }) : onCollection({ ...request, desk, collection }),
  );
}

interface Request extends Omit<OwnerRequest, 'name'> {
  readonly desk: DocumentIndex;
}

async function onAll({ exchange, desk, scope }: Request): Promise<unknown> {
  switch (exchange.request.method) {
    case 'GET': {
      const { query } = exchange;
      const [only, after] = [query.getAll('collection'), query.get('after')];
      const page = await desk.list(scope, {
        ...(only.length > 0 ? { only } : { except: KEPT_BY_AGENTS }),
        ...(after === null ? {} : { after }),
        limit: PAGE,
      });
      return { ...page, maxBytes: desk.maxBytes };
    }
    case 'POST': {
      const body = await exchange.readJson();
      const { action, collections } = isJsonObject(body) ? body : {};
      if (action === 'embed') return { ...(await desk.embed(scope, exchange.signal)) };
      if (action !== 'drop-vectors') throw invalid('action: it must be "embed" or "drop-vectors".');
      const only = collections === undefined ? {} : { only: textsIn(collections, MOST_COLLECTIONS) };
      return { dropped: await desk.dropVectors(scope, only) };
    }
    default:
      throw wrongMethod('GET', 'POST');
  }
}

async function onCollection({
  exchange,
  desk,
  scope,
  collection,
}: Request & { readonly collection: string }): Promise<unknown> {
  switch (exchange.request.method) {
    case 'PUT': {
      const { query } = exchange;
      const modifiedAt = Number(query.get('modifiedAt') ?? 0);
      if (!Number.isSafeInteger(modifiedAt) || modifiedAt < 0) {
        throw invalid('modifiedAt: it must be milliseconds since 1970.');
      }
      const [origin, name] = [query.get('origin') ?? '', query.get('name') ?? ''];
      const content = await exchange.readBytes(desk.maxBytes);
      return { ...(await desk.submit(scope, { collection, origin, name, modifiedAt, content })) };
    }
    case 'DELETE': {
      const body = await exchange.readJson();
      const { all, origins } = isJsonObject(body) ? body : {};
      if (all === true) return { removed: await desk.remove(scope, collection) };
      return { removed: await desk.remove(scope, collection, textsIn(origins, MOST_ORIGINS)) };
    }
    default:
      throw wrongMethod('PUT', 'DELETE');
  }
}

function textsIn(value: Json | undefined, most: number): readonly string[] {
  if (isTexts(value) && value.length <= most) return value;
  throw invalid(`origins, collections: they must be lists of at most ${most} texts.`);
}

function invalid(message: string): LangoError {
  return new LangoError('invalid-input', message);
}
