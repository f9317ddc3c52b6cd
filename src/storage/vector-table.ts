import type { CodeProducts } from './code-products.js';
import { createCodeProducts, LANES } from './code-products.js';

/** The id and the score of what was found. */
export interface Near {
  readonly id: number;
  readonly score: number;
}

const FIRST_CAPACITY = 64;

/** Made when it is first needed, and shared: what it works in is bounded. */
let products: CodeProducts | undefined;

/** From one row up to another. */
export interface Rows {
  readonly from: number;
  readonly to: number;
}

/** A byte for each number of a vector, and what all of them are multiplied by. */
interface Coded {
  readonly codes: Int8Array;
  readonly scale: number;
}

/**
 * Vectors of one dimension side by side in memory, a byte for each of their numbers: small and fast enough to compare
 * one with all, and a hair imprecise. So it names candidates, which are then compared exactly.
 */
export class VectorTable {
  readonly #rows = new Map<number, number>();
  readonly #ids: number[] = [];
  readonly #scales: number[] = [];
  /** Of a row: the codes, and zeros up to what can be multiplied at once. */
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

  /** Takes the place of an earlier one with this id. */
  set(id: number, vector: Float32Array): void {
    const row = this.#rows.get(id) ?? this.#addRow(id);
    const { codes, scale } = encode(vector);
    this.#codes.set(codes, row * this.#length);
    this.#scales[row] = scale;
  }

  /** The last row moves into the gap. */
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

  /** Offers the rows from `from` up to `to` to `best`. */
  scan(vector: Float32Array, best: Nearest, { from, to }: Rows): void {
    const { codes, scale } = encode(vector);
    const query = new Int8Array(this.#length);
    query.set(codes);
    products ??= createCodeProducts();
    const most = products.most(this.#length);
    const end = Math.min(to, this.size);
    for (let row = from; row < end; row += most) {
      const rows = this.#codes.subarray(row * this.#length, Math.min(row + most, end) * this.#length);
      products.of(rows, query).forEach((product, index) => {
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

/** The best few of many, in any order they come. */
export class Nearest {
  readonly #limit: number;
  /** The best first. */
  readonly #found: Near[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  offer(id: number, score: number): void {
    const last = this.#found.at(-1);
    if (this.#found.length >= this.#limit && last !== undefined && score <= last.score) return;
    const place = this.#found.findIndex((near) => near.score < score);
    this.#found.splice(place === -1 ? this.#found.length : place, 0, { id, score });
    if (this.#found.length > this.#limit) this.#found.pop();
  }

  list(): readonly Near[] {
    return this.#found;
  }
}

const LARGEST_CODE = 127;

function encode(vector: Float32Array): Coded {
  const codes = new Int8Array(vector.length);
  let largest = 0;
  for (const value of vector) largest = Math.max(largest, Math.abs(value));
  if (largest === 0) return { codes, scale: 0 };
  const factor = LARGEST_CODE / largest;
  for (let index = 0; index < codes.length; index += 1) codes[index] = Math.round(vector[index]! * factor);
  return { codes, scale: 1 / factor };
}

/** The cosine of the angle between two vectors of length 1. */
export function cosine(left: Float32Array, right: Float32Array): number {
  let sum = 0;
  for (let index = 0; index < left.length; index += 1) sum += left[index]! * right[index]!;
  return sum;
}
