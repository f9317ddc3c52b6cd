import type { AgentCard } from '@a2a-js/sdk';
import { OLD_CARD_PATH, KEYS_PATH, type ReadKeys, type SigningKey } from '../../core/card.js';
import type { HttpExchange } from '../../core/http.js';
import type { JsonObject } from '../../core/json.js';
import { CATALOG_PATHS } from '../translate/catalog.js';
import { cardJson } from './card.js';
import { serveDocument, type EtagCache } from './documents.js';
import { namedVersion } from './http-call.js';
import { JSON_TYPE } from './modes.js';
import type { ProtocolVersion } from './service-parameters.js';
import { signedJson } from './signing.js';
import { toCardOfBoth, toOldCard } from './v03/card.js';

export const CATALOG_TYPE = 'application/ai-catalog+json';
const KEYS_TYPE = 'application/jwk-set+json';

export interface Discovery {
  readonly cache: EtagCache;
  /** Undefined when cards are not signed. */
  readonly keys: ReadKeys | undefined;
}

/**
 * Serves a public card in the requested protocol version, signed once for each change. Without a version the card has the
 * members of both versions; the path of 0.3 always serves the card of 0.3.
 */
export async function serveCard(
  exchange: HttpExchange,
  card: AgentCard,
  { cache, keys, path }: Discovery & { readonly path: string },
): Promise<void> {
  const key = keys && (await keys()).current;
  const json = cardJson(card);
  const version = path === OLD_CARD_PATH ? '0.3' : askedVersion(exchange);
  const asked = { version, isGo: version === undefined && isGoClient(exchange) };
  const cacheKey = `${exchange.baseUrl} ${exchange.path} ${version} ${asked.isGo}`;
  const document = cache.get(cacheKey, `${key?.kid} ${JSON.stringify(json)}`, () =>
    JSON.stringify(servedCard(json, asked, key)),
  );
  const vary = version === undefined ? 'Host, A2A-Version, User-Agent' : 'Host, A2A-Version';
  const headers = { Link: catalogLink(exchange), Vary: vary };
  serveDocument(exchange, { type: JSON_TYPE, document, headers });
}

/** Tells a client that knows one card where the catalog is (RFC 8288). */
function catalogLink({ baseUrl }: HttpExchange): string {
  const mountPath = new URL(baseUrl).pathname.replace(/\/$/, '');
  return [
    `<${mountPath}${CATALOG_PATHS.ard}>; rel="ard"; type="${JSON_TYPE}"`,
    `<${mountPath}${CATALOG_PATHS.aiCatalog}>; rel="ai-catalog"; type="${CATALOG_TYPE}"`,
  ].join(', ');
}

type Asked = Readonly<{ version: ProtocolVersion | undefined; isGo: boolean }>;

function servedCard(json: JsonObject, { version, isGo }: Asked, key: SigningKey | undefined) {
  const old = toOldCard(json);
  if (!old || version === '1.0') return signedJson(json, key);
  return version === '0.3' ? old : signedJson(toCardOfBoth(json, old, isGo), key, json);
}

/** Whether the client can be Go's SDK, which names no version: it uses the client of Go's library. */
const isGoClient = ({ request }: HttpExchange): boolean =>
  /^Go-http-client\b/.test(request.headers['user-agent'] ?? '');

/** The version that the client names. An unknown one counts as none: the card tells which versions there are. */
function askedVersion(exchange: HttpExchange): ProtocolVersion | undefined {
  try {
    return namedVersion(exchange, ['1.0', '0.3']);
  } catch {
    return undefined;
  }
}

/** Serves the public keys: those that sign now, and earlier ones whose signatures may still be in use. */
export async function serveKeys(exchange: HttpExchange, keys: ReadKeys, cache: EtagCache): Promise<void> {
  const { published } = await keys();
  const body = JSON.stringify({ keys: published.map(({ publicJwk }) => publicJwk) });
  serveDocument(exchange, { type: KEYS_TYPE, document: cache.get(KEYS_PATH, body, () => body) });
}
