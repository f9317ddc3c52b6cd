import { existsSync } from 'node:fs';
import type Database from 'better-sqlite3';
import { LangoError } from '../../core/errors.js';
import type { DerivedTable, Field, TableMove } from '../../core/sql.js';
import type { CapabilityTables } from '../capability-tables.js';
import type { MovedTable, MoveSource } from '../moving.js';
import { MOVE_ALL } from './inbox.js';
import { openConnection, type ConnectionOptions } from './connection.js';
import { openSqliteStorage } from './storage.js';
import { LAST_KEY } from './task-store.js';

/** The tables to move. `meta` and `capabilities` stay behind, since PostgreSQL has its own. */
const TABLES = `SELECT name FROM pragma_table_list WHERE type = 'table' AND schema = 'main'
  AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT IN ('meta', 'capabilities') ORDER BY name`;

type SqlValue = bigint | string | Buffer | null;

/** The columns that PostgreSQL has in another form. */
const CONVERTED: Readonly<Record<string, string>> = {
  'inbox.task': `coalesce((SELECT id FROM tasks WHERE key = task), (SELECT id FROM removed_tasks WHERE key = task), '')`,
};

/** The columns that PostgreSQL does not have. `inbox` has the messages of all tasks by then. */
const LEFT_OUT: ReadonlySet<string> = new Set(['tasks.sent']);

/**
 * Opens a database to move its rows. As at a start, brings its schema up to date and frees the leases of a crash. Rejects with `LangoError` `not-found` or `storage`, with advice, when it is missing, damaged or in use.
 */
export async function openMoveSource(
  options: ConnectionOptions & { readonly tables: readonly CapabilityTables[] },
): Promise<MoveSource> {
  if (!existsSync(options.file)) {
    throw new LangoError('not-found', `There is no database ${options.file}.`, {
      hint: 'Name the file of the embedded database: lango migrate --from sqlite:FILE',
    });
  }
  await openSqliteStorage(options).close();
  const connection = openConnection(options);
  const { database, nodeId } = connection;
  database.transaction(() => database.exec(MOVE_ALL)).immediate();
  assertKnown(database, options.tables);
  const moves = new Map(options.tables.flatMap(({ moves = [] }) => moves).map((move) => [move.table, move]));
  const names = database.prepare<[], string>(TABLES).pluck().all();
  const derived = [...moves.values()].filter((move) => move.derived);
  return {
    nodeId,
    tables: [
      ...names.map((name) => readTable(database, name, moves.get(name))),
      ...derived.map(({ table, derived }) => deriveTable(database, table, derived!)),
    ],
    close: () => connection.close(),
  };
}

/** Throws `storage` when the database has tables of a capability that is not in the list: PostgreSQL would lack them. */
function assertKnown(database: Database.Database, tables: readonly CapabilityTables[]): void {
  const found = database.prepare<[], string>('SELECT name FROM capabilities').pluck().all();
  const unknown = found.filter((name) => !tables.some((one) => one.name === name));
  if (unknown.length === 0) return;
  const text = `The database has tables of capabilities that are not here: ${unknown.join(', ')}.`;
  throw new LangoError('storage', text, {
    hint: 'Name their packages in capabilities of the configuration. Nothing was moved.',
  });
}

interface Column {
  readonly name: string;
  readonly type: string;
  /** The position in the primary key, from 1; 0 for a column that is not in it. */
  readonly pk: number;
}

function readTable(database: Database.Database, name: string, move: TableMove | undefined): MovedTable {
  const all = database.pragma(`table_info(${name})`) as readonly Column[];
  const columns = all
    .map((column) => column.name)
    .filter((column) => !move?.filled?.includes(column) && !LEFT_OUT.has(`${name}.${column}`));
  const listed = columns.map((column) => CONVERTED[`${name}.${column}`] ?? `"${column}"`).join(', ');
  // Numbers are read as big integers, so that none loses a digit.
  const each = database.prepare<[], SqlValue[]>(`SELECT ${listed} FROM ${name}`).raw().safeIntegers();
  const keys = all.filter(({ pk }) => pk > 0);
  const [key] = keys.length === 1 && keys[0]!.type === 'INTEGER' ? keys : [];
  return {
    ...{ name, columns },
    *rows() {
      for (const row of each.iterate()) yield row.map(toField);
    },
    numbered: key && { column: key.name, last: lastNumber(database, name, key.name) },
  };
}

/** Returns the largest number that was given to a row, so that PostgreSQL does not give it again. */
function lastNumber(database: Database.Database, table: string, column: string): number {
  const hasSequence = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_sequence'").get();
  const given =
    table === 'tasks'
      ? database.prepare(LAST_KEY).pluck().get()
      : hasSequence && database.prepare('SELECT seq FROM sqlite_sequence WHERE name = ?').pluck().get(table);
  return Number(given ?? database.prepare(`SELECT max("${column}") FROM ${table}`).pluck().get() ?? 0);
}

/** Makes the rows of a table that SQLite keeps in another form. */
function deriveTable(database: Database.Database, name: string, derived: DerivedTable): MovedTable {
  const source = database.prepare<[], never>(derived.sql);
  return {
    ...{ name, columns: derived.columns, derived, numbered: undefined },
    *rows() {
      for (const row of source.iterate()) yield derived.toFields(row);
    },
  };
}

/** Converts a value to PostgreSQL's notation. Replaces U+0000, which its texts cannot hold. */
function toField(value: SqlValue): Field {
  if (value === null) return null;
  if (Buffer.isBuffer(value)) return `\\x${value.toString('hex')}`;
  return typeof value === 'bigint' ? value.toString() : value.replaceAll('\0', '\ufffd');
}
