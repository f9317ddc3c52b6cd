/**
 * The port between a database and the stores that are written once for all databases. A store writes its work as a
 * generator that yields statements. SQLite answers each statement at once; PostgreSQL answers it after a round trip.
 */

import type { Scope } from './task.js';
import { scopeKey } from './task.js';

/** SQL with `?` or `@name` for its values. With names, `values` holds one object with the values by name. */
export interface Statement {
  readonly sql: string;
  readonly values: readonly unknown[];
}

export interface Outcome {
  /** The rows that the statement returns; empty without `SELECT` or `RETURNING`. */
  readonly rows: readonly unknown[];
  /** The number of rows that were inserted, updated or deleted. */
  readonly changes: number;
}

/** Work that yields statements and is resumed with their outcomes. It may be run again from its start. */
export type Query<Result> = Generator<Statement, Result, Outcome>;

/** The result of one transaction of `writeInSteps`. */
export interface Step {
  /** Added to the sum that `writeInSteps` returns. */
  readonly count: number;
  readonly isLast: boolean;
}

/** The database as the shared stores see it. All methods reject with `LangoError` `storage` when it fails. */
export interface SqlDatabase {
  readonly dialect: Dialect;
  /** Whether other processes may write to the same database. */
  readonly isShared: boolean;
  /** The time of the store's clock, in milliseconds since the epoch. */
  now(): Promise<number>;
  read<Result>(query: () => Query<Result>): Promise<Result>;
  /** Removes the remains of deleted rows from the files. Takes seconds for a large database. */
  purge(): Promise<void>;
  /**
   * Runs the work in one transaction, after all earlier work under the same lock, and resolves after the commit. `now` is
   * the time at which the transaction begins. Work that throws a `LangoError` must have written nothing.
   */
  write<Result>(lock: string, work: (now: number) => Query<Result>): Promise<Result>;
}

/**
 * Splits a long write into small transactions, and resolves with the sum of the counts. After an interruption the committed
 * steps remain.
 */
export async function writeInSteps(
  database: SqlDatabase,
  lock: string,
  step: (now: number) => Query<Step>,
): Promise<number> {
  for (let sum = 0; ;) {
    const { count, isLast } = await database.write(lock, step);
    sum += count;
    if (isLast) return sum;
  }
}

/** The SQL that differs from database to database. */
export interface Dialect {
  readonly name: 'sqlite' | 'postgres';
  /** A member of a JSON column, as text. */
  readonly member: (column: string, name: string) => string;
  /** A subquery: the items of a JSON list that is bound to the parameter. */
  readonly items: (type: 'text' | 'number', parameter?: string) => string;
  /** Names the index to use, for a database that would choose a worse one. */
  readonly using: (index: string) => string;
  /** A join that reads the left table first, if the database supports that. */
  readonly orderedJoin: string;
  /** Ends a SELECT of rows that the transaction depends on, so that no other one changes them. */
  readonly forUpdate: string;
  /** Like `forUpdate`, but leaves out rows that another transaction has locked. */
  readonly skipLocked: string;
  /** A key that is above the keys of all tasks so far, and not above those of later tasks. */
  readonly nextKey: string;
  /** An aggregate: the JSON list of `value` in this order, as text. */
  readonly jsonList: (value: string, order: string) => string;
}

/**
 * The tables of a capability: for each database, the SQL of each version of them, the first one for an empty database. A
 * released version is never edited. Tables made before capabilities had versions of their own are still there, so their
 * first version says IF NOT EXISTS.
 */
export interface TableMigrations {
  readonly sqlite: readonly string[];
  readonly postgres: readonly string[];
  /** Converts tables that a move from SQLite to PostgreSQL cannot copy row by row. */
  readonly moves?: readonly TableMove[];
}

/** A value as text: numbers in decimal, bytes as `\\x` and hexadecimal digits. */
export type Field = string | null;

/** How one table is moved to PostgreSQL. */
export interface TableMove {
  readonly table: string;
  /** Columns that PostgreSQL fills itself when it gets the rows. */
  readonly filled?: readonly string[];
  /** For a table that SQLite keeps in another form: makes its rows from other tables. */
  readonly derived?: DerivedTable;
}

export interface DerivedTable {
  readonly columns: readonly string[];
  /** The statement whose rows the table is made of. */
  readonly sql: string;
  readonly toFields: (row: never) => readonly Field[];
  /** SQL of a value, by its parameter; and SQL that reads the column as text. */
  readonly write: (parameter: string, column: string) => string;
  readonly read: (column: string) => string;
  /** The fields of a row in a form that is equal in both databases. */
  readonly compared: (fields: readonly Field[]) => readonly Field[];
}

/** Returns the lock for all data of one owner. */
export function lockOf(scope: Scope): string {
  return scopeKey(scope);
}

export function* all<Row>(sql: string, ...values: readonly unknown[]): Query<readonly Row[]> {
  return (yield { sql, values }).rows as readonly Row[];
}

/** The first row. For statements that return one row, or few. */
export function* first<Row>(sql: string, ...values: readonly unknown[]): Query<Row | undefined> {
  return (yield { sql, values }).rows[0] as Row | undefined;
}

/** The values of the first column. */
export function* column<Value>(sql: string, ...values: readonly unknown[]): Query<readonly Value[]> {
  const { rows } = yield { sql, values };
  return rows.map((row) => Object.values(row as object)[0] as Value);
}

/** Runs a statement, and returns the number of changed rows. */
export function* run(sql: string, ...values: readonly unknown[]): Query<number> {
  return (yield { sql, values }).changes;
}

/** Runs work on a database that answers at once. */
export function runNow<Result>(query: Query<Result>, answer: (statement: Statement) => Outcome): Result {
  let step = query.next();
  while (!step.done) step = query.next(answer(step.value));
  return step.value;
}

/** Runs work on a database that answers later. */
export async function runLater<Result>(
  query: Query<Result>,
  answer: (statement: Statement) => Promise<Outcome>,
): Promise<Result> {
  let step = query.next();
  while (!step.done) step = query.next(await answer(step.value));
  return step.value;
}

/** The statements of a query, for capabilities from outside. */
export const sql = { all, first, column, run };
