import type Database from 'better-sqlite3';

/** Prepares each text once; meant for texts that there are few of. */
export class Prepared {
  readonly #handle: Database.Database;
  readonly #statements = new Map<string, Database.Statement<unknown[]>>();

  constructor(handle: Database.Database) {
    this.#handle = handle;
  }

  all<Row>(sql: string, ...values: readonly unknown[]): readonly Row[] {
    return this.#get(sql).all(...values) as Row[];
  }

  first<Row>(sql: string, ...values: readonly unknown[]): Row | undefined {
    return this.#get(sql).get(...values) as Row | undefined;
  }

  /** The only column of each row. A text that is asked for so is always asked for so. */
  column<Value>(sql: string, ...values: readonly unknown[]): readonly Value[] {
    return this.#get(sql)
      .pluck()
      .all(...values) as Value[];
  }

  /** Row by row: nothing may be written before the last. */
  each<Row>(sql: string, ...values: readonly unknown[]): IterableIterator<Row> {
    return this.#get(sql).iterate(...values) as IterableIterator<Row>;
  }

  run(sql: string, ...values: readonly unknown[]): Database.RunResult {
    return this.#get(sql).run(...values);
  }

  #get(sql: string): Database.Statement<unknown[]> {
    const statement = this.#statements.get(sql) ?? this.#handle.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}

/** Every one of these texts, prepared at once. Those of `plucked` give one column, and that column alone. */
export function prepareAll<Statements>(
  handle: Database.Database,
  texts: Readonly<Record<keyof Statements, string>>,
  plucked: readonly (keyof Statements)[] = [],
): Statements {
  const prepared = Object.entries<string>(texts).map(([name, sql]) => {
    const statement = handle.prepare(sql);
    return [name, plucked.includes(name as keyof Statements) ? statement.pluck() : statement] as const;
  });
  return Object.fromEntries(prepared) as Statements;
}

/** What a column of ours holds. */
export type Value = string | number | null;

/** The most rows of one statement. */
const ROWS_AT_ONCE = 16;

/** Adds rows to a table, several with one statement: of a short row, the statement costs more than the row. */
export class RowInsert {
  readonly #handle: Database.Database;
  readonly #into: string;
  readonly #columns: number;
  readonly #row: string;
  /** By the number of their rows, made when first needed. */
  readonly #statements: Database.Statement<unknown[]>[] = [];

  constructor(handle: Database.Database, table: string, columns: readonly string[]) {
    this.#handle = handle;
    this.#into = `INSERT INTO ${table} (${columns.join(', ')}) VALUES `;
    this.#columns = columns.length;
    this.#row = `(${columns.map(() => '?').join(', ')})`;
  }

  /** `values` holds one row after the other. */
  run(values: readonly Value[]): void {
    const most = this.#columns * ROWS_AT_ONCE;
    if (values.length <= most) this.#insert(values);
    else for (let at = 0; at < values.length; at += most) this.#insert(values.slice(at, at + most));
  }

  #insert(values: readonly Value[]): void {
    const rows = values.length / this.#columns;
    const text = (): string => this.#into + Array<string>(rows).fill(this.#row).join(', ');
    (this.#statements[rows] ??= this.#handle.prepare(text())).run(values);
  }
}
