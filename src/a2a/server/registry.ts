import { LangoError, adviceText, isLangoError } from '../../core/errors.js';
import { statusOf, type HttpExchange } from '../../core/http.js';
import { isJsonObject, textIn, type Json, type JsonObject } from '../../core/json.js';
import { percentDecoded } from '../../core/text.js';
import { publisherIn, wordScore } from '../translate/catalog.js';
import { serveDocument, type EtagCache } from './documents.js';
import { sendJson } from './http-call.js';
import { parseFilter } from './list-filter.js';
import { JSON_TYPE } from './modes.js';

/** The path of the registry (Agentic Resource Discovery 0.91). */
export const REGISTRY_PATH = '/ard';

/** An entry of the catalog, and further text that a search finds it by. */
export interface IndexedEntry {
  readonly entry: JsonObject;
  readonly text: string;
}

interface Registry {
  /** The address that results name as their source. */
  readonly source: string;
  readonly entries: readonly IndexedEntry[];
  readonly cache: EtagCache;
}

const MAX_TEXT = 2_000;
const MAX_PAGE = 100;
const SEARCH_PAGE = 10;
const LIST_PAGE = 20;
const ORDERS: Readonly<Record<string, string>> = {
  ...{ displayName: 'displayName', updatedAt: 'updatedAt' },
  // The names in the text of the specification.
  ...{ name: 'displayName', created_at: 'updatedAt', updated_at: 'updatedAt' },
};
const FEDERATION = ['auto', 'referrals', 'none'];

/** Serves the paths below `REGISTRY_PATH`. Errors have the form of the registry's specification. */
export async function serveRegistry(exchange: HttpExchange, open: () => Promise<Registry>) {
  const { request, path } = exchange;
  const rest = path.slice(path.indexOf(REGISTRY_PATH) + REGISTRY_PATH.length);
  const isGet = request.method === 'GET' || request.method === 'HEAD';
  try {
    const registry = await open();
    if (rest === '/search' && request.method === 'POST')
      send(exchange, searchEntries(registry, await exchange.readJson()));
    else if (rest === '/agents' && isGet) send(exchange, listEntries(registry, exchange.query));
    else if (rest.startsWith('/agents/') && isGet)
      serveEntry(exchange, registry, entryWith(registry, rest.slice('/agents/'.length)));
    else if (rest === '/explore' && request.method === 'POST')
      throw new LangoError('not-supported', 'This registry computes no facets. Use POST /search.');
    else throw new LangoError('not-found', `There is nothing at ${request.method} ${path}.`);
  } catch (error) {
    if (!isLangoError(error)) throw error;
    const [status, errorCode] = statusOf(error.code);
    const body = { errorCode: CODES[status] ?? errorCode, message: adviceText(error) };
    send(exchange, body, { status, headers: error.headers });
  }
}

/** The codes whose names in the specification differ from google.rpc. */
const CODES: Readonly<Record<number, string>> = { 429: 'RATE_LIMIT_EXCEEDED', 500: 'INTERNAL_ERROR' };

function send(
  exchange: HttpExchange,
  body: JsonObject,
  { status = 200, headers = {} }: { status?: number; headers?: LangoError['headers'] } = {},
): void {
  sendJson(exchange, { status, type: JSON_TYPE, body: JSON.stringify(body), headers });
}

function serveEntry(exchange: HttpExchange, { cache }: Registry, entry: JsonObject): void {
  const body = JSON.stringify(entry);
  const document = cache.get(`registry ${textIn(entry['identifier'])}`, body, () => body);
  const scope = exchange.request.headers.authorization === undefined ? 'public' : 'private';
  serveDocument(exchange, { type: JSON_TYPE, document, scope });
}

/** `POST /search`: entries ranked by the words that they share with the query. Throws `invalid-input`. */
function searchEntries({ entries, source }: Registry, request: Json): JsonObject {
  if (!isJsonObject(request)) throw wrong('', 'must be a JSON object');
  const { query, federation = 'auto', pageSize, pageToken, ...others } = request;
  assertNone(others, '');
  if (!isJsonObject(query)) throw wrong('query', 'must be an object with the member text');
  // The context binds prefixes of further vocabularies, and no entry here has terms of one.
  const { text, filter = {}, '@context': _context, ...rest } = query;
  assertNone(rest, 'query.');
  if (typeof text !== 'string' || text.trim() === '')
    throw wrong('query.text', 'must be a string that is not empty');
  if (text.length > MAX_TEXT) throw wrong('query.text', `must have at most ${MAX_TEXT} characters`);
  if (!isJsonObject(filter)) throw wrong('query.filter', 'must be an object');
  if (!(FEDERATION as readonly Json[]).includes(federation))
    throw wrong('federation', 'must be auto, referrals or none');
  const found = entries
    .filter(({ entry }) => Object.entries(filter).every(([path, wanted]) => holds(entry, path, wanted ?? [])))
    .map(({ entry: { representativeQueries: _queries, ...entry }, text: own }) => {
      return { ...entry, score: wordScore(text, own), source };
    })
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score);
  const { items, next } = pageOf(found, SEARCH_PAGE, { size: pageSize, token: pageToken });
  // This registry asks no other one, and knows none to recommend.
  return { results: items, ...(federation === 'referrals' && { referrals: [] }), ...next };
}

/** `GET /agents/IDENTIFIER`. Throws `invalid-input` or `not-found`. */
function entryWith({ entries }: Registry, encoded: string): JsonObject {
  const identifier = percentDecoded(encoded);
  if (publisherIn(identifier) === undefined)
    throw wrong(
      'identifier',
      'must be like urn:air:HOST:agent:NAME, percent-encoded as one part of the path',
    );
  const found = entries.find(({ entry }) => entry['identifier'] === identifier);
  if (!found) throw new LangoError('not-found', `This registry has no entry ${identifier}.`);
  return found.entry;
}

/** `GET /agents`. Throws `invalid-input`. */
function listEntries({ entries }: Registry, query: URLSearchParams): JsonObject {
  const fits = filterIn(query);
  const [name = '', direction = 'ASC', ...more] = (query.get('orderBy') ?? 'displayName').split(' ');
  const field = Object.hasOwn(ORDERS, name) ? ORDERS[name] : undefined;
  if (field === undefined || !['ASC', 'DESC'].includes(direction) || more.length > 0)
    throw wrong('orderBy', 'must be displayName or updatedAt, with ASC or DESC behind it');
  const sign = direction === 'DESC' ? -1 : 1;
  const sorted = entries
    .map(({ entry }) => entry)
    .filter(fits)
    .sort((a, b) => sign * textIn(a[field]).localeCompare(textIn(b[field]), 'en'));
  const size = query.get('pageSize');
  const token = query.get('pageToken') ?? undefined;
  const asked = { size: size === null ? undefined : Number(size), token };
  const { items, next } = pageOf(sorted, LIST_PAGE, asked);
  return { items, total: sorted.length, ...next };
}

function filterIn(query: URLSearchParams): (entry: JsonObject) => boolean {
  const filter = query.get('filter')?.trim();
  if (filter === undefined || filter === '') return () => true;
  try {
    return parseFilter(filter);
  } catch (error) {
    if (error instanceof SyntaxError) throw wrong('filter', error.message);
    throw error;
  }
}

function pageOf(all: readonly JsonObject[], defaultSize: number, { size = 0, token = '' }: JsonObject) {
  if (typeof size !== 'number' || !Number.isInteger(size) || size < 0 || size > MAX_PAGE)
    throw wrong('pageSize', `must be a whole number up to ${MAX_PAGE}`);
  if (typeof token !== 'string' || !/^\d{0,6}$/.test(token))
    throw wrong('pageToken', 'must be the pageToken of an earlier response');
  const start = Number(token);
  const end = start + (size || defaultSize);
  return { items: all.slice(start, end), next: end < all.length ? { pageToken: String(end) } : {} };
}

/** Whether the member at a dotted path is one of the wanted values, or holds one. */
function holds(entry: JsonObject, path: string, wanted: Json): boolean {
  const choices: readonly unknown[] = Array.isArray(wanted) ? wanted : [wanted];
  if (!choices.every((one) => typeof one === 'string'))
    throw wrong('query.filter', 'must hold strings or lists of strings');
  const at = path === 'publisher' ? publisherIn(textIn(entry['identifier'])) : memberAt(entry, path);
  const values: readonly unknown[] = Array.isArray(at) ? at : [at];
  return values.some((value) => typeof value === 'string' && choices.includes(value));
}

function memberAt(entry: JsonObject, path: string): Json | undefined {
  let member: Json | undefined = entry;
  for (const key of path.split('.'))
    member = isJsonObject(member) && Object.hasOwn(member, key) ? member[key] : undefined;
  return member;
}

function assertNone(others: JsonObject, prefix: string): void {
  const [name] = Object.keys(others);
  if (name !== undefined) throw wrong(`${prefix}${name.slice(0, 64)}`, 'is not a member of this request');
}

function wrong(field: string, description: string): LangoError {
  const message = `${field || 'The body'} ${description}.`;
  return new LangoError('invalid-input', message, { violations: [{ field, description }] });
}
