import { describe, expect, it } from '@jest/globals';
import { NO_USAGE } from '../../src/core/model.js';
import { LEASE_MS } from '../../src/stores/tasks.js';
import type { StoreUnderTest } from './task-store-fixtures.js';
import {
  acceptOne,
  AGENT,
  ALICE,
  ALICE_ELSEWHERE,
  BOB,
  delta,
  fenceOf,
  newInput,
  readAll,
  reload,
  RUN_START,
  runEnd,
  taskOf,
  typesOf,
  upTo,
} from './task-store-fixtures.js';

export function cancelCases(get: () => StoreUnderTest): void {
  describe('requestCancel', () => {
    it('ends a task at once that no worker has', async () => {
      const { store } = get();
      const task = await acceptOne(store);
      const canceled = await store.requestCancel(ALICE, task.id);
      expect(canceled).toMatchObject({ state: 'canceled', head: 2 });
      expect(await reload(store, task)).toEqual(canceled);
      expect((await readAll(store, task))[1]).toMatchObject({
        author: AGENT,
        body: { type: 'run-end', state: 'canceled', usage: NO_USAGE },
      });
      expect(await store.claim('worker', [AGENT], () => 10)).toEqual([]);
    });

    it.each(['input-required', 'auth-required'] as const)('ends a task at once that is %s', async (state) => {
      const { store } = get();
      const task = await acceptOne(store, { lease: 'worker' });
      await store.append(fenceOf(task), [RUN_START, runEnd(state, 'well?')]);
      const canceled = await store.requestCancel(ALICE, task.id);
      expect(canceled).toMatchObject({ state: 'canceled', head: 4 });
      expect(canceled?.statusMessage).toBeUndefined();
    });

    it('asks the worker of a leased task to cancel, once', async () => {
      const { store } = get();
      const task = await acceptOne(store, { lease: 'worker' });
      await store.append(fenceOf(task), [RUN_START]);
      const asked = await Promise.all(upTo(5).map(() => store.requestCancel(ALICE, task.id)));
      expect(asked.at(-1)).toMatchObject({ state: 'working', head: 3, epoch: task.epoch });
      expect(await typesOf(store, task)).toEqual(['message', 'run-start', 'cancel-request']);
      await store.append(fenceOf(task), [runEnd('canceled')]);
      expect(await store.requestCancel(ALICE, task.id)).toMatchObject({ state: 'canceled', head: 4 });
    });

    it('asks the worker again in a later run', async () => {
      const { store } = get();
      const task = await acceptOne(store, { lease: 'worker' });
      await store.requestCancel(ALICE, task.id);
      await store.append(fenceOf(task), [runEnd('input-required', 'too late to cancel')]);
      const next = taskOf(await store.addInput(newInput(task, { lease: 'worker' })));
      expect(await store.requestCancel(ALICE, next.id)).toMatchObject({ state: 'submitted', head: 5 });
      expect((await typesOf(store, task)).filter((type) => type === 'cancel-request')).toHaveLength(2);
    });

    it('ends a task whose worker has gone silent, and fences that worker', async () => {
      const { store, advance } = get();
      const task = await acceptOne(store, { lease: 'gone' });
      await advance(LEASE_MS);
      const canceled = await store.requestCancel(ALICE, task.id);
      expect(canceled).toMatchObject({ state: 'canceled', epoch: task.epoch + 1 });
      await expect(store.append(fenceOf(task), [delta('zombie')])).rejects.toMatchObject({ code: 'fenced' });
    });

    it.each(['completed', 'failed', 'canceled', 'rejected'] as const)(
      'changes nothing on a task that is %s',
      async (state) => {
        const { store } = get();
        const task = await acceptOne(store, { lease: 'worker' });
        await store.append(fenceOf(task), [runEnd(state)]);
        const ended = await reload(store, task);
        expect(await store.requestCancel(ALICE, task.id)).toEqual(ended);
        expect(await reload(store, task)).toEqual(ended);
      },
    );

    it('does not find the task of another owner, or an unknown one', async () => {
      const { store } = get();
      const task = await acceptOne(store);
      expect(await store.requestCancel(BOB, task.id)).toBeUndefined();
      expect(await store.requestCancel(ALICE_ELSEWHERE, task.id)).toBeUndefined();
      expect(await store.requestCancel(ALICE, 'nobody')).toBeUndefined();
      expect(await reload(store, task)).toEqual(task);
    });
  });
}
