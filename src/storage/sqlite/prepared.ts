import type Database from 'better-sqlite3';
import type { Outcome } from '../../core/sql.js';

/** Prepares each SQL text at its first use and keeps it. The texts must be few: constants, or built from few parts. */
export class Prepared {
  readonly #handle: Database.Database;
  readonly #statements = new Map<string, Database.Statement<unknown[]>>();

  constructor(handle: Database.Database) {
    this.#handle = handle;
  }

  outcome(sql: string, values: readonly unknown[]): Outcome {
    const statement = this.#get(sql);
    if (!statement.reader) return { rows: [], changes: statement.run(...values).changes };
    const rows = statement.all(...values);
    return { rows, changes: rows.length };
  }

  #get(sql: string): Database.Statement<unknown[]> {
    const known = this.#statements.get(sql);
    if (known) return known;
    const statement: Database.Statement<unknown[]> = this.#handle.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}

/** A value of a column. */
export type Value = string | number | null;

/** The most rows that one statement inserts. */
const ROWS_AT_ONCE = 16;

/** Inserts several rows with one statement, because a statement costs more than a short row. */
export class RowInsert {
  readonly #handle: Database.Database;
  readonly #into: string;
  readonly #columns: number;
  readonly #row: string;
  /** The statements by number of rows, each prepared at first use. */
  readonly #statements: Database.Statement<unknown[]>[] = [];

  constructor(handle: Database.Database, table: string, columns: readonly string[]) {
    this.#handle = handle;
    this.#into = `INSERT INTO ${table} (${columns.join(', ')}) VALUES `;
    this.#columns = columns.length;
    this.#row = `(${columns.map(() => '?').join(', ')})`;
  }

  /** `values` holds the rows one after the other. */
  run(values: readonly Value[]): void {
    const size = this.#columns * ROWS_AT_ONCE;
    if (values.length <= size) this.#insert(values);
    else for (let at = 0; at < values.length; at += size) this.#insert(values.slice(at, at + size));
  }

  #insert(values: readonly Value[]): void {
    const rows = values.length / this.#columns;
    const text = (): string => this.#into + Array<string>(rows).fill(this.#row).join(', ');
    (this.#statements[rows] ??= this.#handle.prepare(text())).run(values);
  }
}
