import { createHash } from 'node:crypto';
import type { DerivedTable, Field } from '../core/sql.js';

/** The rows of one table that is moved. */
export interface MovedTable {
  readonly name: string;
  readonly columns: readonly string[];
  /** Reads the rows from the database at each call. */
  rows(): Iterable<readonly Field[]>;
  /** Set for a table that SQLite keeps in another form. */
  readonly derived?: DerivedTable | undefined;
  /** The column that the database numbers, and the largest number so far. */
  readonly numbered: { readonly column: string; readonly last: number } | undefined;
}

/** The database whose rows are moved. It does not change until `close`. */
export interface MoveSource {
  readonly nodeId: string;
  readonly tables: readonly MovedTable[];
  close(): void;
}

/** The number of moved rows, by table. */
export type Moved = Readonly<Record<string, number>>;

/** Counts rows and sums their hashes, so that their order does not matter. */
export class Tally {
  rows = 0;
  #sum = 0n;

  add(row: readonly Field[]): void {
    this.rows += 1;
    this.#sum += BigInt(`0x${createHash('sha256').update(JSON.stringify(row)).digest('hex')}`);
  }

  equals(other: Tally): boolean {
    return this.rows === other.rows && this.#sum === other.#sum;
  }
}
