import { describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import openWabt from 'wabt';
import {
  createCodeProducts,
  hasVectorUnit,
  LANES,
  computeInJavaScript,
} from '../../../../src/capabilities/knowledge/sql/code-products.js';
import { Nearest, VectorTable } from '../../../../src/capabilities/knowledge/sql/vector-table.js';
import { unit } from '../../../suites/library-fixtures.js';

/** The same numbers in every run. */
function codesOf(length: number, seed: number): Int8Array {
  let state = seed;
  return Int8Array.from({ length }, () => {
    state = (state * 1_103_515_245 + 12_345) & 0x7fffffff;
    return ((state >> 8) % 255) - 127;
  });
}

describe('the dot products of vector codes', () => {
  it('are computed by the WebAssembly that the text says', async () => {
    const text = await readFile('src/capabilities/knowledge/sql/code-products.wat', 'utf8');
    const built = await readFile(createRequire(import.meta.url).resolve('#built/code-products.wasm'));
    const wabt = await openWabt();
    expect(built).toEqual(Buffer.from(wabt.parseWat('code-products.wat', text).toBinary({}).buffer));
  });

  it('are computed by the vector unit of the machines that tests run on', () => {
    expect(hasVectorUnit()).toBe(true);
  });

  it.each([
    [LANES, 1],
    [384, 7],
    [1_536, 33],
    [4_096, 90],
  ])('equal those computed in JavaScript, for %d numbers and %d rows', (length, count) => {
    const products = createCodeProducts();
    expect(products.maxRows(length)).toBeGreaterThanOrEqual(count);
    const [rows, vector] = [codesOf(length * count, 3), codesOf(length, 5)];
    expect([...products.compute(rows, vector)]).toEqual([...computeInJavaScript(rows, vector)]);
    const [least, most] = [new Int8Array(length).fill(-127), new Int8Array(length).fill(127)];
    expect([...products.compute(least, most)]).toEqual([-127 * 127 * length]);
    expect([...products.compute(least, least)]).toEqual([127 * 127 * length]);
  });
});

describe('a table of vectors', () => {
  it.each([3, 40])(
    'finds the nearest of 9,000 vectors of %d numbers, in several scans and after deletions',
    (dimension) => {
      const count = 9_000;
      const vectors = Array.from({ length: count }, (_, id) => unit(...codesOf(dimension, id + 1)));
      const table = new VectorTable(dimension);
      vectors.forEach((vector, id) => table.set(id, vector));
      for (let id = 0; id < count; id += 3) table.delete(id);
      for (const id of [1, 8_200, 8_998]) {
        const best = new Nearest(1);
        table.scan(vectors[id]!, best, { from: 0, to: table.size });
        const [nearest] = best.list();
        expect(nearest!.score).toBeGreaterThan(0.98);
        if (dimension > 3) expect(nearest!.id).toBe(id);
      }
      const gone = new Nearest(1);
      table.scan(vectors[8_400]!, gone, { from: 0, to: table.size });
      expect(gone.list()[0]!.id).not.toBe(8_400);
    },
  );
});
