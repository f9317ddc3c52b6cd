import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

/** The number of codes that are multiplied at once. The length of a row is a multiple of it. */
export const LANES = 16;

/** Computes the dot products of one vector of codes with many rows of codes. */
export interface CodeProducts {
  /** The most rows of this length that one call of `compute` takes. At least 1. */
  maxRows(rowLength: number): number;
  /**
   * Returns one dot product per row. `rows` holds the rows one after the other, each as long as `vector`; that length is a
   * multiple of `LANES`. The next call overwrites the returned array.
   */
  compute(rows: Int8Array, vector: Int8Array): Int32Array;
}

const PAGE_BYTES = 65_536;
/** The memory that rows are copied into: always 4 MiB. */
const PAGES = 64;
const MAX_ROWS = 8_192;
const RESULTS = PAGE_BYTES;
const ROWS = RESULTS + MAX_ROWS * Int32Array.BYTES_PER_ELEMENT;

/** The part of WebAssembly used here. TypeScript declares it in the DOM library only. */
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

type Multiply = (...args: readonly [row: number, end: number, length: number, out: number]) => void;

/** The WebAssembly of code-products.wat. */
function readProgram(): Uint8Array {
  return readFileSync(createRequire(import.meta.url).resolve('#built/code-products.wasm'));
}

/** Whether WebAssembly can use a vector unit (SIMD) of this processor. */
export function hasVectorUnit(program = readProgram()): boolean {
  return wasm.validate(program);
}

/** Uses the vector unit of the processor if there is one: ten times as fast as JavaScript. */
export function createCodeProducts(): CodeProducts {
  const program = readProgram();
  if (!hasVectorUnit(program)) return { maxRows: () => MAX_ROWS, compute: computeInJavaScript };
  const memory = new wasm.Memory({ initial: PAGES, maximum: PAGES });
  const { exports } = new wasm.Instance(new wasm.Module(program), { lango: { memory } });
  const multiply = exports['multiply'] as Multiply;
  const bytes = new Int8Array(memory.buffer);
  const results = new Int32Array(memory.buffer, RESULTS, MAX_ROWS);
  return {
    maxRows: (rowLength) => Math.min(MAX_ROWS, Math.floor((bytes.length - ROWS) / rowLength)),
    compute(rows, vector) {
      bytes.set(vector);
      bytes.set(rows, ROWS);
      multiply(ROWS, ROWS + rows.length, vector.length, RESULTS);
      return results.subarray(0, rows.length / vector.length);
    },
  };
}

/** `compute` without a vector unit. Four sums are independent, so the processor adds them in parallel. */
export function computeInJavaScript(rows: Int8Array, vector: Int8Array): Int32Array {
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
