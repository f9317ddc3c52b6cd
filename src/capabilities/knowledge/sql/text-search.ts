import { BoundedCache } from '../../../core/bounded-cache.js';
import { indexed } from './index-terms.js';
import { passageTerms, rarity, relevance, type QueryTerm } from './relevance.js';
import { queryWords, trigramsOf, type QueryWord } from './search-terms.js';
import { Nearest } from './vector-table.js';
import { readHits, type CollectionRow, type Hit, type TextQuery } from '../stores/library.js';
import { column, type Dialect, type Query } from '../../../core/sql.js';
import { wordIndexOf, type WordIndex } from './word-index.js';

/** The most index rows that one search reads. A thousand take a fifth of a millisecond. */
const MAX_READ = 20_000;
/** The number of candidates that are read and scored exactly. Each takes about a twentieth of a millisecond. */
const MAX_SCORED = 64;
/** The limit of the count for an approximate term. */
const MAX_COUNTED = 2_000;
/** The most words that a passage is searched for in combination. */
const MAX_COMBINED = 4;

/** Counts from this value on are cached. Counting 10,000 passages takes a millisecond, and common words recur. */
const CACHED_FROM = 1_000;
const MAX_CACHED = 2_000;
/** A cached count is used until the collection has grown or shrunk by more than this share. */
const DRIFT = 0.1;

/** The index to search. */
export type TextIndex = ReturnType<typeof openTextIndex>;

export function openTextIndex(dialect: Dialect) {
  const words = wordIndexOf(dialect);
  /** By indexed term, the latest last: the count, and the number of passages in the collection at that time. */
  const cache = new BoundedCache<string, Readonly<Record<'count' | 'passages', number>>>(MAX_CACHED);
  /** Counts the passages of a collection that have a term: exactly for rare terms, from a cache for common ones. */
  function* countOf({ id, passages }: CollectionRow, term: string): Query<number> {
    const name = indexed.word(id, term);
    const known = cache.get(name);
    if (known && Math.abs(known.passages - passages) <= DRIFT * known.passages) return known.count;
    const [count = 0] = yield* column<number>(words.countTerm, name);
    if (count >= CACHED_FROM) cache.set(name, { count, passages });
    else cache.take(name);
    return count;
  }
  return { dialect, words, countOf };
}

/** The search for one query. */
interface TextSearch extends TextIndex {
  readonly collections: readonly CollectionRow[];
  /** The number of passages in the collections. */
  readonly total: number;
}

/** A term of the query, with the expressions that find it in the index. */
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
export function* searchText(
  index: TextIndex,
  collections: readonly CollectionRow[],
  query: TextQuery,
): Query<readonly Hit[]> {
  const { dialect, words } = index;
  const total = collections.reduce((sum, { passages }) => sum + passages, 0);
  const found = yield* lookUp({ ...index, collections, total }, queryWords(query.text));
  const terms = [...new Map(found.flat().map((term) => [term.expression, term])).values()];
  const queries = indexQueries(words, found, terms);
  const likeliest = yield* rankRoughly(words, queries, Math.max(MAX_SCORED, query.limit));
  return (yield* readHits(dialect, likeliest))
    .map((hit) => ({ ...hit, score: relevance(terms, passageTerms(hit)) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || b.id - a.id)
    .slice(0, query.limit);
}

/** A query to the index, and the score that a passage gains by matching it. */
type IndexQuery = Pick<IndexedTerm, 'expression' | 'weight'>;

/** Passages with all of the rarest words come first, as the rows of common words are not all read. */
function indexQueries(
  { and }: WordIndex,
  words: readonly (readonly IndexedTerm[])[],
  terms: readonly IndexedTerm[],
): readonly IndexQuery[] {
  const together = rarestFirst(words.map((terms) => rarestFirst(terms)[0]!)).slice(0, MAX_COMBINED);
  const all = {
    expression: and(together.map(({ expression }) => expression)),
    weight: together.reduce((sum, { weight }) => sum + weight, 0),
  };
  const separate = rarestFirst(terms).flatMap(({ often, expression, weight }) =>
    [often, expression].flatMap((each) => (each === undefined ? [] : [{ expression: each, weight }])),
  );
  return together.length > 1 ? [all, ...separate] : separate;
}

function* rankRoughly({ newest }: WordIndex, queries: readonly IndexQuery[], limit: number) {
  const scores = new Map<number, number>();
  // A single term gives two queries (`often` and `expression`), and no combination to rank by.
  let left = queries.length > 2 ? MAX_READ : 2 * limit;
  for (const [index, { expression, weight }] of queries.entries()) {
    const share = Math.floor(left / (queries.length - index));
    const ids = yield* column<number>(newest, expression, share);
    for (const id of ids) scores.set(id, (scores.get(id) ?? 0) + weight);
    left -= ids.length;
  }
  const best = new Nearest(limit);
  for (const [id, score] of scores) best.offer(id, score);
  return new Map(best.list().map(({ id, score }) => [id, score]));
}

/** Finds the terms of each word in the index, all of them: a name counts as a whole and by its parts. */
function* lookUp(search: TextSearch, words: readonly QueryWord[]) {
  const found: (readonly IndexedTerm[])[] = [];
  for (const { terms, part } of words) {
    const known: IndexedTerm[] = [];
    for (const term of terms) known.push(...(yield* knownTerm(search, term)));
    if (known.length > 0) found.push(known);
    else if (part !== undefined) found.push(yield* approximate(search, part));
  }
  return found.filter((terms) => terms.length > 0);
}

function rarestFirst(terms: readonly IndexedTerm[]): readonly IndexedTerm[] {
  return terms.toSorted((a, b) => a.count - b.count);
}

/** Returns the term, if a passage has it. */
function* knownTerm(
  { words, countOf, collections, total }: TextSearch,
  term: string,
): Query<readonly IndexedTerm[]> {
  const ids: number[] = [];
  let count = 0;
  for (const collection of collections) {
    const found = yield* countOf(collection, term);
    if (found > 0) ids.push(collection.id);
    count += found;
  }
  if (count === 0) return [];
  return [
    {
      expression: words.or(ids.map((id) => words.term(indexed.word(id, term)))),
      often: words.or(ids.map((id) => words.term(indexed.often(id, term)))),
      count,
      weight: rarity(count, total),
      countIn: (terms) => terms.counts.get(term) ?? 0,
    },
  ];
}

/** Matches `part` approximately: as the prefix of a term, or as a substring of a name. */
function* approximate(
  { words, collections, total }: TextSearch,
  part: string,
): Query<readonly IndexedTerm[]> {
  if (collections.length === 0) return [];
  const trigrams = trigramsOf(part);
  const expression = words.or(
    collections.flatMap(({ id }) => [
      words.prefix(indexed.word(id, part)),
      ...(trigrams.length === 0
        ? []
        : [words.and(trigrams.map((each) => words.term(indexed.trigram(id, each))))]),
    ]),
  );
  const [count = 0] = yield* column<number>(words.countUpTo, expression, MAX_COUNTED);
  const countIn: QueryTerm['countIn'] = ({ counts, names }) =>
    Number(
      [...counts.keys()].some((term) => term.startsWith(part)) ||
        [...names].some((name) => name.includes(part)),
    );
  return [{ expression, often: undefined, count, weight: rarity(count, total), countIn }];
}
