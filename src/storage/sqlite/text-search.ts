import type { Hit, TextQuery } from '../../core/library.js';
import type { Wanted } from '../relevance.js';
import { passageTerms, rarity, relevance } from '../relevance.js';
import type { QueryWord } from '../search-terms.js';
import { queryWords, stretchesOf } from '../search-terms.js';
import { Nearest } from '../vector-table.js';
import { written } from './index-terms.js';
import { readHits } from './library-rows.js';
import type { Prepared } from './prepared.js';
import type { Shelf } from './shelves.js';
import type { TermCounts } from './term-counts.js';

/** What a search reads of the index at most, in passages: a thousand take a fifth of a millisecond. */
const MOST_WALKED = 20_000;
/** So many of the likeliest are read and weighed exactly, each in about a twentieth of a millisecond. */
const WEIGHED = 64;
/** A term that is only guessed is counted up to here. */
const MOST_COUNTED = 2_000;
/** Words that are looked for together. */
const MOST_TOGETHER = 4;

const COUNT_GUESSED = `SELECT count(*) AS doc FROM (
  SELECT 1 FROM passage_words WHERE passage_words MATCH ? LIMIT ${MOST_COUNTED})`;
const NEWEST = 'SELECT rowid FROM passage_words WHERE passage_words MATCH ? ORDER BY rowid DESC LIMIT ?';

/** Where it is looked up. */
export interface Index {
  readonly prepared: Prepared;
  readonly counts: TermCounts;
}

/** What a question asks for, with where the index has it, in the language of FTS5. */
interface Indexed extends Wanted {
  /** The passages that have it. */
  readonly expression: string;
  /** Those that have it often, or in what they stand under. */
  readonly often: string | undefined;
  /** How many passages have it. */
  readonly count: number;
}

/**
 * The best first. Finding is cheap and rough: each term says which passages have it, the rarest term and the newest
 * passages first, until enough was read. Then the likeliest are weighed by all that they say.
 */
export function searchText(index: Index, shelves: readonly Shelf[], query: TextQuery): readonly Hit[] {
  const { prepared } = index;
  const words = lookUp(index, shelves, queryWords(query.text));
  const wanted = [...new Map(words.flat().map((term) => [term.expression, term])).values()];
  const likeliest = gather(prepared, listsOf(words, wanted), Math.max(WEIGHED, query.limit));
  return readHits(prepared, likeliest)
    .map((hit) => ({ ...hit, score: relevance(wanted, passageTerms(hit)) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || b.id - a.id)
    .slice(0, query.limit);
}

/** Passages of the index, and how much it tells to be one of them. */
interface List {
  readonly expression: string;
  readonly weight: number;
}

/** What has the rarest words all together comes first: common ones are not read to their end. */
function listsOf(words: readonly (readonly Indexed[])[], wanted: readonly Indexed[]): readonly List[] {
  const together = rarestFirst(words.map((terms) => rarestFirst(terms)[0]!)).slice(0, MOST_TOGETHER);
  const all = {
    expression: together.map(({ expression }) => `(${expression})`).join(' AND '),
    weight: together.reduce((sum, { weight }) => sum + weight, 0),
  };
  const separate = rarestFirst(wanted).flatMap(({ often, expression, weight }) =>
    [often, expression].flatMap((each) => (each === undefined ? [] : [{ expression: each, weight }])),
  );
  return together.length > 1 ? [all, ...separate] : separate;
}

function gather(prepared: Prepared, lists: readonly List[], limit: number): ReadonlyMap<number, number> {
  const scores = new Map<number, number>();
  // A term alone is read twice, often and at all: there is nothing to compare.
  let left = lists.length > 2 ? MOST_WALKED : 2 * limit;
  for (const [index, { expression, weight }] of lists.entries()) {
    const share = Math.floor(left / (lists.length - index));
    const ids = prepared.column<number>(NEWEST, expression, share);
    for (const id of ids) scores.set(id, (scores.get(id) ?? 0) + weight);
    left -= ids.length;
  }
  const best = new Nearest(limit);
  for (const [id, score] of scores) best.offer(id, score);
  return new Map(best.list().map(({ id, score }) => [id, score]));
}

/** The terms of each word that the index knows: a common part of a name does not hide the rare whole. */
function lookUp(
  index: Index,
  shelves: readonly Shelf[],
  words: readonly QueryWord[],
): readonly (readonly Indexed[])[] {
  const total = shelves.reduce((sum, { passages }) => sum + passages, 0);
  return words.flatMap(({ terms, part }) => {
    const known = terms.flatMap((term) => knownTerm(index, shelves, { term, total }) ?? []);
    const guessed = known.length === 0 && part !== undefined;
    const found = guessed ? guess(index, shelves, { part, total }) : known;
    return found.length === 0 ? [] : [found];
  });
}

function rarestFirst(terms: readonly Indexed[]): readonly Indexed[] {
  return terms.toSorted((a, b) => a.count - b.count);
}

function knownTerm(
  { counts }: Index,
  shelves: readonly Shelf[],
  { term, total }: { readonly term: string; readonly total: number },
): Indexed | undefined {
  const places = shelves.flatMap((shelf) => {
    const count = counts.count(shelf, term);
    return count > 0 ? [{ id: shelf.id, count }] : [];
  });
  if (places.length === 0) return undefined;
  const count = places.reduce((sum, place) => sum + place.count, 0);
  return {
    expression: anyOf(places.map(({ id }) => quoted(written.word(id, term)))),
    often: anyOf(places.map(({ id }) => quoted(written.often(id, term)))),
    count,
    weight: rarity(count, total),
    countIn: (terms) => terms.counts.get(term) ?? 0,
  };
}

/** What no term is: the beginning of one, or a stretch of a name. */
function guess(
  { prepared }: Index,
  shelves: readonly Shelf[],
  { part, total }: { readonly part: string; readonly total: number },
): readonly Indexed[] {
  const stretches = stretchesOf(part);
  const expression = anyOf(
    shelves.flatMap(({ id }) => [
      `${quoted(written.word(id, part))} *`,
      ...(stretches.length === 0
        ? []
        : [`(${stretches.map((each) => quoted(written.stretch(id, each))).join(' AND ')})`]),
    ]),
  );
  if (expression === '') return [];
  const count = prepared.first<{ readonly doc: number }>(COUNT_GUESSED, expression)?.doc ?? 0;
  const countIn: Wanted['countIn'] = ({ counts, names }) =>
    Number(
      [...counts.keys()].some((term) => term.startsWith(part)) ||
        [...names].some((name) => name.includes(part)),
    );
  return [{ expression, often: undefined, count, weight: rarity(count, total), countIn }];
}

function anyOf(expressions: readonly string[]): string {
  return expressions.join(' OR ');
}

/** A string of FTS5: nothing in it is syntax. */
function quoted(term: string): string {
  return `"${term.replaceAll('"', '""')}"`;
}
