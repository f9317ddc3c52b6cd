import { describe, expect, it } from '@jest/globals';
import type { Part } from '../../src/core/message.js';
import type { TaskRecord } from '../../src/core/task.js';
import type { StoreUnderTest } from './task-store-fixtures.js';
import {
  acceptOne,
  AGENT,
  ALICE,
  ALICE_ELSEWHERE,
  BOB,
  delta,
  fenceOf,
  message,
  newInput,
  newTask,
  readAll,
  RUN_START,
  runEnd,
  scopeOf,
  taskOf,
  turnEnd,
  upTo,
} from './task-store-fixtures.js';

export function readCases(get: () => StoreUnderTest): void {
  describe('get and read', () => {
    it('do not find the task of another owner', async () => {
      const { store } = get();
      const task = await acceptOne(store);
      expect(await store.get(ALICE, task.id)).toEqual(task);
      expect(await store.get(BOB, task.id)).toBeUndefined();
      expect(await store.get(ALICE_ELSEWHERE, task.id)).toBeUndefined();
      expect(await store.get(ALICE, 'nobody')).toBeUndefined();
      expect(await store.read('nobody', 0, 10)).toEqual([]);
    });

    it('return a message as its JSON reads, however soon', async () => {
      const { store } = get();
      const parts: Part[] = [{ kind: 'data', data: -0 }];
      const { id } = taskOf(await store.accept(newTask({ message: { ...message('zero'), parts } })));
      const [event] = await store.read(id, 0, 1);
      const zero = expect.objectContaining({ parts: [{ kind: 'data', data: 0 }] }) as unknown;
      expect(event!.body).toStrictEqual({ type: 'message', message: zero });
    });

    it('return events after a cursor, in order, at most the limit', async () => {
      const { store } = get();
      const task = await acceptOne(store);
      await store.append(
        fenceOf(task),
        upTo(19).map((n) => delta(String(n))),
      );
      const seqs = async (after: number, limit: number) =>
        (await store.read(task.id, after, limit)).map((event) => event.seq);
      expect(await seqs(0, 3)).toEqual([1, 2, 3]);
      expect(await seqs(17, 64)).toEqual([18, 19, 20]);
      expect(await seqs(20, 64)).toEqual([]);
      expect(await seqs(500, 64)).toEqual([]);
    });
  });

  describe('readSession', () => {
    /** A task of the session that said one thing and ended. */
    const talk = async (text: string, changes: Parameters<typeof newTask>[0] = {}): Promise<TaskRecord> => {
      const { store } = get();
      const task = await acceptOne(store, { message: message(`ask ${text}`), lease: 'worker', ...changes });
      await store.append(fenceOf(task), [
        RUN_START,
        delta(text),
        turnEnd(`answer ${text}`),
        runEnd('completed'),
      ]);
      return task;
    };
    const textsOf = async (task: TaskRecord, limit: number) =>
      (await get().store.readSession(task, limit)).map(({ body }) => {
        if (body.type === 'message')
          return body.message.parts.map((part) => 'text' in part && part.text).join();
        return body.type === 'turn-end'
          ? body.content.map((part) => 'text' in part && part.text).join()
          : body.type;
      });

    it('returns the conversation of earlier tasks, oldest first, and nothing of the task itself', async () => {
      await talk('one');
      await talk('two');
      const task = await talk('three');
      await talk('four');
      expect(await textsOf(task, 100)).toEqual([
        ...['ask one', 'answer one', 'run-end'],
        ...['ask two', 'answer two', 'run-end'],
      ]);
    });

    it('returns the newest when there are more than the limit', async () => {
      for (const n of upTo(30)) await talk(String(n));
      const task = await talk('now');
      expect(await textsOf(task, 4)).toEqual(['run-end', 'ask 30', 'answer 30', 'run-end']);
      expect(await textsOf(task, 1)).toEqual(['run-end']);
    });

    it('begins after a named task, also when that one is removed', async () => {
      const first = await talk('one');
      const second = await talk('two');
      const task = await talk('three');
      const after = async (id: string) =>
        (await get().store.readSession(task, 100, { after: id })).map(({ taskId }) => taskId);
      expect(await after(first.id)).toEqual([second.id, second.id, second.id]);
      expect(await after(second.id)).toEqual([]);
      expect(await after('0')).toHaveLength(6);
    });

    it('returns events as they are in the log of their task', async () => {
      const { store } = get();
      const earlier = await talk('one');
      const task = await talk('two');
      const log = await readAll(store, earlier);
      expect(await store.readSession(task, 10)).toEqual([log[0], log[3], log[4]]);
    });

    it('leaves out tasks that were running when the task was accepted, also when they end later', async () => {
      const { store } = get();
      const before = await talk('before');
      const beside = await acceptOne(store, { lease: 'worker' });
      const waiting = await acceptOne(store, { lease: 'worker' });
      await store.append(fenceOf(waiting), [runEnd('input-required', 'which?')]);
      const task = await acceptOne(store, { lease: 'worker' });
      await store.append(fenceOf(beside), [turnEnd('beside'), runEnd('completed')]);
      await store.requestCancel(ALICE, waiting.id);
      const later = await acceptOne(store, {});
      const idsOf = async (...asked: Parameters<typeof store.readSession>) => [
        ...new Set((await store.readSession(...asked)).map(({ taskId }) => taskId)),
      ];
      expect(await idsOf(task, 100)).toEqual([before.id]);
      expect(await idsOf(later, 100)).toEqual([before.id, beside.id, waiting.id]);
      expect(await idsOf(later, 100, { unfinished: true })).toHaveLength(4);
    });

    it('includes the follow-ups', async () => {
      const { store } = get();
      const earlier = await acceptOne(store, { lease: 'worker' });
      await store.append(fenceOf(earlier), [runEnd('input-required', 'which?')]);
      const added = await store.addInput(
        newInput(earlier, { message: message('this one'), lease: 'worker' }),
      );
      await store.append(fenceOf(taskOf(added)), [runEnd('completed')]);
      expect(await textsOf(await talk('next'), 10)).toEqual([
        'list the files',
        'run-end',
        'this one',
        'run-end',
      ]);
    });

    it('never mixes contexts, agents, owners or tenants', async () => {
      await talk('other context', { contextId: 'context-2' });
      await talk('other agent', { agent: 'librarian' });
      await talk('other owner', { scope: BOB });
      await talk('other tenant', { scope: ALICE_ELSEWHERE });
      const task = await talk('own');
      expect(await textsOf(task, 100)).toEqual([]);
    });
  });

  describe('onAppend', () => {
    it('reports every write that added events, after they can be read', async () => {
      const { store } = get();
      const seen: Promise<number>[] = [];
      store.onAppend((taskId) => {
        seen.push((async () => (await store.read(taskId, 0, 100)).length)());
      });
      const heads = async () => {
        const lengths = await Promise.all(seen);
        seen.length = 0;
        return lengths;
      };
      const task = await acceptOne(store, { lease: 'worker' });
      expect(await heads()).toEqual([1]);
      await store.append(fenceOf(task), [RUN_START, delta('x')]);
      expect(await heads()).toEqual([3]);
      await store.addInput(newInput(task));
      expect(await heads()).toEqual([4]);
      await store.requestCancel(scopeOf(task), task.id);
      expect(await heads()).toEqual([5]);
      await store.requestCancel(scopeOf(task), task.id);
      await store.renew('worker', [task.id]);
      await expect(store.append({ taskId: task.id, epoch: 99 }, [delta('x')])).rejects.toThrow();
      expect(await heads()).toEqual([]);
    });

    it('stops on request, and survives a listener that throws', async () => {
      const { store } = get();
      const seen: string[] = [];
      store.onAppend(() => {
        throw new Error('a defect elsewhere');
      });
      const stop = store.onAppend((taskId) => seen.push(taskId));
      const task = await acceptOne(store);
      expect(seen).toEqual([task.id]);
      stop();
      await store.append(fenceOf(task), [delta('x')]);
      expect(seen).toEqual([task.id]);
    });
  });

  describe('close', () => {
    it('completes earlier calls', async () => {
      const { storage, store } = get();
      const task = await acceptOne(store);
      const appended = store.append(fenceOf(task), [delta('just in time')]);
      await storage.close();
      expect(await appended).toBe(2);
    });

    it('makes every later use a typed error, and may be called again', async () => {
      const { storage, store } = get();
      const task = await acceptOne(store);
      await storage.close();
      await storage.close();
      const closed = { code: 'storage' };
      await expect(store.accept(newTask())).rejects.toMatchObject(closed);
      await expect(store.addInput(newInput(task))).rejects.toMatchObject(closed);
      await expect(store.append(fenceOf(task), [delta('x')])).rejects.toMatchObject(closed);
      await expect(store.requestCancel(ALICE, task.id)).rejects.toMatchObject(closed);
      await expect(store.claim('worker', [AGENT], () => 1)).rejects.toMatchObject(closed);
      await expect(store.renew('worker', [task.id])).rejects.toMatchObject(closed);
      await expect(store.release('worker')).rejects.toMatchObject(closed);
      await expect(store.get(ALICE, task.id)).rejects.toMatchObject(closed);
      await expect(store.list(ALICE, { agent: AGENT, pageSize: 1 })).rejects.toMatchObject(closed);
      await expect(store.read(task.id, 0, 1)).rejects.toMatchObject(closed);
      await expect(store.readSession(task, 1)).rejects.toMatchObject(closed);
    });
  });
}
