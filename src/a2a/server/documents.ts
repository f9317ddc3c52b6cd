import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { BoundedCache } from '../../core/bounded-cache.js';
import type { HttpExchange } from '../../core/http.js';
import { sendJson } from './http-call.js';
import { sendWrongMethod } from './rest.js';

const MAX_AGE_SECONDS = 60;

interface ServedDocument {
  readonly type: string;
  readonly document: CachedDocument;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether shared caches may keep it. Default: `public`. */
  readonly scope?: 'public' | 'private';
}

/** Serves a document that clients cache by entity tag or date (RFC 9110 section 13). */
export function serveDocument(exchange: HttpExchange, served: ServedDocument): void {
  const { request, response } = exchange;
  if (request.method !== 'GET' && request.method !== 'HEAD')
    return sendWrongMethod(exchange, ['GET', 'HEAD']);
  const { type, document, scope = 'public' } = served;
  const headers = {
    ETag: document.etag,
    'Last-Modified': new Date(document.modifiedAt).toUTCString(),
    'Cache-Control': `${scope}, max-age=${MAX_AGE_SECONDS}`,
    Vary: 'Host',
    ...served.headers,
  };
  if (isFresh(request.headers, document)) response.writeHead(304, headers).end();
  else sendJson(exchange, { status: 200, type, body: document.body, headers });
}

/** Whether the client's copy is current. The date counts only without an entity tag. */
function isFresh(headers: IncomingHttpHeaders, { etag, modifiedAt }: CachedDocument): boolean {
  const held = headers['if-none-match'];
  if (held !== undefined) {
    const tags = held.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
    return tags.includes(etag) || tags.includes('*');
  }
  return Date.parse(headers['if-modified-since'] ?? '') >= modifiedAt;
}

interface CachedDocument {
  readonly body: string;
  /** A strong entity tag: the hash of the body. */
  readonly etag: string;
  /** When the body last changed, in milliseconds since the epoch, rounded down to seconds. */
  readonly modifiedAt: number;
}

const MAX_DOCUMENTS = 256;
const ETAG_CHARACTERS = 22;

/** Keeps documents with their entity tags and dates until their source changes. */
export class EtagCache {
  readonly #held = new BoundedCache<string, CachedDocument & { readonly source: string }>(MAX_DOCUMENTS);

  /** Returns the document under `key`. Calls `make` only when `source` differs from that of the last call. */
  get(key: string, source: string, make: () => string): CachedDocument {
    const held = this.#held.get(key);
    if (held?.source === source) return held;
    const body = make();
    const etag = `"${hash('sha256', body, 'base64url').slice(0, ETAG_CHARACTERS)}"`;
    const fresh = { body, etag, source, modifiedAt: Math.floor(Date.now() / 1_000) * 1_000 };
    this.#held.set(key, fresh);
    return fresh;
  }
}
