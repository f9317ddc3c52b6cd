import { PROGRAM } from './code-products-program.js';

/** Rows of codes begin at a multiple of it: so many are multiplied at once. */
export const LANES = 16;

/** The products of one vector of codes with each of many. */
export interface CodeProducts {
  /** How many rows of this length go into one call. At least 1. */
  most(rowLength: number): number;
  /** `rows` stand side by side, each as long as `vector`: a multiple of `LANES`. What it gives holds until the next call. */
  of(rows: Int8Array, vector: Int8Array): Int32Array;
}

const PAGE_BYTES = 65_536;
/** The memory that rows are copied into: 4 MiB, however many there are. */
const PAGES = 64;
const MOST_ROWS = 8_192;
const RESULTS = PAGE_BYTES;
const ROWS = RESULTS + MOST_ROWS * Int32Array.BYTES_PER_ELEMENT;

/** What is used of WebAssembly; the compiler knows it of browsers alone. */
interface Wasm {
  validate(program: Uint8Array): boolean;
  readonly Memory: new (pages: Readonly<Record<'initial' | 'maximum', number>>) => {
    readonly buffer: ArrayBuffer;
  };
  readonly Module: new (program: Uint8Array) => object;
  readonly Instance: new (
    module: object,
    given: Readonly<Record<string, Readonly<Record<string, object>>>>,
  ) => { readonly exports: Readonly<Record<string, unknown>> };
}

const { WebAssembly: wasm } = globalThis as unknown as { readonly WebAssembly: Wasm };

type Multiply = (...places: readonly [row: number, end: number, length: number, out: number]) => void;

/** Whether there is a vector unit that WebAssembly can use. */
export function hasVectorUnit(): boolean {
  return wasm.validate(PROGRAM);
}

/** By the processor's vector unit, where there is one: ten times as fast as by JavaScript. */
export function createCodeProducts(): CodeProducts {
  if (!hasVectorUnit()) return { most: () => MOST_ROWS, of: productsByHand };
  const memory = new wasm.Memory({ initial: PAGES, maximum: PAGES });
  const { exports } = new wasm.Instance(new wasm.Module(PROGRAM), { m: { m: memory } });
  const multiply = exports['f'] as Multiply;
  const bytes = new Int8Array(memory.buffer);
  const results = new Int32Array(memory.buffer, RESULTS, MOST_ROWS);
  return {
    most: (rowLength) => Math.min(MOST_ROWS, Math.floor((bytes.length - ROWS) / rowLength)),
    of(rows, vector) {
      bytes.set(vector);
      bytes.set(rows, ROWS);
      multiply(ROWS, ROWS + rows.length, vector.length, RESULTS);
      return results.subarray(0, rows.length / vector.length);
    },
  };
}

/** Four sums at a time: one alone would wait for itself. */
export function productsByHand(rows: Int8Array, vector: Int8Array): Int32Array {
  const { length } = vector;
  const products = new Int32Array(rows.length / length);
  for (let row = 0, at = 0; row < products.length; row += 1, at += length) {
    let [a, b, c, d] = [0, 0, 0, 0];
    for (let index = 0; index < length; index += 4) {
      a = (a + rows[at + index]! * vector[index]!) | 0;
      b = (b + rows[at + index + 1]! * vector[index + 1]!) | 0;
      c = (c + rows[at + index + 2]! * vector[index + 2]!) | 0;
      d = (d + rows[at + index + 3]! * vector[index + 3]!) | 0;
    }
    products[row] = a + b + c + d;
  }
  return products;
}
