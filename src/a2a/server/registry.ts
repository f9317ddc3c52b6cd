import { LangoError } from '../../core/errors.js';
import type { Json, JsonObject } from '../../core/json.js';
import { isJsonObject } from '../../core/json.js';
import { wordScore } from '../translate/word-score.js';

/** The paths of the registry (Agentic Resource Discovery 0.5). */
export const REGISTRY_PATHS = { search: '/ard/search', list: '/ard/agents' } as const;

/** An entry of the catalog, and further text that a search finds it by. */
export interface IndexedEntry {
  readonly entry: JsonObject;
  readonly text: string;
}

const MAX_TEXT = 2_000;
const MAX_PAGE = 100;
const SEARCH_PAGE = 10;
const LIST_PAGE = 20;
const ORDERS = ['displayName', 'updatedAt'];
const FEDERATION = ['auto', 'referrals', 'none'];

/** Answers `POST /search`: entries ranked by the words that they share with the query. Throws `invalid-input`. */
export function searchEntries(entries: readonly IndexedEntry[], request: Json, source: string): JsonObject {
  if (!isJsonObject(request)) throw wrong('', 'must be a JSON object');
  const { query, federation = 'auto', pageSize, pageToken, ...others } = request;
  assertNone(others, '');
  if (!isJsonObject(query)) throw wrong('query', 'must be an object with the member text');
  const { text, filter = {}, ...rest } = query;
  assertNone(rest, 'query.');
  if (typeof text !== 'string' || text.trim() === '')
    throw wrong('query.text', 'must be a string that is not empty');
  if (text.length > MAX_TEXT) throw wrong('query.text', `must have at most ${MAX_TEXT} characters`);
  if (!isJsonObject(filter)) throw wrong('query.filter', 'must be an object');
  if (!(FEDERATION as readonly Json[]).includes(federation))
    throw wrong('federation', 'must be auto, referrals or none');
  const found = entries
    .filter(({ entry }) => Object.entries(filter).every(([path, wanted]) => holds(entry, path, wanted ?? [])))
    .map(({ entry, text: own }) => ({ ...entry, score: wordScore(text, own), source }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score);
  const { items, next } = pageOf(found, { size: pageSize, token: pageToken, defaultSize: SEARCH_PAGE });
  // This registry asks no other one, and knows none to recommend.
  return { results: items, ...(federation === 'referrals' && { referrals: [] }), ...next };
}

/** Answers `GET /agents`. Throws `invalid-input`. */
export function listEntries(entries: readonly IndexedEntry[], query: URLSearchParams): JsonObject {
  if (query.has('filter')) throw wrong('filter', 'is not supported; use POST /search');
  const [field = '', direction = 'ASC', ...more] = (query.get('orderBy') ?? 'displayName').split(' ');
  if (!ORDERS.includes(field) || !['ASC', 'DESC'].includes(direction) || more.length > 0)
    throw wrong('orderBy', `must be ${ORDERS.join(' or ')}, with ASC or DESC behind it`);
  const sign = direction === 'DESC' ? -1 : 1;
  const sorted = entries
    .map(({ entry }) => entry)
    .sort((a, b) => sign * textAt(a, field).localeCompare(textAt(b, field), 'en'));
  const size = query.get('pageSize');
  const paging = { size: size === null ? undefined : Number(size), defaultSize: LIST_PAGE };
  const { items, next } = pageOf(sorted, { ...paging, token: query.get('pageToken') ?? undefined });
  return { items, total: sorted.length, ...next };
}

function textAt(entry: JsonObject, field: string): string {
  const value = entry[field];
  return typeof value === 'string' ? value : '';
}

interface Paging {
  readonly size: Json | undefined;
  readonly token: Json | undefined;
  readonly defaultSize: number;
}

function pageOf(all: readonly JsonObject[], { size = 0, token = '', defaultSize }: Paging) {
  if (typeof size !== 'number' || !Number.isInteger(size) || size < 0 || size > MAX_PAGE)
    throw wrong('pageSize', `must be a whole number up to ${MAX_PAGE}`);
  if (typeof token !== 'string' || !/^\d{0,6}$/.test(token))
    throw wrong('pageToken', 'must be the pageToken of an earlier answer');
  const start = Number(token);
  const end = start + (size || defaultSize);
  return { items: all.slice(start, end), next: end < all.length ? { pageToken: String(end) } : {} };
}

/** Whether the member at a dotted path is one of the wanted values, or holds one. */
function holds(entry: JsonObject, path: string, wanted: Json): boolean {
  const at = path
    .split('.')
    .reduce<Json | undefined>(
      (value, key) => (isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined),
      entry,
    );
  const values: readonly unknown[] = Array.isArray(at) ? at : [at];
  const choices: readonly unknown[] = Array.isArray(wanted) ? wanted : [wanted];
  if (!choices.every((one) => typeof one === 'string'))
    throw wrong('query.filter', 'must hold strings or lists of strings');
  return values.some((value) => typeof value === 'string' && choices.includes(value));
}

function assertNone(others: JsonObject, prefix: string): void {
  const [name] = Object.keys(others);
  if (name !== undefined) throw wrong(`${prefix}${name.slice(0, 64)}`, 'is not a member of this request');
}

function wrong(field: string, description: string): LangoError {
  const message = `${field || 'The body'} ${description}.`;
  return new LangoError('invalid-input', message, { violations: [{ field, description }] });
}
