import type { Dialect } from '../../../core/sql.js';

/** The statements of the index of words. A query is an expression: terms that `and` and `or` join. */
export type WordIndex = ReturnType<typeof wordIndexOf>;

export function wordIndexOf({ name, items }: Dialect) {
  const { id, words, row, matches, and, or, ...terms } = name === 'sqlite' ? FTS5 : TSVECTORS;
  return {
    /** `term`; `prefix`, which matches every term that begins with the text; and `countTerm`. */
    ...terms,
    and: (expressions: readonly string[]) => expressions.map((each) => `(${each})`).join(and),
    or: (expressions: readonly string[]) => expressions.join(or),
    /** Adds this many passages. The values are, for each, its id and its terms, which spaces separate. */
    add: (passages: number) =>
      `INSERT INTO passage_words (${id}, ${words}) VALUES ${Array(passages).fill(row).join(', ')}`,
    /** Removes the passages of a JSON list. */
    remove: `DELETE FROM passage_words WHERE ${id} IN ${items('number')}`,
    /** The ids of the newest passages that match an expression, up to a limit. */
    newest: `SELECT ${id} FROM passage_words WHERE ${matches} ORDER BY ${id} DESC LIMIT ?`,
    /** The number of passages that match an expression, counted up to a limit. */
    countUpTo: `SELECT count(*) AS doc FROM (SELECT 1 FROM passage_words WHERE ${matches} LIMIT ?) AS found`,
  };
}

/** SQLite: FTS5 without text. */
const FTS5 = {
  ...{ id: 'rowid', words: 'terms', row: '(?, ?)', matches: 'passage_words MATCH ?' },
  ...{ and: ' AND ', or: ' OR ' },
  term: quoted,
  prefix: (text: string) => `${quoted(text)} *`,
  /** The number of passages that have a term. The value is the term itself. */
  countTerm: 'SELECT doc FROM passage_terms WHERE term = ?',
};

/** An FTS5 string literal. */
function quoted(term: string): string {
  return `"${term.replaceAll('"', '""')}"`;
}

/** PostgreSQL: a GIN index of tsvectors. */
const TSVECTORS = {
  ...{ id: 'passage', words: 'words', row: "(?::bigint, array_to_tsvector(string_to_array(?, ' ')))" },
  ...{ matches: 'words @@ ?::tsquery', and: ' & ', or: ' | ' },
  term: lexeme,
  prefix: (text: string) => `${lexeme(text)}:*`,
  countTerm: "SELECT count(*) AS doc FROM passage_words WHERE words @@ ('''' || ? || '''')::tsquery",
};

/** A lexeme of a tsquery, as it is stored. Terms hold letters, digits and "~" only. */
function lexeme(term: string): string {
  return `'${term.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
}
