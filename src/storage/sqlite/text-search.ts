import type { Hit, TextQuery } from '../../stores/library.js';
import type { PassageTerms, QueryTerm } from '../relevance.js';
import { passageTerms, rarity, relevance } from '../relevance.js';
import type { QueryWord } from '../search-terms.js';
import { queryWords, trigramsOf } from '../search-terms.js';
import { Nearest } from '../vector-table.js';
import type { CollectionRow } from './library-rows.js';
import { readHits } from './library-rows.js';
import type { Prepared } from './prepared.js';

/** The most index rows that one search reads. A thousand take a fifth of a millisecond. */
const MAX_READ = 20_000;
/** The number of candidates that are read and scored exactly. Each takes about a twentieth of a millisecond. */
const MAX_SCORED = 64;
/** The limit of the count for an approximate term. */
const MAX_COUNTED = 2_000;
/** The most words that a passage is searched for in combination. */
const MAX_COMBINED = 4;

const COUNT_GUESSED = `SELECT count(*) AS doc FROM (
  SELECT 1 FROM passage_words WHERE passage_words MATCH ? LIMIT ${MAX_COUNTED})`;
const NEWEST = 'SELECT rowid FROM passage_words WHERE passage_words MATCH ? ORDER BY rowid DESC LIMIT ?';

/** The index to search. */
export interface TextIndex {
  readonly prepared: Prepared;
  readonly counts: TermCounts;
}

/** A term of the query, with the FTS5 expressions that find it. */
interface IndexedTerm extends QueryTerm {
  /** Matches the passages that have the term. */
  readonly expression: string;
  /** Matches the passages that have it often, or in their name or headings. Undefined for an approximate term. */
  readonly often: string | undefined;
  /** The number of passages that have it. */
  readonly count: number;
}

/**
 * Returns the best hits first. The search has two steps. The first is cheap and rough: it reads from the index which
 * passages have each term, rarest terms and newest passages first, up to a limit. The second reads the best candidates and
 * scores them exactly.
 */
export function searchText(
  index: TextIndex,
  collections: readonly CollectionRow[],
  query: TextQuery,
): readonly Hit[] {
  const { prepared } = index;
  const words = lookUp(index, collections, queryWords(query.text));
  const terms = [...new Map(words.flat().map((term) => [term.expression, term])).values()];
  const likeliest = rankRoughly(prepared, indexQueries(words, terms), Math.max(MAX_SCORED, query.limit));
  return readHits(prepared, likeliest)
    .map((hit) => ({ ...hit, score: relevance(terms, passageTerms(hit)) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || b.id - a.id)
    .slice(0, query.limit);
}

/** A query to the index, and what a passage gains by matching it. */
interface IndexQuery {
  readonly expression: string;
  readonly weight: number;
}

/** Passages with all of the rarest words come first, as the rows of common words are not all read. */
function indexQueries(
  words: readonly (readonly IndexedTerm[])[],
  terms: readonly IndexedTerm[],
): readonly IndexQuery[] {
  const together = rarestFirst(words.map((terms) => rarestFirst(terms)[0]!)).slice(0, MAX_COMBINED);
  const all = {
    expression: together.map(({ expression }) => `(${expression})`).join(' AND '),
    weight: together.reduce((sum, { weight }) => sum + weight, 0),
  };
  const separate = rarestFirst(terms).flatMap(({ often, expression, weight }) =>
    [often, expression].flatMap((each) => (each === undefined ? [] : [{ expression: each, weight }])),
  );
  return together.length > 1 ? [all, ...separate] : separate;
}

function rankRoughly(
  prepared: Prepared,
  queries: readonly IndexQuery[],
  limit: number,
): ReadonlyMap<number, number> {
  const scores = new Map<number, number>();
  // A single term gives two queries (`often` and `expression`), and no combination to rank by.
  let left = queries.length > 2 ? MAX_READ : 2 * limit;
  for (const [index, { expression, weight }] of queries.entries()) {
    const share = Math.floor(left / (queries.length - index));
    const ids = prepared.column<number>(NEWEST, expression, share);
    for (const id of ids) scores.set(id, (scores.get(id) ?? 0) + weight);
    left -= ids.length;
  }
  const best = new Nearest(limit);
  for (const [id, score] of scores) best.offer(id, score);
  return new Map(best.list().map(({ id, score }) => [id, score]));
}

/** Finds the terms of each word in the index. It keeps all of them: a name counts as a whole as well as by its parts. */
function lookUp(
  index: TextIndex,
  collections: readonly CollectionRow[],
  words: readonly QueryWord[],
): readonly (readonly IndexedTerm[])[] {
  const total = collections.reduce((sum, { passages }) => sum + passages, 0);
  return words.flatMap(({ terms, part }) => {
    const known = terms.flatMap((term) => knownTerm(index, collections, { term, total }) ?? []);
    const isUnknown = known.length === 0 && part !== undefined;
    const found = isUnknown ? approximate(index, collections, { part, total }) : known;
    return found.length === 0 ? [] : [found];
  });
}

function rarestFirst(terms: readonly IndexedTerm[]): readonly IndexedTerm[] {
  return terms.toSorted((a, b) => a.count - b.count);
}

function knownTerm(
  { counts }: TextIndex,
  collections: readonly CollectionRow[],
  { term, total }: { readonly term: string; readonly total: number },
): IndexedTerm | undefined {
  const matches = collections.flatMap((collection) => {
    const count = counts.count(collection, term);
    return count > 0 ? [{ id: collection.id, count }] : [];
  });
  if (matches.length === 0) return undefined;
  const count = matches.reduce((sum, match) => sum + match.count, 0);
  return {
    expression: anyOf(matches.map(({ id }) => quoted(indexed.word(id, term)))),
    often: anyOf(matches.map(({ id }) => quoted(indexed.often(id, term)))),
    count,
    weight: rarity(count, total),
    countIn: (terms) => terms.counts.get(term) ?? 0,
  };
}

/** Matches `part` approximately: as the prefix of a term, or as a substring of a name. */
function approximate(
  { prepared }: TextIndex,
  collections: readonly CollectionRow[],
  { part, total }: { readonly part: string; readonly total: number },
): readonly IndexedTerm[] {
  const trigrams = trigramsOf(part);
  const expression = anyOf(
    collections.flatMap(({ id }) => [
      `${quoted(indexed.word(id, part))} *`,
      ...(trigrams.length === 0
        ? []
        : [`(${trigrams.map((each) => quoted(indexed.trigram(id, each))).join(' AND ')})`]),
    ]),
  );
  if (expression === '') return [];
  const count = prepared.first<{ readonly doc: number }>(COUNT_GUESSED, expression)?.doc ?? 0;
  const countIn: QueryTerm['countIn'] = ({ counts, names }) =>
    Number(
      [...counts.keys()].some((term) => term.startsWith(part)) ||
        [...names].some((name) => name.includes(part)),
    );
  return [{ expression, often: undefined, count, weight: rarity(count, total), countIn }];
}

function anyOf(expressions: readonly string[]): string {
  return expressions.join(' OR ');
}

/** An FTS5 string literal. */
function quoted(term: string): string {
  return `"${term.replaceAll('"', '""')}"`;
}

/** A passage that has a term at least this often is also indexed under the `often` form of the term. */
const OFTEN = 3;

/** The forms of a term in the index. Each begins with the id of its collection. Terms themselves hold no "~". */
const indexed = {
  word: (collectionId: number, term: string) => `${collectionId}~${term}`,
  /** A word that a passage has often, or in its name or headings. */
  often: (collectionId: number, term: string) => `${collectionId}~~~${term}`,
  /** A trigram of a name. */
  trigram: (collectionId: number, trigram: string) => `${collectionId}~~${trigram}`,
} as const;

/** The index text of a passage: each of its terms once, in all forms. */
export function indexTextOf(collectionId: number, { counts, names }: PassageTerms): string {
  const words = [...counts].flatMap(([term, count]) => [
    indexed.word(collectionId, term),
    ...(count >= OFTEN ? [indexed.often(collectionId, term)] : []),
  ]);
  const trigrams = new Set([...names].flatMap(trigramsOf));
  return [...words, ...Array.from(trigrams, (trigram) => indexed.trigram(collectionId, trigram))].join(' ');
}

/** Counts from this value on are cached. Counting 10,000 passages takes a millisecond, and common words recur. */
const CACHED_FROM = 1_000;
const MAX_CACHED = 2_000;
/** A cached count is used until the collection has grown or shrunk by more than this share. */
const DRIFT = 0.1;

const COUNT_TERM = 'SELECT doc FROM passage_terms WHERE term = ?';

interface CachedCount {
  readonly count: number;
  /** The number of passages in the collection at that time. */
  readonly passages: number;
}

/** Counts the passages of a collection that have a term: exactly for rare terms, from a cache for common ones. */
export class TermCounts {
  readonly #prepared: Prepared;
  /** By indexed term, the latest last. */
  readonly #cache = new Map<string, CachedCount>();

  constructor(prepared: Prepared) {
    this.#prepared = prepared;
  }

  count({ id, passages }: CollectionRow, term: string): number {
    const name = indexed.word(id, term);
    const known = this.#cache.get(name);
    if (known && Math.abs(known.passages - passages) <= DRIFT * known.passages) return known.count;
    const count = this.#prepared.first<{ readonly doc: number }>(COUNT_TERM, name)?.doc ?? 0;
    this.#cache.delete(name);
    if (count >= CACHED_FROM) this.#cache.set(name, { count, passages });
    if (this.#cache.size > MAX_CACHED) this.#cache.delete(this.#cache.keys().next().value!);
    return count;
  }
}
