import type { TextQuery } from '../../core/library.js';
import type { QueryWord } from '../search-terms.js';
import { queryWords } from '../search-terms.js';
import { fragmentOf, termOnShelf } from './library-writes.js';
import type { Prepared } from './prepared.js';
import type { Shelf } from './shelves.js';

/** How many passages a search weighs at most: each costs about a microsecond. */
const MOST_WEIGHED = 15_000;
/** What a word costs that is looked for by its beginning or a part, and how common it may be. */
const GUESSED_COST = 2_000;

const COUNT = 'SELECT doc FROM passage_terms WHERE term = ?';
/** A word in the name, a heading or a tag says more than one in the text. */
const BEST = `SELECT rowid AS id, -bm25(passage_words, 4.0, 1.0, 0.5) AS score FROM passage_words
  WHERE passage_words MATCH ? ORDER BY score DESC, rowid DESC LIMIT ?`;
const NEWEST = `SELECT rowid AS id, 0.0 AS score FROM passage_words WHERE passage_words MATCH ? ORDER BY rowid DESC LIMIT ?`;

interface Wanted {
  /** In the language of FTS5: any of these. */
  readonly expression: string;
  /** How many passages have it. */
  readonly count: number;
}

/** Ids with their scores, the best first. */
export function searchText(
  prepared: Prepared,
  shelves: readonly Shelf[],
  { text, limit }: TextQuery,
): ReadonlyMap<number, number> {
  const wanted = queryWords(text)
    .flatMap((word) => lookUp(prepared, shelves, word))
    .sort((a, b) => a.count - b.count);
  const rare = rarest(wanted);
  const [sql, expression] =
    rare.length > 0
      ? [BEST, anyOf(rare)]
      : // Words that are everywhere tell little: only passages with all of them are weighed.
        [wanted.length > 1 ? BEST : NEWEST, wanted.map((each) => `(${each.expression})`).join(' AND ')];
  if (expression === '') return new Map();
  const rows = prepared.all<{ readonly id: number; readonly score: number }>(sql, expression, limit);
  return new Map(rows.map(({ id, score }) => [id, score]));
}

/** As many as can be weighed in time, rare ones first: they tell the most. */
function rarest(wanted: readonly Wanted[]): readonly Wanted[] {
  let weighed = 0;
  return wanted.filter(({ count }) => (weighed += count) <= MOST_WEIGHED);
}

/** One for each term of the word, so that a common part of a name does not hide the rare whole. */
function lookUp(prepared: Prepared, shelves: readonly Shelf[], word: QueryWord): readonly Wanted[] {
  const known = word.terms.flatMap((term) => {
    const places = shelves.flatMap(({ id }) => {
      const onShelf = termOnShelf(id, term);
      const count = prepared.first<{ readonly doc: number }>(COUNT, onShelf)?.doc ?? 0;
      return count > 0 ? [{ expression: quoted(onShelf), count }] : [];
    });
    return places.length === 0
      ? []
      : [{ expression: anyOf(places), count: sum(places.map(({ count }) => count)) }];
  });
  if (known.length > 0) return known;
  const guesses = shelves.flatMap(({ id }) => [
    ...(word.beginning === undefined ? [] : [`${quoted(termOnShelf(id, word.beginning))} *`]),
    ...(word.fragments.length === 0 ? [] : [fragmentPhrase(id, word.fragments)]),
  ]);
  return guesses.length === 0 ? [] : [{ expression: guesses.join(' OR '), count: GUESSED_COST }];
}

function fragmentPhrase(shelfId: number, fragments: readonly string[]): string {
  return quoted(fragments.map((fragment) => termOnShelf(shelfId, fragmentOf(fragment))).join(' '));
}

function anyOf(wanted: readonly Wanted[]): string {
  return wanted.map(({ expression }) => expression).join(' OR ');
}

/** A string of FTS5: nothing in it is syntax. Terms hold letters, digits and "~" only. */
function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
