/**
 * A WebAssembly module of one function, `f(row, end, length, out)`, written in its binary form: for each row of `length`
 * bytes from `row` to `end` it writes the sum of its products with the bytes at address 0 to `out`, 32 bits each.
 */
const I32 = 0x7f;
const V128 = 0x7b;
/** Parameters, then what it remembers, by number. */
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
/** i16x8.extmul_{low,high}_i8x16_s, then i32x4.extadd_pairwise_i16x8_s: nothing can overflow. */
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

export const PROGRAM = Uint8Array.from([
  ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
  ...section(1, [1, 0x60, 4, I32, I32, I32, I32, 0]),
  // The memory is given: `m` of `m`.
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

/** LEB128: seven bits a byte, the lowest first. A constant below 64 is the same with a sign. */
function unsigned(value: number): readonly number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)];
}
