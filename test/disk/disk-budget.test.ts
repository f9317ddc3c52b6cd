import { expect, it } from '@jest/globals';
import { DiskBudget } from '../../src/disk/disk-budget.js';

it('concurrent writes get no more of a disk budget than the same writes one after the other', async () => {
  const limits = { owner: Infinity, task: 10 };
  const budget = new DiskBudget({ limits, folders: () => [], isApart: true });
  const writer = { tenant: '', owner: 'alice', taskId: 't' };
  let written = 0;
  const write = () => budget.spend(writer, 4, async () => void (written += 4));
  const outcomes = await Promise.allSettled([write(), write(), write(), write()]);
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'rejected']);
  expect(written).toBe(8);
});
