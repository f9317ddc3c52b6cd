import type { AgentCard } from '@a2a-js/sdk';
import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { ReadKeys, SigningKey } from '../../core/card.js';
import { CARD_PATH, CARD_TYPE, CATALOG_PATH, OLD_CARD_PATH, KEYS_PATH } from '../../core/card.js';
import type { HttpExchange } from '../../core/http.js';
import type { JsonObject } from '../../core/json.js';
import { agentUrl, cardJson } from './card.js';
import { namedVersion, sendJson } from './http-call.js';
import { JSON_TYPE } from './modes.js';
import type { IndexedEntry } from './registry.js';
import { sendWrongMethod } from './rest.js';
import type { ProtocolVersion } from './service-parameters.js';
import { signedJson } from './signing.js';
import { toCardOfBoth, toOldCard } from './v03/card.js';

const CATALOG_TYPE = 'application/ai-catalog+json';
const CATALOG_VERSION = '1.0';
const KEYS_TYPE = 'application/jwk-set+json';
const MAX_AGE_SECONDS = 60;
const MAX_TAGS = 32;
const LOCAL_PUBLISHER = 'agent.localhost';

export interface Discovery {
  readonly cache: EtagCache;
  /** Undefined when cards are not signed. */
  readonly keys: ReadKeys | undefined;
}

/**
 * Serves a public card in the requested protocol version, signed once for each change. Without a version the card has the
 * members of both versions; the path of 0.3 always serves the card of 0.3.
 */
export async function answerCard(
  exchange: HttpExchange,
  card: AgentCard,
  { cache, keys, path }: Discovery & { readonly path: string },
): Promise<void> {
  const key = keys && (await keys()).current;
  const json = cardJson(card);
  const version = path === OLD_CARD_PATH ? '0.3' : askedVersion(exchange);
  const cacheKey = `${exchange.baseUrl} ${exchange.path} ${version}`;
  const document = cache.get(cacheKey, `${key?.kid} ${JSON.stringify(json)}`, () =>
    JSON.stringify(servedCard(json, version, key)),
  );
  answerDocument(exchange, {
    type: JSON_TYPE,
    document,
    headers: { Link: catalogLink(exchange), Vary: 'Host, A2A-Version' },
  });
}

/** Tells a client that knows one card where the catalog is (RFC 8288). */
function catalogLink({ baseUrl }: HttpExchange): string {
  const mountPath = new URL(baseUrl).pathname.replace(/\/$/, '');
  return `<${mountPath}${CATALOG_PATH}>; rel="ai-catalog"; type="${CATALOG_TYPE}"`;
}

function servedCard(
  json: JsonObject,
  version: ProtocolVersion | undefined,
  key: SigningKey | undefined,
): JsonObject {
  const old = toOldCard(json);
  if (!old || version === '1.0') return signedJson(json, key);
  return version === '0.3' ? old : signedJson(toCardOfBoth(json, old), key, json);
}

/** The version that the client names. An unknown one counts as none: the card tells which versions there are. */
function askedVersion(exchange: HttpExchange): ProtocolVersion | undefined {
  try {
    return namedVersion(exchange, ['1.0', '0.3']);
  } catch {
    return undefined;
  }
}

/** The cards that a catalog lists, and where clients reach this node. */
export interface Catalog {
  readonly baseUrl: string;
  readonly cards: readonly AgentCard[];
}

/** Serves the AI Catalog of a node, with an entry for each card, and its host (level 2 of the specification). */
export function answerCatalog(exchange: HttpExchange, catalog: Catalog, cache: EtagCache): void {
  const entries = indexOf(catalog, cache).map(({ entry }) => entry);
  const host = {
    displayName: `Lango at ${new URL(catalog.baseUrl).host}`,
    identifier: publisherOf(catalog.baseUrl),
  };
  const body = JSON.stringify({ specVersion: CATALOG_VERSION, host, entries });
  const document = cache.get(`${exchange.baseUrl} ${exchange.path}`, body, () => body);
  answerDocument(exchange, { type: CATALOG_TYPE, document });
}

/** The entries of the catalog, each with the text that a search finds it by. */
export function indexOf({ baseUrl, cards }: Catalog, cache: EtagCache): readonly IndexedEntry[] {
  return cards.map((card) => {
    const url = agentUrl(baseUrl, card.name) + CARD_PATH;
    const { modifiedAt } = cache.get(`entry ${url}`, JSON.stringify(card), () => '');
    const { name, description, version, skills } = card;
    const tags = [...new Set(skills.flatMap((skill) => skill.tags))].slice(0, MAX_TAGS);
    const entry = {
      identifier: `urn:air:${publisherOf(baseUrl)}:${name}:a2a`,
      ...{ displayName: name, type: CARD_TYPE, url, description, tags, version },
      updatedAt: new Date(modifiedAt).toISOString(),
    };
    const ofSkills = skills.flatMap((skill) => [skill.name, skill.description, ...skill.examples]);
    return { entry, text: [name, description, ...tags, ...ofSkills].join('\n') };
  });
}

/** The domain in `urn:air:` identifiers. A node without a domain gets the name that ARD 0.5 reserves for it. */
function publisherOf(baseUrl: string): string {
  const { hostname } = new URL(baseUrl);
  return /^[a-z0-9-]+(\.[a-z0-9-]+)*\.[a-z][a-z0-9-]*$/.test(hostname) ? hostname : LOCAL_PUBLISHER;
}

interface DocumentAnswer {
  readonly type: string;
  readonly document: CachedDocument;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Serves a public document that clients cache by entity tag or date (RFC 9110 section 13). */
function answerDocument(exchange: HttpExchange, answer: DocumentAnswer): void {
  const { request, response } = exchange;
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    sendWrongMethod(exchange, ['GET', 'HEAD']);
    return;
  }
  const { type, document } = answer;
  const headers = {
    ETag: document.etag,
    'Last-Modified': new Date(document.modifiedAt).toUTCString(),
    'Cache-Control': `public, max-age=${MAX_AGE_SECONDS}`,
    Vary: 'Host',
    ...answer.headers,
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

/** A document as it is served. */
export interface CachedDocument {
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
  readonly #held = new Map<string, CachedDocument & { readonly source: string }>();

  /** Returns the document under `key`. Calls `make` only when `source` differs from that of the last call. */
  get(key: string, source: string, make: () => string): CachedDocument {
    const held = this.#held.get(key);
    if (held?.source === source) return held;
    const body = make();
    const etag = `"${hash('sha256', body, 'base64url').slice(0, ETAG_CHARACTERS)}"`;
    const fresh = { body, etag, source, modifiedAt: Math.floor(Date.now() / 1_000) * 1_000 };
    this.#held.delete(key);
    if (this.#held.size >= MAX_DOCUMENTS) this.#held.delete(this.#held.keys().next().value!);
    this.#held.set(key, fresh);
    return fresh;
  }
}

/** Serves the public keys: those that sign now, and earlier ones whose signatures may still be in use. */
export async function answerKeys(exchange: HttpExchange, keys: ReadKeys, cache: EtagCache): Promise<void> {
  const { published } = await keys();
  const body = JSON.stringify({ keys: published.map(({ publicJwk }) => publicJwk) });
  answerDocument(exchange, { type: KEYS_TYPE, document: cache.get(KEYS_PATH, body, () => body) });
}
