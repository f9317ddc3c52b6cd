/** The id and the score of what was found. */
export interface Near {
  readonly id: number;
  readonly score: number;
}

const FIRST_CAPACITY = 64;

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
  readonly dimension: number;
  readonly #rows = new Map<number, number>();
  readonly #ids: number[] = [];
  readonly #scales: number[] = [];
  #codes: Int8Array;

  constructor(dimension: number, capacity = FIRST_CAPACITY) {
    this.dimension = dimension;
    this.#codes = new Int8Array(Math.max(capacity, 1) * dimension);
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
    this.#codes.set(codes, row * this.dimension);
    this.#scales[row] = scale;
  }

  /** The last row moves into the gap. */
  delete(id: number): void {
    const row = this.#rows.get(id);
    if (row === undefined) return;
    const lastRow = this.#ids.length - 1;
    const lastId = this.#ids[lastRow]!;
    this.#codes.copyWithin(row * this.dimension, lastRow * this.dimension, (lastRow + 1) * this.dimension);
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
    const end = Math.min(to, this.size);
    for (let row = from; row < end; row += 1) {
      const product = dotOfCodes(this.#codes, row * this.dimension, codes);
      best.offer(this.#ids[row]!, product * this.#scales[row]! * scale);
    }
  }

  #addRow(id: number): number {
    const row = this.#ids.length;
    if ((row + 1) * this.dimension > this.#codes.length) {
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
  let largest = 0;
  for (const value of vector) largest = Math.max(largest, Math.abs(value));
  if (largest === 0) return { codes: new Int8Array(vector.length), scale: 0 };
  const factor = LARGEST_CODE / largest;
  return { codes: Int8Array.from(vector, (value) => Math.round(value * factor)), scale: 1 / factor };
}

/** Four sums at a time: one alone would wait for itself. */
function dotOfCodes(codes: Int8Array, offset: number, vector: Int8Array): number {
  const { length } = vector;
  let [a, b, c, d] = [0, 0, 0, 0];
  let index = 0;
  for (; index + 3 < length; index += 4) {
    a = (a + codes[offset + index]! * vector[index]!) | 0;
    b = (b + codes[offset + index + 1]! * vector[index + 1]!) | 0;
    c = (c + codes[offset + index + 2]! * vector[index + 2]!) | 0;
    d = (d + codes[offset + index + 3]! * vector[index + 3]!) | 0;
  }
  for (; index < length; index += 1) a = (a + codes[offset + index]! * vector[index]!) | 0;
  return a + b + c + d;
}

/** The cosine of the angle between two vectors of length 1. */
export function cosine(left: Float32Array, right: Float32Array): number {
  let sum = 0;
  for (let index = 0; index < left.length; index += 1) sum += left[index]! * right[index]!;
  return sum;
}
