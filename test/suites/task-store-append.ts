import { describe, expect, it } from '@jest/globals';
import { run } from '../../src/core/sql.js';
import type { Json } from '../../src/core/json.js';
import type { BodyOf, NewEvent } from '../../src/core/task.js';
import type { StoreUnderTest } from './task-store-fixtures.js';
import {
  acceptOne,
  AGENT,
  delta,
  fenceOf,
  readAll,
  reload,
  RUN_START,
  runEnd,
  seqsOf,
  turnEnd,
  typesOf,
  upTo,
} from './task-store-fixtures.js';

export function appendCases(get: () => StoreUnderTest): void {
  describe('append', () => {
    it('numbers events after the head and returns them unchanged', async () => {
      const { store } = get();
      const task = await acceptOne(store, { lease: 'worker' });
      const events: NewEvent[] = [
        RUN_START,
        delta('Hello 🦜', undefined),
        {
          author: AGENT,
          body: {
            ...{ type: 'tool-call', step: 'turn-1/call-1', callId: 'call-1', tool: 'fs_read' },
            ...{ arguments: { path: 'a "b" \\ c', deep: [{ n: 1.5e-7 }] }, effect: 'pure', key: 'k' },
          },
        },
      ];
      expect(await store.append(fenceOf(task), events)).toBe(4);
      const stored = await readAll(store, task);
      expect(stored.slice(1).map(({ author, body }) => ({ author, body }))).toEqual(events);
      expect(stored.map((event) => event.seq)).toEqual(upTo(4));
      expect(stored.every((event) => event.taskId === task.id)).toBe(true);
    });

    it('returns events as they were, whatever their writer changes later', async () => {
      const { store } = get();
      const task = await acceptOne(store, { lease: 'worker' });
      const usage = { input: 1, output: 2, cached: 0 };
      const data: Record<string, Json> = { n: 1, none: null };
      const parts = [{ kind: 'data' as const, data }];
      const artifact = { type: 'artifact', artifact: { id: 'a', parts }, append: false } as const;
      const { author, body } = runEnd('completed');
      const end: NewEvent = { author, body: { ...(body as BodyOf<'run-end'>), usage } };
      const sent = [RUN_START, { author: AGENT, body: artifact }, end];
      const expected = structuredClone(sent);
      await store.append(fenceOf(task), sent);
      usage.input = data['n'] = 7;
      parts.pop();
      const stored = await readAll(store, task);
      expect(stored.slice(1).map((event) => ({ author: event.author, body: event.body }))).toEqual(expected);
    });

    it('takes a batch of any length', async () => {
      const { store } = get();
      const task = await acceptOne(store, { lease: 'worker' });
      // More than a store keeps in memory of its latest writes.
      const events = upTo(1_500).map((n) => delta(`piece ${n}`));
      expect(await store.append(fenceOf(task), events)).toBe(1_501);
      const stored = await store.read(task.id, 1, 1_500);
      expect(stored.map(({ author, body }) => ({ author, body }))).toEqual(events);
    });

    it('returns any part of one append, also from the database', async () => {
      const { store } = get();
      const task = await acceptOne(store, { lease: 'worker' });
      const authors = [AGENT, 'other', undefined, '"[{,\n'];
      const events = upTo(75).map((n) =>
        delta(`${n}\n`.repeat(n % 9 === 0 ? 4_000 : 1), authors[(n >> 2) % 4]),
      );
      await store.append(fenceOf(task), events);
      await store.append(fenceOf(task), [delta('more')]);
      const all = await readAll(store, task);
      expect(all.slice(1, 76).map(({ author, body }) => ({ author, body }))).toEqual(events);
      const other = await acceptOne(store);
      for (const _ of 'ab') await store.append(fenceOf(other), [delta('x'.repeat(700_000))]);
      expect(await readAll(store, task)).toEqual(all);
      for (const [after, limit] of [
        [0, 1],
        [1, 1],
        [20, 30],
        [33, 1],
        [74, 9],
        [76, 9],
        [77, 9],
      ] as const)
        expect(await store.read(task.id, after, limit)).toEqual(all.slice(after, after + limit));
    });

    it('loses only the events of a damaged row, and those after it', async () => {
      const { store, storage } = get();
      const task = await acceptOne(store, { lease: 'worker' });
      for (const text of ['a', 'b', 'c']) await store.append(fenceOf(task), [delta(text), delta(text)]);
      const damage =
        'UPDATE events SET seq = -seq WHERE task = (SELECT key FROM tasks WHERE id = ?) AND seq = 5';
      await storage.database.write('', () => run(damage, task.id));
      expect(await store.endDamaged(fenceOf(task), runEnd('failed'))).toBe(4);
      expect(await typesOf(store, task)).toEqual([
        ...['message', 'text-delta', 'text-delta'],
        ...Array<string>(4).fill('turn-start'),
        'run-end',
      ]);
    });

    it('derives state, time and message from the events', async () => {
      const { store, advance } = get();
      const task = await acceptOne(store, { lease: 'worker' });
      await advance(5);
      await store.append(fenceOf(task), [RUN_START]);
      const working = await reload(store, task);
      expect(working).toMatchObject({ state: 'working', head: 2 });
      expect(working.statusAt).toBeGreaterThan(task.statusAt);

      await advance(5);
      await store.append(fenceOf(task), [delta('x')]);
      expect(await reload(store, task)).toEqual({ ...working, head: 3 });

      const asks = runEnd('input-required', 'which folder?');
      await store.append(fenceOf(task), [delta('y'), asks]);
      const waiting = await reload(store, task);
      expect(waiting).toMatchObject({ state: 'input-required', head: 5 });
      expect(waiting.statusMessage).toEqual(asks.body.type === 'run-end' ? asks.body.message : undefined);

      await store.append(fenceOf(task), [RUN_START]);
      const again = await reload(store, task);
      expect(again).toMatchObject({ state: 'working' });
      expect(again.statusMessage).toBeUndefined();
    });

    it('leaves no gap and no duplicate when many append at once', async () => {
      const { store } = get();
      const tasks = await Promise.all([acceptOne(store), acceptOne(store), acceptOne(store)]);
      const heads = await Promise.all(
        tasks.flatMap((task) =>
          upTo(30).map((n) => store.append(fenceOf(task), [delta(`${n}a`), delta(`${n}b`)])),
        ),
      );
      expect(heads.slice(0, 30)).toEqual(upTo(30).map((n) => 1 + 2 * n));
      for (const task of tasks) expect(await seqsOf(store, task)).toEqual(upTo(61));
      const texts = (await readAll(store, tasks[0]))
        .slice(1, 5)
        .map(({ body }) => 'text' in body && body.text);
      expect(texts).toEqual(['1a', '1b', '2a', '2b']);
    });

    it('refuses an older epoch, and writes nothing', async () => {
      const { store } = get();
      const task = await acceptOne(store);
      const [claimed] = await store.claim('worker', [AGENT], () => 1);
      await expect(store.append(fenceOf(task), [delta('late')])).rejects.toMatchObject({ code: 'fenced' });
      await expect(
        store.append({ taskId: task.id, epoch: task.epoch + 2 }, [delta('early')]),
      ).rejects.toMatchObject({ code: 'fenced' });
      expect(await typesOf(store, task)).toEqual(['message']);
      expect(await store.append(fenceOf(claimed!), [delta('mine')])).toBe(2);
    });

    it('refuses an unknown task', async () => {
      const fence = { taskId: 'nobody', epoch: 1 };
      await expect(get().store.append(fence, [delta('x')])).rejects.toMatchObject({ code: 'fenced' });
      await expect(get().store.append(fence, [RUN_START])).rejects.toMatchObject({ code: 'fenced' });
    });

    it.each(['completed', 'failed', 'canceled', 'rejected'] as const)(
      'writes nothing after the end: %s',
      async (state) => {
        const { store } = get();
        const task = await acceptOne(store, { lease: 'worker' });
        await store.append(fenceOf(task), [RUN_START, runEnd(state, 'the end')]);
        const ended = await reload(store, task);
        expect(ended).toMatchObject({ state, statusMessage: { role: 'agent' } });
        for (const events of [[delta('late')], [runEnd('failed')], [RUN_START]]) {
          await expect(store.append(fenceOf(ended), events)).rejects.toMatchObject({ code: 'fenced' });
        }
        expect(await reload(store, task)).toEqual(ended);
        expect(await typesOf(store, task)).toEqual(['message', 'run-start', 'run-end']);
      },
    );

    it('lets one of several concurrent ends win', async () => {
      const { store } = get();
      const task = await acceptOne(store, { lease: 'worker' });
      const ends = await Promise.allSettled(
        upTo(10).map((n) => store.append(fenceOf(task), [runEnd(n % 2 ? 'completed' : 'failed')])),
      );
      expect(ends.filter((end) => end.status === 'fulfilled')).toHaveLength(1);
      expect(await typesOf(store, task)).toEqual(['message', 'run-end']);
    });

    it('refuses a batch that continues after its end', async () => {
      const { store } = get();
      const task = await acceptOne(store, { lease: 'worker' });
      await expect(store.append(fenceOf(task), [runEnd('completed'), delta('more')])).rejects.toMatchObject({
        code: 'invalid-input',
      });
      expect(await typesOf(store, task)).toEqual(['message']);
    });

    it('refuses a batch with one event over the size limit, and only that batch', async () => {
      const { store } = get();
      const task = await acceptOne(store, { lease: 'worker' });
      const [small, large] = await Promise.allSettled([
        store.append(fenceOf(task), [turnEnd('x')]),
        store.append(fenceOf(task), [delta('a'), delta('漢'.repeat(400 * 1024))]),
      ]);
      expect(small).toMatchObject({ status: 'fulfilled', value: 2 });
      expect(large).toMatchObject({ status: 'rejected', reason: { code: 'too-large' } });
      expect(await typesOf(store, task)).toEqual(['message', 'turn-end']);
    });

    it('checks the fence and writes nothing when there are no events', async () => {
      const { store } = get();
      const task = await acceptOne(store, { lease: 'worker' });
      expect(await store.append(fenceOf(task), [])).toBe(1);
      await store.append(fenceOf(task), [runEnd('completed')]);
      await expect(store.append(fenceOf(task), [])).rejects.toMatchObject({ code: 'fenced' });
    });
  });
}
