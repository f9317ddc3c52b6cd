import { describe, expect, it } from '@jest/globals';
import type { TaskQuery } from '../../src/core/journal.js';
import type { Scope, TaskRecord } from '../../src/core/task.js';
import type { StoreUnderTest } from './task-store-fixtures.js';
import {
  acceptOne,
  AGENT,
  ALICE,
  ALICE_ELSEWHERE,
  BOB,
  fenceOf,
  reload,
  RUN_START,
  runEnd,
} from './task-store-fixtures.js';

export function listCases(get: () => StoreUnderTest): void {
  const list = (scope: Scope, query: Partial<TaskQuery> = {}) =>
    get().store.list(scope, { agent: AGENT, pageSize: 100, ...query });

  const idsOf = async (query: Partial<TaskQuery> = {}) =>
    (await list(ALICE, query)).tasks.map((task) => task.id);

  const acceptMany = async (count: number) => {
    const tasks: TaskRecord[] = [];
    while (tasks.length < count) {
      tasks.push(await acceptOne(get().store));
      if (tasks.length % 2 === 0) await get().advance(1);
    }
    return tasks;
  };

  describe('list', () => {
    it('is empty at first', async () => {
      expect(await list(ALICE)).toEqual({ tasks: [], nextPageToken: '', totalSize: 0 });
    });

    it('returns whole records, newest status first', async () => {
      const { store, advance } = get();
      const tasks = await acceptMany(3);
      await advance(1);
      await store.append(fenceOf(tasks[0]!), [RUN_START]);
      const page = await list(ALICE);
      expect(page.tasks).toEqual([await reload(store, tasks[0]!), tasks[2], tasks[1]]);
      expect(page).toMatchObject({ nextPageToken: '', totalSize: 3 });
    });

    it('never returns a task of another owner, tenant or agent', async () => {
      const { store } = get();
      const own = await acceptOne(store);
      const query = { contextId: own.contextId, state: 'submitted', statusFrom: 0 } as const;
      await acceptOne(store, { scope: BOB });
      await acceptOne(store, { scope: ALICE_ELSEWHERE });
      await acceptOne(store, { agent: 'librarian' });
      for (const filters of [{}, query, { contextId: query.contextId }, { state: query.state }]) {
        expect(await list(ALICE, filters)).toMatchObject({ tasks: [{ id: own.id }], totalSize: 1 });
      }
      expect((await list(BOB, query)).tasks).toMatchObject([{ owner: 'bob' }]);
      expect((await list({ tenant: '', owner: 'carol' }, query)).totalSize).toBe(0);
    });

    it('filters by context, state, time and all of them at once', async () => {
      const { store, advance } = get();
      const first = await acceptOne(store, { contextId: 'one' });
      const second = await acceptOne(store, { contextId: 'two' });
      await advance(1_000);
      const third = await acceptOne(store, { contextId: 'two', lease: 'worker' });
      await store.append(fenceOf(third), [RUN_START, runEnd('failed')]);
      expect(await idsOf({ contextId: 'one' })).toEqual([first.id]);
      expect(await idsOf({ contextId: 'two' })).toEqual([third.id, second.id]);
      expect(await idsOf({ contextId: 'three' })).toEqual([]);
      expect(await idsOf({ state: 'submitted' })).toEqual([second.id, first.id]);
      expect(await idsOf({ state: 'working' })).toEqual([]);
      expect(await idsOf({ contextId: 'two', state: 'failed', statusFrom: third.createdAt })).toEqual([
        third.id,
      ]);
      expect(await idsOf({ contextId: 'two', state: 'submitted', statusFrom: third.createdAt })).toEqual([]);
    });

    it('includes a status of exactly statusFrom', async () => {
      const { store, advance } = get();
      await acceptOne(store);
      await advance(1_000);
      const { id, statusAt } = await acceptOne(store);
      expect(await idsOf({ statusFrom: statusAt })).toEqual([id]);
      expect(await idsOf({ statusFrom: statusAt + 1 })).toEqual([]);
    });

    it('pages through everything once, with the exact total on each page', async () => {
      const tasks = await acceptMany(11);
      const seen: string[] = [];
      let pageToken = '';
      do {
        const page = await list(ALICE, { pageSize: 3, pageToken, state: 'submitted' });
        expect(page.totalSize).toBe(11);
        seen.push(...page.tasks.map((task) => task.id));
        pageToken = page.nextPageToken;
      } while (pageToken !== '');
      expect(seen).toEqual(tasks.map((task) => task.id).reverse());
    });

    it('returns no token for a last page that is full', async () => {
      await acceptMany(4);
      const first = await list(ALICE, { pageSize: 2 });
      const last = await list(ALICE, { pageSize: 2, pageToken: first.nextPageToken });
      expect(last.tasks).toHaveLength(2);
      expect(last.nextPageToken).toBe('');
    });

    it('continues at its position when the task at the page border changes', async () => {
      const { store, advance } = get();
      const tasks = await acceptMany(6);
      const first = await list(ALICE, { pageSize: 2 });
      await advance(1_000);
      const border = first.tasks.at(-1)!;
      await store.append(fenceOf(border), [RUN_START, runEnd('completed')]);
      await acceptOne(store);
      const rest = await list(ALICE, { pageSize: 10, pageToken: first.nextPageToken });
      expect(rest.tasks.map((task) => task.id)).toEqual(
        tasks
          .slice(0, 4)
          .map((task) => task.id)
          .reverse(),
      );
    });

    it.each([
      'nonsense',
      'MQ',
      '💥',
      'MTIzLg==',
      'MTIzLng=',
      Buffer.from('1e3.x').toString('base64url'),
      '-1.x',
      '%',
    ])('refuses the page token %p', async (pageToken) => {
      await expect(list(ALICE, { pageToken })).rejects.toMatchObject({
        code: 'invalid-input',
        violations: [{ field: 'pageToken' }],
      });
    });

    it('returns nothing of another owner by their page token', async () => {
      const { store } = get();
      const tasks = [await acceptOne(store, { scope: BOB }), await acceptOne(store, { scope: BOB })];
      const own = await acceptOne(store);
      const { nextPageToken } = await list(BOB, { pageSize: 1 });
      expect((await list(BOB, { pageToken: nextPageToken })).tasks).toMatchObject([{ id: tasks[0]!.id }]);
      const borrowed = await list(ALICE, { pageToken: nextPageToken });
      expect(borrowed.tasks.every((task) => task.id === own.id)).toBe(true);
    });
  });
}
