import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { hushConsole } from './console.js';
import type { Play } from './puppet.js';
import type { Side, SideOptions } from './sides.js';
import { openOurs, openStock } from './sides.js';

/** A line of docs/internals/a2a-conformance.md, put to our server and to a stock one that runs the same executor. */
export interface Row {
  /** The number of the line in the page, and what the row tries: the title of the test. */
  readonly line: string;
  /** The script of the executor on both sides. Default: the executor publishes nothing. */
  readonly agent?: Play;
  readonly ask: (side: Side) => Promise<unknown>;
  /** The right result, which our server gives. */
  readonly ours: unknown;
  /** The result of stock 1.3.0. A test that goes red here tells that the SDK has changed. */
  readonly stock: unknown;
}

export function besideStock(title: string, rows: readonly Row[], options: SideOptions = {}): void {
  describe(title, () => {
    let ours: Side;
    let stock: Side;

    beforeAll(async () => {
      hushConsole();
      [ours, stock] = await Promise.all([openOurs(options), openStock(options)]);
    });

    afterAll(async () => {
      await Promise.all([ours.close(), stock.close()]);
      jest.restoreAllMocks();
    });

    it.each(rows.map((row) => [row.line, row] as const))('%s', async (_line, row) => {
      for (const { puppet } of [ours, stock]) puppet.rehearse(row.agent ?? (() => {}));
      const [right, wrong] = await Promise.all([row.ask(ours), row.ask(stock)]);
      expect({ ours: right, stock: wrong }).toEqual({ ours: row.ours, stock: row.stock });
      expect(right).not.toEqual(wrong);
    });
  });
}
