import type Database from 'better-sqlite3';

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
