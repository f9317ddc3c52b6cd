import { describe, expect, it } from '@jest/globals';
import { newId } from '../../src/core/ids.js';
import { column, run } from '../../src/core/sql.js';
import type { NewEvent, TaskEvent, TaskRecord } from '../../src/core/task.js';
import type { NewFork } from '../../src/stores/tasks.js';
import type { StoreUnderTest } from './task-store-fixtures.js';
import {
  acceptOne,
  AGENT,
  ALICE,
  BOB,
  delta,
  fenceOf,
  message,
  readAll,
  RUN_START,
  runEnd,
} from './task-store-fixtures.js';

const DAY_MS = 24 * 60 * 60 * 1_000;

/** Tasks that share the first events of another one. */
export function forkCases(get: () => StoreUnderTest): void {
  const texts = (from: number, to: number): readonly NewEvent[] =>
    Array.from({ length: to - from }, (_, index) => delta(`text ${from + index}`));
  const fork = (of: TaskRecord, at: number, changes: Partial<NewFork> = {}): Promise<TaskRecord> => {
    const body = { type: 'fork', taskId: of.id, seq: at } as const;
    const own = { scope: ALICE, id: newId(), contextId: newId(), grant: { chain: [], depth: 5 } };
    return get().store.fork({ ...own, of: of.id, at, events: [{ author: 'fork', body }], ...changes });
  };
  const plain = (events: readonly TaskEvent[]) =>
    events.map(({ seq, at, author, body }) => ({ seq, at, author, body }));
  /** A task of 102 events, in rows of one, many and a few. */
  const long = async (changes: Parameters<typeof acceptOne>[1] = {}): Promise<TaskRecord> => {
    const { store } = get();
    const task = await acceptOne(store, { lease: 'other', ...changes });
    await store.append(fenceOf(task), [RUN_START, ...texts(0, 40)]);
    await store.append(fenceOf(task), texts(40, 43));
    await store.append(fenceOf(task), texts(43, 100));
    return task;
  };

  describe('a fork', () => {
    it('has the events of the other task up to its place, and then its own', async () => {
      const { store } = get();
      const task = await long();
      const all = plain(await readAll(store, task));
      for (const at of [1, 2, 30, 42, 43, 44, 102]) {
        const made = await fork(task, at);
        expect(made).toMatchObject({ fork: { taskId: task.id, seq: at }, head: at + 1, state: 'submitted' });
        const events = plain(await readAll(store, made));
        expect([at, events.slice(0, at), events.length]).toEqual([at, all.slice(0, at), at + 1]);
        expect(events.at(-1)!.body.type).toBe('fork');
        for (const [after, limit] of [
          [0, 1],
          [at - 1, 1],
          [at - 1, 9],
          [at, 9],
          [at + 1, 9],
        ] as const) {
          const page = plain(await store.read(made.id, after, limit));
          expect([at, after, page]).toEqual([at, after, events.slice(after, after + limit)]);
        }
      }
    });

    it('goes on by itself: what either task appends is not in the other one', async () => {
      const { store } = get();
      const task = await long();
      const made = await fork(task, 50);
      const [claimed] = await store.claim('worker', [AGENT], () => 1);
      expect(claimed).toMatchObject({ id: made.id, fork: { taskId: task.id, seq: 50 } });
      await store.append(fenceOf(claimed!), [RUN_START, delta('of the fork'), runEnd('completed')]);
      await store.append(fenceOf(task), [delta('of the task')]);
      const second = await fork(made, 53);
      const events = await readAll(store, second);
      expect(events.map(({ seq }) => seq)).toEqual(Array.from({ length: 54 }, (_, index) => index + 1));
      expect(JSON.stringify(events)).toContain('of the fork');
      expect(JSON.stringify(events)).not.toContain('of the task');
    });

    it('is refused for a task of another owner, and for events that there are not', async () => {
      const task = await long();
      await expect(fork(task, 5, { scope: BOB })).rejects.toMatchObject({ code: 'not-found' });
      await expect(fork(task, 103)).rejects.toMatchObject({ code: 'invalid-input' });
      await expect(fork(task, 0)).rejects.toMatchObject({ code: 'invalid-input' });
    });

    it('remembers the conversation that the other task remembers, and its later tasks remember it', async () => {
      const { store } = get();
      const earlier = await acceptOne(store, { contextId: 'talk', message: message('said before') });
      await store.append(fenceOf(earlier), [RUN_START, runEnd('completed')]);
      const task = await long({ contextId: 'talk', message: message('said in the task') });
      const made = await fork(task, 30, { contextId: 'other talk' });
      const before = await store.readSession(made, 10);
      expect(before.map(({ taskId, body }) => [taskId, body.type])).toEqual([
        [earlier.id, 'message'],
        [earlier.id, 'run-end'],
      ]);
      const [claimed] = await store.claim('worker', [AGENT], () => 1);
      await store.append(fenceOf(claimed!), [RUN_START, runEnd('completed')]);
      const later = await acceptOne(store, { contextId: 'other talk' });
      const session = await store.readSession(later, 10);
      expect(session.map(({ taskId, body }) => [taskId, body.type])).toEqual([
        [made.id, 'message'],
        [made.id, 'run-end'],
      ]);
      expect(JSON.stringify(session)).toContain('said in the task');
    });

    it('keeps the other task from removal by its age, and is removed with the conversation of that one', async () => {
      const { store, storage, advance } = get();
      const { retention } = storage;
      const task = await long({ contextId: 'talk' });
      await store.append(fenceOf(task), [runEnd('completed')]);
      const made = await fork(task, 30, { contextId: 'other talk' });
      await advance(2 * DAY_MS);
      expect((await retention.listEnded(DAY_MS, '', 9)).items).toEqual([]);
      expect(await retention.remove([task.id])).toEqual([]);
      expect((await retention.listContext(ALICE, 'talk', 9)).map(({ id }) => id)).toEqual([made.id, task.id]);
      expect((await retention.listContext(ALICE, 'other talk', 9)).map(({ id }) => id)).toEqual([made.id]);
      await store.requestCancel(ALICE, made.id);
      await advance(2 * DAY_MS);
      expect((await retention.listEnded(DAY_MS, '', 9)).items).toEqual([made.id]);
      expect(await retention.remove([made.id])).toEqual([made.id]);
      expect((await retention.listEnded(DAY_MS, '', 9)).items).toEqual([task.id]);
      const other = await fork(task, 5);
      await store.requestCancel(ALICE, other.id);
      expect(await retention.remove([task.id, other.id], true)).toEqual([task.id, other.id]);
    });

    it('can be ended when what it shares is damaged, and the other task stays as it is', async () => {
      const { store, storage } = get();
      const task = await long();
      const made = await fork(task, 60);
      const [claimed] = await store.claim('worker', [AGENT], () => 1);
      const rows = 'SELECT count(*) FROM events WHERE task = (SELECT key FROM tasks WHERE id = ?)';
      const lose = 'DELETE FROM events WHERE seq = 45 AND task = (SELECT key FROM tasks WHERE id = ?)';
      await storage.database.write('tasks', () => run(lose, task.id));
      const [before] = await storage.database.read(() => column(rows, task.id));
      expect(await store.endDamaged(fenceOf(claimed!), runEnd('failed'))).toBe(61);
      expect((await store.get(ALICE, made.id))!.state).toBe('failed');
      expect(await storage.database.read(() => column(rows, task.id))).toEqual([before]);
    });
  });
}
