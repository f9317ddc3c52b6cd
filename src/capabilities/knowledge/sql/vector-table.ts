import { createCodeProducts, LANES, type CodeProducts } from './code-products.js';

/** A search result: an id with its score. */
type Near = Readonly<Record<'id' | 'score', number>>;

const FIRST_CAPACITY = 64;

/** Created at first use and shared by all tables. Its memory is bounded. */
let products: CodeProducts | undefined;

/**
 * Vectors of one dimension, quantized to one byte per number. That is small and fast enough to compare a vector with all
 * of them, and slightly imprecise: the results are candidates, to be compared exactly afterwards.
 */
export class VectorTable {
  readonly #rows = new Map<number, number>();
  readonly #ids: number[] = [];
  readonly #scales: number[] = [];
  /** The length of a row: the dimension, rounded up to a multiple of `LANES`. The padding is zero. */
  readonly #length: number;
  #codes: Int8Array;

  constructor(dimension: number, capacity = FIRST_CAPACITY) {
    this.#length = Math.ceil(dimension / LANES) * LANES;
    this.#codes = new Int8Array(Math.max(capacity, 1) * this.#length);
  }

  get size(): number {
    return this.#ids.length;
  }

  get bytes(): number {
    return this.#codes.byteLength;
  }

  /** Adds a vector, or replaces the one with this id. */
  set(id: number, vector: Float32Array): void {
    const row = this.#rows.get(id) ?? this.#addRow(id);
    const start = row * this.#length;
    this.#scales[row] = encode(vector, this.#codes.subarray(start, start + vector.length));
  }

  /** Removes a vector. The last row moves into its row. */
  delete(id: number): void {
    const row = this.#rows.get(id);
    if (row === undefined) return;
    const lastRow = this.#ids.length - 1;
    const lastId = this.#ids[lastRow]!;
    this.#codes.copyWithin(row * this.#length, lastRow * this.#length, (lastRow + 1) * this.#length);
    this.#ids[row] = lastId;
    this.#scales[row] = this.#scales[lastRow]!;
    this.#rows.set(lastId, row);
    this.#ids.pop();
    this.#scales.pop();
    this.#rows.delete(id);
  }

  /** Offers the rows from `from` up to but not including `to` to `best`. */
  scan(vector: Float32Array, best: Nearest, { from, to }: Readonly<Record<'from' | 'to', number>>): void {
    const query = new Int8Array(this.#length);
    const scale = encode(vector, query);
    products ??= createCodeProducts();
    const maxRows = products.maxRows(this.#length);
    const end = Math.min(to, this.size);
    for (let row = from; row < end; row += maxRows) {
      const rows = this.#codes.subarray(row * this.#length, Math.min(row + maxRows, end) * this.#length);
      products.compute(rows, query).forEach((product, index) => {
        best.offer(this.#ids[row + index]!, product * this.#scales[row + index]! * scale);
      });
    }
  }

  #addRow(id: number): number {
    const row = this.#ids.length;
    if ((row + 1) * this.#length > this.#codes.length) {
      const larger = new Int8Array(this.#codes.length * 2);
      larger.set(this.#codes);
      this.#codes = larger;
    }
    this.#ids.push(id);
    this.#scales.push(0);
    this.#rows.set(id, row);
    return row;
  }
}

/** Keeps the `limit` best of many scores, offered in any order. */
export class Nearest {
  readonly #limit: number;
  /** Best first. */
  readonly #found: Near[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  offer(id: number, score: number): void {
    const last = this.#found.at(-1);
    if (this.#found.length >= this.#limit && last !== undefined && score <= last.score) return;
    const position = this.#found.findIndex((near) => near.score < score);
    this.#found.splice(position === -1 ? this.#found.length : position, 0, { id, score });
    if (this.#found.length > this.#limit) this.#found.pop();
  }

  list(): readonly Near[] {
    return this.#found;
  }
}

const LARGEST_CODE = 127;
/** Added while a code is rounded, because non-negative numbers round faster. */
const SHIFT = 128;

/** Writes one byte per number of the vector. Returns the scale: a number is about its byte times the scale. */
function encode(vector: Float32Array, codes: Int8Array): number {
  const { length } = vector;
  let largest = 0;
  for (let index = 0; index < length; index += 1) {
    const size = Math.abs(vector[index]!);
    if (size > largest) largest = size;
  }
  const factor = largest === 0 ? 0 : LARGEST_CODE / largest;
  for (let index = 0; index < length; index += 1)
    codes[index] = ((vector[index]! * factor + SHIFT + 0.5) | 0) - SHIFT;
  return factor === 0 ? 0 : 1 / factor;
}

/** The cosine of the angle between two vectors of length 1. */
export function cosine(left: Float32Array, right: Float32Array): number {
  let sum = 0;
  for (let index = 0; index < left.length; index += 1) sum += left[index]! * right[index]!;
  return sum;
}
