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

function push(id: string, changes: Partial<NewPush['target']> = {}): NewPush {
  const target = { id, url: 'https://receiver.example/', scheme: undefined, sealed: undefined } as const;
  return { target: { ...target, version: '1.0', ...changes }, caps: { perTask: 3, perOwner: 4 } };
}

/** What every store of push configs keeps to. */
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

    it('keeps what it is given, and starts with the Task as it is', async () => {
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

    it('starts with the Task also after its end', async () => {
      await under.store.append(fenceOf(task), [RUN_START, runEnd('completed')]);
      await store.save(place(), push('a'));
      expect(await work()).toMatchObject({ cursor: 3, upTo: 3 });
    });

    it('the Task is due once, until it was delivered, also after a failure', async () => {
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

    it('is stored with the message it came with, or not at all', async () => {
      const full = newTask({ push: { ...push('a'), caps: { perTask: 0, perOwner: 9 } } });
      await expect(under.store.accept(full)).rejects.toMatchObject({ code: 'too-many' });
      expect(await under.store.get(ALICE, full.id)).toBeUndefined();
      const entry = newTask({ push: push('a') });
      await under.store.accept(entry);
      expect(await store.listActiveOf(entry.id)).toMatchObject([{ id: 'a', cursor: 1, upTo: 0 }]);
      await under.store.addInput(newInput(task, { push: push('b') }));
      // The answer to the message is the Task: it is not due.
      expect(await work('b')).toMatchObject({ cursor: 2, upTo: 0 });
    });

    it('a repeated message changes nothing', async () => {
      const entry = newTask({ push: push('a') });
      await under.store.accept(entry);
      expect(await under.store.accept({ ...entry, id: 'other', push: push('b') })).toMatchObject({
        kind: 'repeated',
      });
      expect(await store.list({ scope: ALICE, taskId: entry.id }, '', 9)).toHaveLength(1);
    });

    it('shows nothing of a task to anybody else', async () => {
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

    it('holds to the caps, and a replacement needs no room', async () => {
      for (const id of ['a', 'b', 'c']) await store.save(place(), push(id));
      await expect(store.save(place(), push('d'))).rejects.toMatchObject({ code: 'too-many' });
      await store.save(place(), push('a', { url: 'https://other.example/' }));
      const second = { scope: ALICE, taskId: (await acceptOne(under.store)).id };
      await store.save(second, push('a'));
      await expect(store.save(second, push('b'))).rejects.toMatchObject({ code: 'too-many' });
    });

    it('a delivery is claimed once, until its lease runs out', async () => {
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

    it('a released delivery can be claimed at once', async () => {
      await store.save(place(), push('a'));
      await store.claim(await work(), 2, 'one');
      await store.release('one');
      expect(await store.claim(await work(), 2, 'two')).toBe(true);
    });

    it('goes on after a delivery, and waits after a failure', async () => {
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

    it('is gone after the end; one that was given up is gone for its owner, and can be made again', async () => {
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

    it('a replaced config goes on with the Task where the one before was, under a key of its own', async () => {
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
