import { expect, it } from '@jest/globals';
import { silentLogger } from '../../src/core/logger.js';
import type { RetentionStore } from '../../src/stores/tasks.js';
import { startSweeping } from '../../src/journal/sweeper.js';

it('sweeping takes every page of old tasks away', async () => {
  const pages = new Map([
    ['', { items: ['a', 'b'], next: 'b' }],
    ['b', { items: [], next: 'd' }],
    ['d', { items: ['e'], next: undefined }],
  ]);
  const removed: string[] = [];
  let done = () => {};
  const all = new Promise<void>((resolve) => (done = resolve));
  const retention: Partial<RetentionStore> = {
    listEnded: async (_age, after) => pages.get(after)!,
    async remove(ids) {
      removed.push(...ids);
      if (ids.includes('e')) done();
      return ids;
    },
  };
  const stop = startSweeping({ retention: retention as RetentionStore, ageMs: 1, logger: silentLogger });
  await all;
  await stop();
  expect(removed).toEqual(['a', 'b', 'e']);
});
