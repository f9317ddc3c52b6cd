import { afterEach, expect, it, jest } from '@jest/globals';
import { silentLogger } from '../../src/core/logger.js';
import type { RetentionStore } from '../../src/stores/tasks.js';
import { ClockWatch, startSweeping } from '../../src/journal/sweeper.js';

it('a sweep removes every page of old tasks', async () => {
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

const HOUR_MS = 60 * 60 * 1_000;
const DAY_MS = 24 * HOUR_MS;

afterEach(() => {
  jest.restoreAllMocks();
});

it('a clock that jumped is doubted for a day, also when it is set back, and then trusted again', () => {
  let passedMs = 0;
  let errorMs = 0;
  jest.spyOn(performance, 'now').mockImplementation(() => passedMs);
  jest.spyOn(Date, 'now').mockImplementation(() => 1_800_000_000_000 + passedMs + errorMs);
  const clock = new ClockWatch();
  const after = (hours: number) => {
    passedMs += hours * HOUR_MS;
    return [clock.check(), clock.isDoubtful];
  };
  expect(after(5)).toEqual([0, false]);
  errorMs = 2_000;
  expect(after(1)).toEqual([0, false]);
  errorMs += 365 * DAY_MS;
  expect(after(1)).toEqual([365 * DAY_MS, true]);
  expect(after(23)).toEqual([0, true]);
  errorMs -= 365 * DAY_MS;
  expect(after(0)).toEqual([-365 * DAY_MS, true]);
  expect(after(23)).toEqual([0, true]);
  expect(after(1)).toEqual([0, false]);
  errorMs += 2 * HOUR_MS;
  expect(after(1)).toEqual([2 * HOUR_MS, true]);
  expect(after(2)).toEqual([0, false]);
});
