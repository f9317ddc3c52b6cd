import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { RetentionStore } from '../../src/stores/tasks.js';
import type { Scope, TaskRecord } from '../../src/core/task.js';
import type { OpenStore, StoreUnderTest } from './task-store-fixtures.js';
import {
  ALICE,
  BOB,
  RUN_START,
  acceptOne,
  delta,
  fenceOf,
  message,
  newInput,
  newTask,
  readAll,
  runEnd,
  taskOf,
} from './task-store-fixtures.js';

const DAY_MS = 24 * 60 * 60 * 1_000;

/** The contract of every store that removes tasks. */
export function retentionStoreSuite(name: string, open: OpenStore): void {
  describe(`retention store: ${name}`, () => {
    let under: StoreUnderTest;
    let store: RetentionStore;
    const end = (task: TaskRecord) => under.store.append(fenceOf(task), [RUN_START, runEnd('completed')]);
    const ended = async (changes: Parameters<typeof acceptOne>[1] = {}): Promise<TaskRecord> => {
      const task = await acceptOne(under.store, changes);
      await end(task);
      return task;
    };

    beforeEach(async () => {
      under = await open();
      store = under.storage.retention;
    });
    afterEach(async () => {
      await under.storage.close();
      await under.dispose();
    });

    it('counts open tasks by agent and state', async () => {
      await ended();
      const running = await acceptOne(under.store);
      await under.store.append(fenceOf(running), [RUN_START]);
      await acceptOne(under.store, { scope: BOB });
      const { agent } = running;
      expect([...(await store.countOpen())].sort((a, b) => a.state.localeCompare(b.state))).toEqual([
        { agent, state: 'submitted', value: 1 },
        { agent, state: 'working', value: 1 },
      ]);
    });

    it('lists the open tasks of an owner, the newest first', async () => {
      await ended();
      const older = await acceptOne(under.store);
      const newer = await acceptOne(under.store);
      await under.store.append(fenceOf(newer), [RUN_START]);
      await acceptOne(under.store, { scope: BOB });
      expect((await store.listOpen(older, 9)).map(({ id }) => id)).toEqual([newer.id, older.id]);
      expect(await store.listOpen(older, 1)).toHaveLength(1);
    });

    it('lists tasks that ended long enough ago, and no others', async () => {
      const old = await ended();
      const late = await acceptOne(under.store);
      const waiting = await acceptOne(under.store);
      await under.store.append(fenceOf(waiting), [RUN_START, runEnd('input-required')]);
      await under.advance(2 * DAY_MS);
      await end(late);
      await ended();
      expect(await store.listEnded(DAY_MS, '', 9)).toEqual({ items: [old.id], next: undefined });
      expect((await store.listEnded(3 * DAY_MS, '', 9)).items).toEqual([]);
      await under.advance(DAY_MS);
      expect((await store.listEnded(DAY_MS, '', 9)).items).toHaveLength(3);
    });

    it('pages through the tasks, also past open ones', async () => {
      const ids: string[] = [];
      for (let i = 0; i < 5; i += 1) {
        await acceptOne(under.store);
        ids.push((await ended()).id);
      }
      await under.advance(DAY_MS);
      const found: string[] = [];
      for (let after: string | undefined = ''; after !== undefined;) {
        const page = await store.listEnded(DAY_MS, after, 2);
        found.push(...page.items);
        after = page.next;
      }
      expect(found).toEqual(ids);
    });

    it('lists a child only with its parent or after it, however old it is, and a grandchild too', async () => {
      const root = await acceptOne(under.store);
      const child = await ended({ parentTaskId: root.id });
      const grandchild = await ended({ parentTaskId: child.id });
      const stray = await ended({ parentTaskId: 'a task of another node' });
      await under.advance(2 * DAY_MS);
      await end(root);
      expect((await store.listEnded(DAY_MS, '', 9)).items).toEqual([stray.id]);
      await under.advance(DAY_MS);
      const all = [root.id, child.id, grandchild.id, stray.id];
      expect((await store.listEnded(DAY_MS, '', 9)).items).toEqual(all);
      const { next = '' } = await store.listEnded(DAY_MS, '', 1);
      expect((await store.listEnded(DAY_MS, next, 9)).items).toEqual([stray.id]);
      expect(await store.remove([root.id])).toEqual([root.id]);
      expect((await store.listEnded(DAY_MS, next, 9)).items).toEqual([child.id, grandchild.id, stray.id]);
    });

    it('removes a task with all its data, and nothing of others', async () => {
      const target = { id: 'hook', url: 'https://receiver.example/', scheme: undefined, sealed: undefined };
      const push = { target: { ...target, version: '1.0' as const }, caps: { perTask: 3, perOwner: 3 } };
      const [first, again] = [message('one', 'm-1'), message('two', 'm-2')];
      const task = await acceptOne(under.store, { message: first, push });
      await under.store.addInput(newInput(task, { message: again }));
      await end(task);
      const other = await ended({ message: message('one', 'm-3') });

      expect(await store.remove([task.id])).toEqual([task.id]);
      expect(await under.store.get(ALICE, task.id)).toBeUndefined();
      expect(await readAll(under.store, task)).toEqual([]);
      expect(await under.storage.pushes.listActiveOf(task.id)).toEqual([]);
      for (const sent of [first, again]) {
        expect(await under.store.accept(newTask({ message: sent }))).toMatchObject({ kind: 'accepted' });
      }
      expect(await readAll(under.store, other)).toHaveLength(3);
      expect(await store.remove([task.id])).toEqual([]);
    });

    it('never gives a new task data of a removed one', async () => {
      const task = await ended();
      await store.remove([task.id]);
      const next = await acceptOne(under.store);
      expect(await readAll(under.store, next)).toHaveLength(1);
    });

    it('removes many events in several steps', async () => {
      const task = await acceptOne(under.store);
      for (let i = 0; i < 3; i += 1) {
        await under.store.append(
          fenceOf(task),
          Array.from({ length: 400 }, () => delta('x')),
        );
      }
      await end(task);
      const small = await ended();
      expect(await store.remove([task.id, small.id])).toHaveLength(2);
      expect(await readAll(under.store, task)).toEqual([]);
      expect(await readAll(under.store, small)).toEqual([]);
    });

    it('keeps open tasks and their data', async () => {
      const parent = await acceptOne(under.store);
      const child = await ended({ parentTaskId: parent.id });
      const stray = await ended({ parentTaskId: 'a task of another node' });
      expect(await store.remove([parent.id, child.id, stray.id])).toEqual([stray.id]);
      await end(parent);
      expect(await store.remove([child.id, parent.id])).toEqual([child.id, parent.id]);
    });

    it('continues the conversation after a removed task', async () => {
      const gone = await ended();
      const between = await ended({ message: message('between') });
      const last = await acceptOne(under.store);
      await store.remove([gone.id]);
      const tasks = async (after?: string) => [
        ...new Set((await under.store.readSession(last, 9, { after })).map(({ taskId }) => taskId)),
      ];
      expect(await tasks()).toEqual([between.id]);
      expect(await tasks(gone.id)).toEqual([between.id]);
    });

    it('keeps a position after a removed task behind the older ones', async () => {
      const older = await ended();
      const seen = await ended();
      const last = await acceptOne(under.store);
      await store.remove([seen.id]);
      expect(await under.store.readSession(last, 9, { after: seen.id })).toEqual([]);
      expect(await under.store.readSession(last, 9)).toHaveLength(2);
      expect(await readAll(under.store, older)).toHaveLength(3);
    });

    it("lists an owner's tasks of a context for every agent, and none of another owner of the same name", async () => {
      const contextId = 'talk';
      const mine = new Set<string>();
      for (const agent of ['one', 'two']) {
        mine.add(taskOf(await under.store.accept(newTask({ agent, contextId }))).id);
        await acceptOne(under.store, { agent, contextId, scope: BOB });
        await acceptOne(under.store, { agent, contextId, scope: { ...ALICE, tenant: 'elsewhere' } });
        await acceptOne(under.store, { agent, contextId: 'another' });
      }
      const found = await store.listContext(ALICE, contextId, 9);
      expect(new Set(found.map(({ id }) => id))).toEqual(mine);
      expect(await store.listContext(ALICE, contextId, 1)).toHaveLength(1);
    });

    it('lists the owners of tasks once each, page by page', async () => {
      const scopes = ['b', 'a'].flatMap((tenant) => ['y', 'x', 'z'].map((owner) => ({ tenant, owner })));
      for (const scope of [...scopes, ...scopes]) await acceptOne(under.store, { agent: 'one', scope });
      const found: Scope[] = [];
      for (let page: readonly Scope[] = [{ tenant: '', owner: '' }]; page.length > 0; found.push(...page))
        page = await store.listOwners(found.at(-1) ?? page[0]!, 4);
      expect(found.map(({ tenant, owner }) => tenant + owner)).toEqual(['ax', 'ay', 'az', 'bx', 'by', 'bz']);
    });

    it("lists an owner's tasks of every agent, and none of other owners", async () => {
      const mine = new Set<string>();
      for (const agent of ['one', 'two', 'two', 'three']) {
        mine.add(taskOf(await under.store.accept(newTask({ agent }))).id);
        await acceptOne(under.store, { agent, scope: BOB });
      }
      const found: string[] = [];
      for (let after: string | undefined = ''; after !== undefined;) {
        const page = await store.listOwned(ALICE, after, 1);
        found.push(...page.items.map(({ id }) => id));
        after = page.next;
      }
      expect(found).toHaveLength(4);
      expect(new Set(found)).toEqual(mine);
      for (const after of ['x', '{}', 'a b c', "a 1' OR 1"]) {
        await expect(store.listOwned(ALICE, after, 1)).rejects.toMatchObject({ code: 'invalid-input' });
      }
    });
  });
}
