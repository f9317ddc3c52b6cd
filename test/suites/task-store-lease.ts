import { describe, expect, it } from '@jest/globals';
import type { Scope } from '../../src/core/task.js';
import { LEASE_MS } from '../../src/stores/tasks.js';
import type { StoreUnderTest } from './task-store-fixtures.js';
import {
  acceptOne,
  AGENT,
  ALICE,
  BOB,
  delta,
  fenceOf,
  newInput,
  newTask,
  reload,
  RUN_START,
  runEnd,
  scopeOf,
  startOf,
  taskOf,
} from './task-store-fixtures.js';

export function leaseCases(get: () => StoreUnderTest): void {
  const claimIds = async (worker: string, limit = 10) => {
    const waits = await get().store.waits([AGENT]);
    const claimed = (await get().store.claim(worker, [AGENT], () => limit)).map((task) => task.id);
    expect(waits || claimed.length === 0).toBe(true);
    return claimed;
  };

  describe('claim', () => {
    it('takes tasks without a worker, oldest first, with a new epoch', async () => {
      const { store } = get();
      const tasks = [await acceptOne(store), await acceptOne(store, { scope: BOB }), await acceptOne(store)];
      const claimed = await store.claim('worker', [AGENT], () => 2);
      expect(claimed.map((task) => task.id)).toEqual([tasks[0]!.id, tasks[1]!.id]);
      expect(claimed[0]).toEqual({ ...tasks[0], epoch: tasks[0]!.epoch + 1 });
      expect(await reload(store, tasks[0]!)).toEqual(claimed[0]);
      expect(await claimIds('worker')).toEqual([tasks[2]!.id]);
    });

    it('takes the oldest task of each owner in turn, also over several calls', async () => {
      const { store } = get();
      const many = [];
      for (let count = 0; count < 4; count += 1) many.push((await acceptOne(store)).id);
      const other = (await acceptOne(store, { scope: BOB })).id;
      expect(await claimIds('worker', 1)).toEqual([many[0]]);
      expect(await claimIds('worker', 1)).toEqual([other]);
      const late = (await acceptOne(store, { scope: BOB })).id;
      expect(await claimIds('worker', 2)).toEqual([many[1], late]);
      expect(await claimIds('worker', 9)).toEqual([many[2], many[3]]);
    });

    it('takes no task of the owners that are full, also when they become so during the call', async () => {
      const { store } = get();
      const many: string[] = [];
      for (let count = 0; count < 4; count += 1) many.push((await acceptOne(store)).id);
      const others = [];
      for (let count = 0; count < 3; count += 1) others.push((await acceptOne(store, { scope: BOB })).id);
      const room = Object.assign(() => 9, {
        full: (_level: number, claimed: readonly Scope[]) =>
          claimed.filter(({ owner }) => owner !== BOB.owner).length < 2 ? [] : [ALICE],
      });
      const claimed = (await store.claim('worker', [AGENT], room)).map(({ id }) => id);
      expect(new Set(claimed)).toEqual(new Set([many[0], many[1], ...others]));
      expect(await claimIds('worker')).toEqual([many[2], many[3]]);
    });

    it('gives a worker its task again after the lease expired, unless another took it, and refuses the append before', async () => {
      const { store, advance } = get();
      const task = await acceptOne(store, { lease: 'worker' });
      await store.append(fenceOf(task), [RUN_START]);
      await advance(LEASE_MS * 2);
      expect(await store.retake('other', fenceOf(task))).toBeUndefined();
      const fence = await store.retake('worker', fenceOf(task));
      expect(fence).toEqual({ taskId: task.id, epoch: task.epoch + 1 });
      await expect(store.append(fenceOf(task), [RUN_START])).rejects.toMatchObject({ code: 'fenced' });
      expect(await claimIds('other')).toEqual([]);
      await store.append(fence!, [delta('more')]);
      await advance(LEASE_MS * 2);
      expect(await claimIds('other')).toEqual([task.id]);
      expect(await store.retake('worker', fence!)).toBeUndefined();
    });

    it('never gives one task to two workers', async () => {
      const { store } = get();
      for (let count = 0; count < 12; count += 1) await acceptOne(store);
      const shares = await Promise.all(['a', 'b', 'c', 'd'].map((worker) => claimIds(worker, 4)));
      expect(shares.flat()).toHaveLength(12);
      expect(new Set(shares.flat()).size).toBe(12);
    });

    it('takes tasks of the named agents only', async () => {
      const { store } = get();
      const task = await acceptOne(store, { agent: 'librarian' });
      expect(await store.claim('worker', [], () => 10)).toEqual([]);
      expect(await store.claim('worker', ['operator', 'vault'], () => 10)).toEqual([]);
      const claimed = await store.claim('worker', ['vault', 'librarian'], () => 10);
      expect(claimed.map(({ id }) => id)).toEqual([task.id]);
    });

    it('has a number of slots for each level of delegation, so that parents do not block their children', async () => {
      const { store } = get();
      const chain = ['lango-orchestrator@node'];
      const parents = [await acceptOne(store), await acceptOne(store)];
      const children = [
        await acceptOne(store, { grant: { chain, depth: 4 } }),
        await acceptOne(store, { grant: { chain, depth: 4 } }),
      ];
      const asked: number[] = [];
      const free = (level: number): number => {
        asked.push(level);
        return level === 0 ? 0 : 1;
      };
      expect((await store.claim('worker', [AGENT], free)).map(({ id }) => id)).toEqual([children[0]!.id]);
      expect(asked).toEqual([0, 1]);
      expect(await claimIds('worker')).toEqual([...parents, children[1]!].map(({ id }) => id));
    });

    it('skips a task that is leased, waits for a person, or has ended', async () => {
      const { store, advance } = get();
      await acceptOne(store, { lease: 'worker' });
      expect(await claimIds('other')).toEqual([]);
      for (const state of ['input-required', 'auth-required', 'completed', 'canceled'] as const) {
        const task = await acceptOne(store, { lease: 'worker', scope: BOB });
        await store.append(fenceOf(task), [RUN_START, runEnd(state)]);
      }
      await advance(LEASE_MS * 10);
      expect(await claimIds('other')).toHaveLength(1);
    });

    it('takes a task over once its lease has expired, and fences the old worker', async () => {
      const { store, advance } = get();
      const task = await acceptOne(store, { lease: 'gone' });
      await store.append(fenceOf(task), [RUN_START]);
      await advance(LEASE_MS - 1);
      expect(await claimIds('other')).toEqual([]);
      await advance(1);
      const [taken] = await store.claim('other', [AGENT], () => 1);
      expect(taken).toMatchObject({ id: task.id, state: 'working', epoch: task.epoch + 1 });
      await expect(store.append(fenceOf(task), [delta('zombie')])).rejects.toMatchObject({ code: 'fenced' });
      expect(await store.append(fenceOf(taken!), [delta('mine')])).toBe(3);
    });
  });

  describe('waits', () => {
    it('says whether any task of these agents could be claimed: of those that have ended, that wait for a person or that are leased, none', async () => {
      const { store, advance } = get();
      expect(await store.waits([AGENT])).toBe(false);
      for (const state of ['completed', 'input-required'] as const)
        await store.append(fenceOf(await acceptOne(store, { lease: 'worker' })), [RUN_START, runEnd(state)]);
      await acceptOne(store, { lease: 'worker' });
      expect(await store.waits([AGENT])).toBe(false);
      await advance(LEASE_MS);
      expect(await store.waits([AGENT])).toBe(true);
      await claimIds('worker');
      expect(await store.waits([AGENT])).toBe(false);
      await acceptOne(store);
      expect(await store.waits(['librarian'])).toBe(false);
      expect(await store.waits(['librarian', AGENT])).toBe(true);
    });
  });

  describe('a lease', () => {
    it('goes to the worker that accept and addInput name', async () => {
      const { store } = get();
      const outcome = await store.accept(newTask(), startOf('worker'));
      expect(outcome).toMatchObject({ kind: 'accepted', leased: true });
      const task = taskOf(outcome);
      await store.append(fenceOf(task), [runEnd('input-required', 'which?')]);
      const answered = await store.addInput(newInput(task, { lease: 'worker-2' }));
      expect(answered).toMatchObject({ kind: 'accepted', leased: true, task: { epoch: task.epoch + 1 } });
      expect(await claimIds('other')).toEqual([]);
      await expect(store.append(fenceOf(task), [delta('old run')])).rejects.toMatchObject({ code: 'fenced' });
      expect(await store.append(fenceOf(taskOf(answered)), [RUN_START])).toBe(4);
    });

    it('is not taken by addInput while another worker has the task', async () => {
      const { store, advance } = get();
      const task = await acceptOne(store, { lease: 'worker' });
      const outcome = await store.addInput(newInput(task, { lease: 'other' }));
      expect(outcome).toMatchObject({ kind: 'accepted', leased: false, task: { epoch: task.epoch } });
      expect(await store.append(fenceOf(task), [delta('still mine')])).toBe(3);
      await advance(LEASE_MS);
      expect(await store.addInput(newInput(task, { lease: 'other' }))).toMatchObject({ leased: true });
      await expect(store.append(fenceOf(task), [delta('zombie')])).rejects.toMatchObject({ code: 'fenced' });
    });

    it('is extended by each append', async () => {
      const { store, advance } = get();
      const task = await acceptOne(store, { lease: 'worker' });
      await advance(LEASE_MS - 1);
      for (const event of [delta('x'), RUN_START]) {
        await store.append(fenceOf(task), [event]);
        await advance(LEASE_MS - 1);
        expect(await claimIds('other')).toEqual([]);
      }
      await advance(1);
      expect(await claimIds('other')).toEqual([task.id]);
    });

    it('is extended by renew, which returns the heads of the remaining tasks', async () => {
      const { store, advance } = get();
      const kept = await acceptOne(store, { lease: 'worker' });
      const ended = await acceptOne(store, { lease: 'worker' });
      const taken = await acceptOne(store, { lease: 'worker' });
      await store.append(fenceOf(ended), [runEnd('completed')]);
      await advance(LEASE_MS - 1);
      expect(await store.renew('worker', [kept.id])).toEqual([{ id: kept.id, head: 1 }]);
      await advance(1);
      expect(await claimIds('other')).toEqual([taken.id]);
      await store.requestCancel(scopeOf(kept), kept.id);
      const all = [kept.id, ended.id, taken.id, 'nobody'];
      expect(await store.renew('worker', all)).toEqual([{ id: kept.id, head: 2 }]);
      expect(await store.heads([kept.id, 'nobody'])).toEqual([{ id: kept.id, head: 2 }]);
    });

    it('is released by release, with all of one worker and no others', async () => {
      const { store } = get();
      const mine = [await acceptOne(store, { lease: 'worker' }), await acceptOne(store, { lease: 'worker' })];
      await acceptOne(store, { lease: 'other' });
      await store.release('worker');
      await expect(store.append(fenceOf(mine[0]!), [delta('late')])).rejects.toMatchObject({
        code: 'fenced',
      });
      expect(await claimIds('next')).toEqual(mine.map((task) => task.id));
      await store.release('next', mine[1]!.id);
      expect(await claimIds('last')).toEqual([mine[1]!.id]);
    });

    it('ends with the run', async () => {
      const { store } = get();
      const task = await acceptOne(store, { lease: 'worker' });
      await store.append(fenceOf(task), [RUN_START, runEnd('input-required', 'which?')]);
      expect(await store.renew('worker', [task.id])).toEqual([]);
      await store.addInput(newInput(task));
      expect(await claimIds('other')).toEqual([task.id]);
    });
  });
}
