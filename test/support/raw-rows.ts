import Database from 'better-sqlite3';
import type pg from 'pg';

/** The rows of a database under any names of its tables. */

/** A value as text: numbers in decimal, bytes in hexadecimal. */
type Field = string | null;
type SqlValue = bigint | number | string | Buffer | null;
export interface RawTable {
  readonly name: string;
  readonly rows: readonly (readonly Field[])[];
}

/** Tables about the database itself and its processes, and the index of words, which has no readable rows. */
const LEFT_OUT = /^(meta|workers|trace_exporter|passage_words.*|passage_terms)$/;

export function rowsOfFile(file: string): readonly RawTable[] {
  const database = new Database(file, { readonly: true });
  try {
    const names = database
      .prepare<[], string>("SELECT name FROM pragma_table_list WHERE type = 'table' AND schema = 'main'")
      .pluck()
      .all();
    // A key of the inbox that is not moved there yet; PostgreSQL has it in the inbox only.
    const columnsOf = database
      .prepare<[string], string>("SELECT name FROM pragma_table_info(?) WHERE name <> 'sent'")
      .pluck();
    return names
      .filter((name) => !name.startsWith('sqlite_') && !LEFT_OUT.test(name))
      .map((name) => {
        const list = columnsOf.all(name).map((column) => `"${column}"`);
        const all = database.prepare<[], SqlValue[]>(`SELECT ${list.join(', ')} FROM "${name}"`);
        return {
          name,
          rows: all
            .raw()
            .safeIntegers()
            .all()
            .map((row) => row.map(toField)),
        };
      });
  } finally {
    database.close();
  }
}

export async function rowsOfServer(
  run: (sql: string) => Promise<pg.QueryResult>,
): Promise<readonly RawTable[]> {
  const columns =
    await run(`SELECT table_name AS name, string_agg(format('%I::text', column_name), ', ') AS list
    FROM information_schema.columns WHERE table_schema = 'public' GROUP BY table_name`);
  const tables = (columns.rows as { name: string; list: string }[]).filter(
    ({ name }) => !LEFT_OUT.test(name),
  );
  return Promise.all(
    tables.map(async ({ name, list }) => {
      const { rows } = await run(`SELECT ARRAY[${list}] AS row FROM "${name}"`);
      return { name, rows: (rows as { row: Field[] }[]).map(({ row }) => row) };
    }),
  );
}

/**
 * Lists the tables of `before` whose rows are no longer together in one table of `after`, by name. A row counts as
 * present when one row has all of its values: tables and columns may be renamed, moved and added.
 */
export function lostTables(before: readonly RawTable[], after: readonly RawTable[]): readonly string[] {
  const isIn = ({ rows }: RawTable, there: RawTable): boolean => {
    if (there.rows.length < rows.length) return false;
    const left = there.rows.map(countsOf);
    return rows.every((row) => {
      const counts = countsOf(row);
      const at = left.findIndex((one) =>
        [...counts].every(([value, count]) => (one.get(value) ?? 0) >= count),
      );
      if (at !== -1) left.splice(at, 1);
      return at !== -1;
    });
  };
  return before.filter((table) => !after.some((there) => isIn(table, there))).map(({ name }) => name);
}

function countsOf(row: readonly Field[]): ReadonlyMap<Field, number> {
  const counts = new Map<Field, number>();
  for (const value of row) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

function toField(value: SqlValue): Field {
  if (value === null) return null;
  return Buffer.isBuffer(value) ? `\\x${value.toString('hex')}` : String(value);
}
