import { existsSync } from 'node:fs';
import type Database from 'better-sqlite3';
import { LangoError } from '../../core/errors.js';
import { indexTextOf } from '../../capabilities/knowledge/sql/index-terms.js';
import type { Field, MovedTable, MoveSource } from '../moving.js';
import { passageTerms, type DescribedPassage } from '../../capabilities/knowledge/sql/relevance.js';
import type { ConnectionOptions } from './connection.js';
import { openConnection } from './connection.js';
import { openSqliteStorage } from './storage.js';

/** The tables to move. `meta` stays behind, since PostgreSQL has its own, and the index of words is made from the passages. */
const TABLES = `SELECT name FROM pragma_table_list WHERE type = 'table' AND schema = 'main'
  AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name <> 'meta' ORDER BY name`;
/** The columns that number rows. */
const NUMBERED: Readonly<Record<string, string>> = {
  ...{ tasks: 'key', payments: 'id', graph_names: 'id', collections: 'id', documents: 'id', passages: 'id' },
};
/** Columns that the triggers of PostgreSQL fill when it gets the rows. */
const COUNTED = ['documents', 'passages', 'embedded'];
const PASSAGES = `SELECT p.id, p.collection, p.heading, p.text, d.name, d.facts
  FROM passages p JOIN documents d ON d.id = p.document`;

type SqlValue = bigint | string | Buffer | null;

interface PassageRow {
  readonly id: number;
  readonly collection: number;
  /** A list, as JSON. */
  readonly heading: string;
  readonly text: string;
  readonly name: string;
  readonly facts: string;
}

/**
 * Opens a database to move its rows. As at a start, brings its schema up to date and frees the leases of a crash. Rejects with `LangoError` `not-found` or `storage`, with advice, when it is missing, damaged or in use.
 */
export async function openMoveSource(options: ConnectionOptions): Promise<MoveSource> {
  if (!existsSync(options.file)) {
    throw new LangoError('not-found', `There is no database ${options.file}.`, {
      hint: 'Name the file of the embedded database: lango migrate --from sqlite:FILE',
    });
  }
  await openSqliteStorage(options).close();
  const connection = openConnection(options);
  const { database, nodeId } = connection;
  const names = database.prepare<[], string>(TABLES).pluck().all();
  return {
    nodeId,
    tables: [...names.map((name) => readTable(database, name)), wordsOf(database)],
    close: () => connection.close(),
  };
}

function readTable(database: Database.Database, name: string): MovedTable {
  const columns = (database.pragma(`table_info(${name})`) as readonly { readonly name: string }[])
    .map((column) => column.name)
    .filter((column) => !(name === 'collections' && COUNTED.includes(column)));
  const listed = columns.map((column) => `"${column}"`).join(', ');
  // Numbers are read as big integers, so that none loses a digit.
  const each = database.prepare<[], SqlValue[]>(`SELECT ${listed} FROM ${name}`).raw().safeIntegers();
  const numbers = NUMBERED[name];
  return {
    ...{ name, columns },
    *rows() {
      for (const row of each.iterate()) yield row.map(toField);
    },
    numbered:
      numbers === undefined ? undefined : { column: numbers, last: lastNumber(database, name, numbers) },
  };
}

/** Returns the largest number that was given to a row, so that PostgreSQL does not give it again. */
function lastNumber(database: Database.Database, table: string, column: string): number {
  const given = database.prepare('SELECT seq FROM sqlite_sequence WHERE name = ?').pluck().get(table);
  return Number(given ?? database.prepare(`SELECT max(${column}) FROM ${table}`).pluck().get() ?? 0);
}

/** Makes the index of words from the passages, because SQLite's index keeps no text that could be read from it. */
function wordsOf(database: Database.Database): MovedTable {
  const passages = database.prepare<[], PassageRow>(PASSAGES);
  return {
    ...{ name: 'passage_words', columns: ['passage', 'words'], numbered: undefined },
    *rows() {
      for (const { id, collection, heading, facts, name, text } of passages.iterate()) {
        const described = { name, text, heading: JSON.parse(heading) as string[] };
        const terms = passageTerms({ ...described, facts: JSON.parse(facts) as DescribedPassage['facts'] });
        yield [String(id), indexTextOf(collection, terms)];
      }
    },
  };
}

/** Converts a value to PostgreSQL's notation. Replaces U+0000, which its texts cannot hold. */
function toField(value: SqlValue): Field {
  if (value === null) return null;
  if (Buffer.isBuffer(value)) return `\\x${value.toString('hex')}`;
  return typeof value === 'bigint' ? value.toString() : value.replaceAll('\0', '\ufffd');
}
