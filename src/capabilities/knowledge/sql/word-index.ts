import type { Dialect } from '../../../core/sql.js';

/** The statements of the index of words. A query is an expression: terms that `and` and `or` join. */
export interface WordIndex {
  readonly term: (text: string) => string;
  /** Matches every term that begins with the text. */
  readonly prefix: (text: string) => string;
  readonly and: (expressions: readonly string[]) => string;
  readonly or: (expressions: readonly string[]) => string;
  /** Adds this many passages. The values are, for each, its id and its terms, which spaces separate. */
  readonly add: (passages: number) => string;
  /** Removes the passages of a JSON list. */
  readonly remove: string;
  /** The ids of the newest passages that match an expression, up to a limit. */
  readonly newest: string;
  /** The number of passages that match an expression, counted up to a limit. */
  readonly countUpTo: string;
  /** The number of passages that have a term, as `doc`. The value is the term itself. */
  readonly countTerm: string;
}

export function wordIndexOf({ name, items }: Dialect): WordIndex {
  return name === 'sqlite' ? FTS5 : tsvectors(items('number'));
}

/** SQLite: FTS5 without text. */
const FTS5: WordIndex = {
  term: quoted,
  prefix: (text) => `${quoted(text)} *`,
  and: (expressions) => expressions.map((each) => `(${each})`).join(' AND '),
  or: (expressions) => expressions.join(' OR '),
  add: (passages) =>
    `INSERT INTO passage_words (rowid, terms) VALUES ${Array(passages).fill('(?, ?)').join(', ')}`,
  remove: 'DELETE FROM passage_words WHERE rowid IN (SELECT value FROM json_each(?))',
  newest: 'SELECT rowid FROM passage_words WHERE passage_words MATCH ? ORDER BY rowid DESC LIMIT ?',
  countUpTo: `SELECT count(*) AS doc FROM (SELECT 1 FROM passage_words WHERE passage_words MATCH ? LIMIT ?)`,
  countTerm: 'SELECT doc FROM passage_terms WHERE term = ?',
};

/** An FTS5 string literal. */
function quoted(term: string): string {
  return `"${term.replaceAll('"', '""')}"`;
}

/** PostgreSQL: a GIN index of tsvectors. `numbers` are the numbers of a JSON list. */
function tsvectors(numbers: string): WordIndex {
  return {
    term: lexeme,
    prefix: (text) => `${lexeme(text)}:*`,
    and: (expressions) => expressions.map((each) => `(${each})`).join(' & '),
    or: (expressions) => expressions.join(' | '),
    add: (passages) => {
      const row = "(?::bigint, array_to_tsvector(string_to_array(?, ' ')))";
      return `INSERT INTO passage_words (passage, words) VALUES ${Array(passages).fill(row).join(', ')}`;
    },
    remove: `DELETE FROM passage_words WHERE passage IN ${numbers}`,
    newest: 'SELECT passage FROM passage_words WHERE words @@ ?::tsquery ORDER BY passage DESC LIMIT ?',
    countUpTo:
      'SELECT count(*) AS doc FROM (SELECT 1 FROM passage_words WHERE words @@ ?::tsquery LIMIT ?) AS found',
    countTerm: "SELECT count(*) AS doc FROM passage_words WHERE words @@ ('''' || ? || '''')::tsquery",
  };
}

/** A lexeme of a tsquery, as it is stored. Terms hold letters, digits and "~" only. */
const lexeme = (term: string): string => `'${term.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
