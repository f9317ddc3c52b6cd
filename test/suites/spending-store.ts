import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { SpendingStore } from '../../src/stores/spending.js';
import type { OpenStore, StoreUnderTest } from './task-store-fixtures.js';
import { ALICE, ALICE_ELSEWHERE, BOB } from './task-store-fixtures.js';

const DAY_MS = 24 * 60 * 60 * 1_000;

/** The contract of every store of the owners' cost. */
export function spendingStoreSuite(name: string, open: OpenStore): void {
  describe(`spending store: ${name}`, () => {
    let under: StoreUnderTest;
    let store: SpendingStore;
    const reserve = (key: string, amount: number, scope = ALICE) =>
      store.reserve(scope, { key, amount, limit: 1 });

    beforeEach(async () => {
      under = await open();
      store = under.storage.spending;
    });
    afterEach(async () => {
      await under.storage.close();
      await under.dispose();
    });

    it('reserves no more than the rest, also for many concurrent calls, for each owner apart', async () => {
      const given = await Promise.all(Array.from({ length: 20 }, (_, call) => reserve(`${call}`, 0.3)));
      expect(given.toSorted((a, b) => b - a).slice(0, 5)).toEqual([0.3, 0.3, 0.3, 0.1, 0]);
      expect(await store.left(ALICE, 1)).toBe(0);
      expect([await reserve('a', 1, BOB), await reserve('a', 1, ALICE_ELSEWHERE)]).toEqual([1, 1]);
    });

    it('counts the cost of a call in place of its reservation, once', async () => {
      expect(await reserve('a', 0.8)).toBe(0.8);
      await store.settle(ALICE, 'a', 0.1);
      await store.settle(ALICE, 'a', 0.1);
      await store.settle(ALICE, 'never reserved', 0.5);
      expect(await store.left(ALICE, 1)).toBe(0.9);
    });

    it('ends the earlier reservation of a repeated call', async () => {
      await reserve('a', 0.8);
      expect(await reserve('a', 0.9)).toBe(0.9);
    });

    it('sums the background usage of models by day, agent and model', async () => {
      const row = { node: 'n', agent: 'memory', model: 'm', currency: 'USD', input: 3, output: 2, cached: 1 };
      await store.addBackground(ALICE, { ...row, cost: 0.1 });
      await store.addBackground(ALICE, { ...row, cost: 0.2, written: 5 });
      await store.addBackground(ALICE, { ...row, agent: 'graph' });
      await store.addBackground(BOB, row);
      const { node: _, ...rest } = row;
      const day = expect.stringMatching(/^\d{4}-\d\d-\d\d$/) as unknown;
      expect(await store.readBackground(ALICE)).toEqual([
        { ...rest, agent: 'graph', day, written: 0 },
        { ...rest, day, input: 6, output: 4, cached: 2, written: 5, cost: 0.3 },
      ]);
      expect(await store.left(ALICE, 1)).toBe(0.7);
      expect(await store.readBackground(ALICE_ELSEWHERE)).toEqual([]);
    });

    it('starts anew each day, and counts a call for the day on which it began', async () => {
      await reserve('late', 0.8);
      await under.advance(DAY_MS);
      expect(await reserve('early', 0.9)).toBe(0.9);
      await store.settle(ALICE, 'late', 0.8);
      expect(await store.left(ALICE, 1)).toBe(0.1);
    });
  });
}
