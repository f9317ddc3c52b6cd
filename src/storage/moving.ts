import { createHash } from 'node:crypto';

/** A value as text, so that it is compared exactly: numbers in decimals, bytes in hexadecimal. */
export type Field = string | null;

/** The rows of one table, as they are to be in the other database. */
export interface MovedTable {
  readonly name: string;
  readonly columns: readonly string[];
  /** Read anew at each call. */
  rows(): Iterable<readonly Field[]>;
  /** The column that is numbered, and the largest number that was given. */
  readonly numbered: { readonly column: string; readonly last: number } | undefined;
}

/** A database that is moved away. It changes no more until `close`. */
export interface MoveSource {
  readonly nodeId: string;
  readonly tables: readonly MovedTable[];
  close(): void;
}

/** The rows of each table that were moved, by its name. */
export type Moved = Readonly<Record<string, number>>;

/** Counts rows and sums their hashes, so that their order does not matter. */
export class Tally {
  #sum = 0n;
  #rows = 0;

  get rows(): number {
    return this.#rows;
  }

  add(row: readonly Field[]): void {
    this.#rows += 1;
    this.#sum += BigInt(`0x${createHash('sha256').update(JSON.stringify(row)).digest('hex')}`);
  }

  equals(other: Tally): boolean {
    return this.#rows === other.#rows && this.#sum === other.#sum;
  }
}
