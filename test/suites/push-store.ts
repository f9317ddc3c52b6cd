import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { NewPush, PushDelivery } from '../../src/core/push.js';
import { PUSH_LEASE_MS, type PushStore } from '../../src/stores/pushes.js';
import type { TaskRecord } from '../../src/core/task.js';
import type { OpenStore, StoreUnderTest } from './task-store-fixtures.js';
import {
  ALICE,
  BOB,
  RUN_START,
  acceptOne,
  fenceOf,
  newInput,
  newTask,
  runEnd,
} from './task-store-fixtures.js';

const DAY_MS = 24 * 60 * 60 * 1_000;

function push(id: string, changes: Partial<NewPush['target']> = {}): NewPush {
  const target = { id, url: 'https://receiver.example/', scheme: undefined, sealed: undefined } as const;
  return { target: { ...target, version: '1.0', ...changes }, caps: { perTask: 3, perOwner: 4 } };
}

/** The contract of every store of push configs. */
export function pushStoreSuite(name: string, open: OpenStore): void {
  describe(`push store: ${name}`, () => {
    let under: StoreUnderTest;
    let store: PushStore;
    let task: TaskRecord;
    const place = () => ({ scope: ALICE, taskId: task.id });
    const work = async (id = 'a'): Promise<PushDelivery> => {
      const found = (await store.listActiveOf(task.id)).find((one) => one.id === id);
      if (!found) throw new Error(`no active config ${id}`);
      return found;
    };

    beforeEach(async () => {
      under = await open();
      store = under.storage.pushes;
      task = await acceptOne(under.store);
    });
    afterEach(async () => {
      await under.storage.close();
      await under.dispose();
    });

    it('keeps a config, whose first delivery is the current Task', async () => {
      const target = { scheme: 'Bearer', sealed: 'x', version: '0.3' } as const;
      const made = await store.save(place(), push('a', target));
      expect(made).toMatchObject({ id: 'a', taskId: task.id, ...target });
      expect(await store.get(place(), 'a')).toEqual(made);
      expect(await work()).toMatchObject({
        cursor: 1,
        upTo: 1,
        attempts: 0,
        agent: task.agent,
        contextId: task.contextId,
      });
    });

    it('delivers the Task first also for an ended task', async () => {
      await under.store.append(fenceOf(task), [RUN_START, runEnd('completed')]);
      await store.save(place(), push('a'));
      expect(await work()).toMatchObject({ cursor: 3, upTo: 3 });
    });

    it('has the Task due once, until it was delivered, also after a failure', async () => {
      await store.save(place(), push('a'));
      const { key } = await work();
      await under.store.append(fenceOf(task), [RUN_START]);
      await store.claim(await work(), 1, 'one');
      await store.settle(key, 'one', { kind: 'failed', nextAt: 99, reason: 'down' });
      expect(await work()).toMatchObject({ cursor: 1, upTo: 1, attempts: 1 });
      await store.claim(await work(), 1, 'two');
      await store.settle(key, 'two', { kind: 'delivered', cursor: 1 });
      expect(await work()).toMatchObject({ cursor: 1, upTo: 0, attempts: 0 });
    });

    it('stores a config together with its message, or neither', async () => {
      const full = newTask({ push: { ...push('a'), caps: { perTask: 0, perOwner: 9 } } });
      await expect(under.store.accept(full)).rejects.toMatchObject({ code: 'too-many' });
      expect(await under.store.get(ALICE, full.id)).toBeUndefined();
      const entry = newTask({ push: push('a') });
      await under.store.accept(entry);
      expect(await store.listActiveOf(entry.id)).toMatchObject([{ id: 'a', cursor: 1, upTo: 0 }]);
      await under.store.addInput(newInput(task, { push: push('b') }));
      // The response to the message carries the Task, so it is not due.
      expect(await work('b')).toMatchObject({ cursor: 2, upTo: 0 });
    });

    it('ignores the config of a repeated message', async () => {
      const entry = newTask({ push: push('a') });
      await under.store.accept(entry);
      expect(await under.store.accept({ ...entry, id: 'other', push: push('b') })).toMatchObject({
        kind: 'repeated',
      });
      expect(await store.list({ scope: ALICE, taskId: entry.id }, '', 9)).toHaveLength(1);
    });

    it('hides the configs of a task from other owners', async () => {
      await store.save(place(), push('a'));
      const theirs = { scope: BOB, taskId: task.id };
      expect(await store.get(theirs, 'a')).toBeUndefined();
      expect(await store.list(theirs, '', 9)).toEqual([]);
      await store.delete(theirs, 'a');
      expect(await store.get(place(), 'a')).toBeDefined();
      await expect(store.save(theirs, push('b'))).rejects.toMatchObject({ code: 'not-found' });
    });

    it('lists by id, page by page', async () => {
      for (const id of ['c', 'a', 'b']) await store.save(place(), push(id));
      const ids = async (after: string) => (await store.list(place(), after, 2)).map(({ id }) => id);
      expect(await ids('')).toEqual(['a', 'b']);
      expect(await ids('b')).toEqual(['c']);
    });

    it('enforces the limits, which a replacement does not exceed', async () => {
      for (const id of ['a', 'b', 'c']) await store.save(place(), push(id));
      await expect(store.save(place(), push('d'))).rejects.toMatchObject({ code: 'too-many' });
      await store.save(place(), push('a', { url: 'https://other.example/' }));
      const second = { scope: ALICE, taskId: (await acceptOne(under.store)).id };
      await store.save(second, push('a'));
      await expect(store.save(second, push('b'))).rejects.toMatchObject({ code: 'too-many' });
    });

    it('gives up late configs of tasks that have ended for new ones, the oldest first, and forgets them after days', async () => {
      const entry = newTask({ push: push('a') });
      const keys: string[] = [];
      for (let made = 0; made < 4; made += 1) {
        const ended = await acceptOne(under.store);
        await store.save({ scope: ALICE, taskId: ended.id }, push('a'));
        keys.push((await store.listActiveOf(ended.id))[0]!.key);
        if (made > 0) await under.store.append(fenceOf(ended), [RUN_START, runEnd('completed')]);
      }
      await expect(under.store.accept(entry)).rejects.toMatchObject({ code: 'too-many' });
      await under.advance(60_000);
      await under.store.accept(entry);
      expect(await store.counts()).toEqual({ active: 4, failing: 0, givenUp: 1 });
      const kept = (await store.listActive('', 9)).map(({ key }) => key);
      expect(kept.slice(0, 3)).toEqual([keys[0], keys[2], keys[3]]);
      await under.advance(6 * DAY_MS);
      await store.purge();
      expect((await store.counts()).givenUp).toBe(1);
      await under.advance(2 * DAY_MS);
      await store.purge();
      expect((await store.counts()).givenUp).toBe(0);
    });

    it('lets a delivery be claimed once, until its lease expires', async () => {
      await store.save(place(), push('a'));
      expect(await store.claim(await work(), 2, 'one')).toBe(true);
      expect(await store.claim(await work(), 2, 'two')).toBe(false);
      expect((await work()).upTo).toBe(2);
      await under.advance(PUSH_LEASE_MS);
      expect(await store.claim(await work(), 2, 'two')).toBe(true);
      // The first one is too late.
      await store.settle((await work()).key, 'one', { kind: 'delivered', cursor: 2 });
      expect((await work()).cursor).toBe(1);
    });

    it('lets a released delivery be claimed at once', async () => {
      await store.save(place(), push('a'));
      await store.claim(await work(), 2, 'one');
      await store.release('one');
      expect(await store.claim(await work(), 2, 'two')).toBe(true);
    });

    it('advances after a delivery, and waits after a failure', async () => {
      await store.save(place(), push('a'));
      const { key } = await work();
      await store.claim(await work(), 2, 'one');
      await store.settle(key, 'one', { kind: 'failed', nextAt: 99, reason: 'down' });
      expect(await work()).toMatchObject({ cursor: 1, upTo: 2, attempts: 1, nextAt: 99 });
      expect(await store.counts()).toEqual({ active: 1, failing: 1, givenUp: 0 });
      await store.claim(await work(), 2, 'one');
      await store.settle(key, 'one', { kind: 'delivered', cursor: 2 });
      expect(await work()).toMatchObject({ cursor: 2, upTo: 0, attempts: 0, nextAt: 0 });
    });

    it('removes a config after the end, and hides a given-up one from its owner, who may create it again', async () => {
      await store.save(place(), push('a'));
      await store.save(place(), push('b', { sealed: 'x' }));
      await store.claim(await work('a'), 2, 'one');
      await store.settle((await work('a')).key, 'one', { kind: 'ended' });
      await store.claim(await work('b'), 2, 'one');
      await store.settle((await work('b')).key, 'one', { kind: 'given-up', reason: 'down' });
      expect(await store.list(place(), '', 9)).toEqual([]);
      expect(await store.listActive('', 9)).toEqual([]);
      expect(await store.counts()).toEqual({ active: 0, failing: 0, givenUp: 1 });
      await store.save(place(), push('b'));
      expect(await work('b')).toMatchObject({ cursor: 1, upTo: 1, attempts: 0 });
      expect(await store.counts()).toEqual({ active: 1, failing: 0, givenUp: 0 });
    });

    it('continues a replaced config with the Task at the position of the old one, under a new key', async () => {
      await store.save(place(), push('a'));
      const before = await work();
      await store.claim(before, 2, 'one');
      await store.settle(before.key, 'one', { kind: 'delivered', cursor: 2 });
      await store.save(place(), push('a', { url: 'https://other.example/' }));
      expect(await work()).toMatchObject({ cursor: 2, upTo: 2, url: 'https://other.example/' });
      expect((await work()).key).not.toBe(before.key);
      expect(await store.getActive(before.key)).toBeUndefined();
    });
  });
}
