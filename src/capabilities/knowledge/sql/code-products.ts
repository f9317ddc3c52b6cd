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

/** Whether WebAssembly can use a vector unit (SIMD) of this processor. */
export function hasVectorUnit(): boolean {
  return wasm.validate(PROGRAM);
}

/** Uses the vector unit of the processor if there is one: ten times as fast as JavaScript. */
export function createCodeProducts(): CodeProducts {
  if (!hasVectorUnit()) return { maxRows: () => MAX_ROWS, compute: computeInJavaScript };
  const memory = new wasm.Memory({ initial: PAGES, maximum: PAGES });
  const { exports } = new wasm.Instance(new wasm.Module(PROGRAM), { m: { m: memory } });
  const multiply = exports['f'] as Multiply;
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

/*
 * The WebAssembly module, in binary form. Its one function, `f(row, end, length, out)`, takes each row of `length` bytes
 * from `row` to `end`, multiplies it with the bytes at address 0, and writes the sum of the products to `out` as 32 bits.
 */
const I32 = 0x7f;
const V128 = 0x7b;
/** The parameters, then the local variables, by index. */
const [ROW, END, LENGTH, OUT, INDEX, SUM, LEFT, RIGHT] = [0, 1, 2, 3, 4, 5, 6, 7] as const;

const get = (local: number) => [0x20, local];
const set = (local: number) => [0x21, local];
const tee = (local: number) => [0x22, local];
const i32 = (value: number) => [0x41, ...unsigned(value)];
const simd = (operation: number, ...rest: readonly number[]) => [0xfd, ...unsigned(operation), ...rest];
const ADD = 0x6a;
const BELOW = 0x49;
const NOT_BELOW = 0x4f;
const BLOCK = [0x02, 0x40];
const LOOP = [0x03, 0x40];
const JUMP = 0x0c;
const JUMP_IF = 0x0d;
const STORE = [0x36, 2, 0];
const DONE = 0x0b;
const LOAD_16_BYTES = simd(0x00, 0, 0);
const NO_SUMS = simd(0x0c, ...Array.from({ length: 16 }, () => 0));
/** i16x8.extmul_{low,high}_i8x16_s, then i32x4.extadd_pairwise_i16x8_s: no value can overflow. */
const LOW_PRODUCTS = [...simd(0x9c), ...simd(0x7e)];
const HIGH_PRODUCTS = [...simd(0x9d), ...simd(0x7e)];
const ADD_SUMS = simd(0xae);
const sumAt = (lane: number) => [...get(SUM), ...simd(0x1b, lane)];

const MULTIPLY = [
  ...BLOCK,
  ...LOOP,
  ...[...get(ROW), ...get(END), NOT_BELOW, JUMP_IF, 1],
  ...[...NO_SUMS, ...set(SUM), ...i32(0), ...set(INDEX)],
  ...LOOP,
  ...[...get(ROW), ...get(INDEX), ADD, ...LOAD_16_BYTES, ...set(LEFT)],
  ...[...get(INDEX), ...LOAD_16_BYTES, ...set(RIGHT)],
  ...[...get(SUM), ...get(LEFT), ...get(RIGHT), ...LOW_PRODUCTS, ...ADD_SUMS],
  ...[...get(LEFT), ...get(RIGHT), ...HIGH_PRODUCTS, ...ADD_SUMS, ...set(SUM)],
  ...[...get(INDEX), ...i32(16), ADD, ...tee(INDEX), ...get(LENGTH), BELOW, JUMP_IF, 0],
  DONE,
  ...[...get(OUT), ...sumAt(0), ...sumAt(1), ADD, ...sumAt(2), ADD, ...sumAt(3), ADD, ...STORE],
  ...[...get(OUT), ...i32(4), ADD, ...set(OUT), ...get(ROW), ...get(LENGTH), ADD, ...set(ROW)],
  ...[JUMP, 0, DONE, DONE, DONE],
];

const LOCALS = [2, 1, I32, 3, V128];
const NAME = (letter: string) => [1, letter.charCodeAt(0)];

const PROGRAM = Uint8Array.from([
  ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
  ...section(1, [1, 0x60, 4, I32, I32, I32, I32, 0]),
  // The memory is imported: `m` of module `m`.
  ...section(2, [1, ...NAME('m'), ...NAME('m'), 2, 0, 1]),
  ...section(3, [1, 0]),
  ...section(7, [1, ...NAME('f'), 0, 0]),
  ...section(10, [1, ...sized([...LOCALS, ...MULTIPLY])]),
]);

function section(id: number, content: readonly number[]): readonly number[] {
  return [id, ...sized(content)];
}

function sized(content: readonly number[]): readonly number[] {
  return [...unsigned(content.length), ...content];
}

/** LEB128: seven bits per byte, lowest first. Constants below 64 have the same encoding as signed numbers. */
function unsigned(value: number): readonly number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)];
}
