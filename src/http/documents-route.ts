import { LangoError } from '../core/errors.js';
import type { HttpExchange, HttpRoute } from '../core/http.js';
import { isJsonObject } from '../core/json.js';
import type { Json } from '../core/json.js';
import { KEPT_BY_AGENTS } from '../core/library.js';
import type { DocumentDesk } from '../core/retrieval.js';
import type { Scope } from '../core/task.js';
import { sendJson } from './errors.js';

export interface DocumentsRouteOptions {
  /** Answers `GET PATH` and `POST PATH`, and `PUT` and `DELETE PATH/COLLECTION`. */
  readonly path: string;
  readonly desk: DocumentDesk;
}

const PAGE = 500;
const MOST_ORIGINS = 1_000;
const MOST_COLLECTIONS = 100;

/** A caller's own documents, for the command line while the server has the data folder open. */
export function createDocumentsRoute({ path, desk }: DocumentsRouteOptions): HttpRoute {
  return async (exchange) => {
    if (exchange.path !== path && !exchange.path.startsWith(`${path}/`)) return false;
    const { tenant, owner } = await exchange.caller();
    const collection = exchange.path.slice(path.length + 1);
    const request = { exchange, desk, scope: { tenant, owner }, collection };
    const answer = exchange.path === path ? await onAll(request) : await onCollection(request);
    sendJson(exchange.response, 200, answer);
    return true;
  };
}

interface Request {
  readonly exchange: HttpExchange;
  readonly desk: DocumentDesk;
  readonly scope: Scope;
  readonly collection: string;
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
      throw wrongMethod('GET and POST');
  }
}

async function onCollection({ exchange, desk, scope, collection }: Request): Promise<unknown> {
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
      throw wrongMethod('PUT and DELETE');
  }
}

function textsIn(value: Json | undefined, most: number): readonly string[] {
  if (Array.isArray(value) && value.length <= most && value.every((item) => typeof item === 'string')) {
    return value;
  }
  throw invalid(`origins, collections: they must be lists of at most ${most} texts.`);
}

function invalid(message: string): LangoError {
  return new LangoError('invalid-input', message);
}

function wrongMethod(right: string): LangoError {
  return new LangoError('not-supported', `Only ${right} are answered here.`);
}
