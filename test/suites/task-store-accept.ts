import { describe, expect, it } from '@jest/globals';
import { newId } from '../../src/core/ids.js';
import { MAX_EVENT_BYTES } from '../../src/storage/rows.js';
import type { TaskRecord } from '../../src/core/task.js';
import type { StoreUnderTest } from './task-store-fixtures.js';
import {
  acceptOne,
  ALICE,
  ALICE_ELSEWHERE,
  BOB,
  delta,
  fenceOf,
  message,
  newInput,
  newTask,
  readAll,
  reload,
  RUN_START,
  runEnd,
  seqsOf,
  startOf,
  taskOf,
  typesOf,
} from './task-store-fixtures.js';

export function acceptCases(get: () => StoreUnderTest): void {
  describe('accept', () => {
    it('stores the task and its first event as given', async () => {
      const { store } = get();
      const entry = newTask({
        parentTaskId: newId(),
        grant: { chain: ['lango-orchestrator@home'], depth: 2, deadline: 5, tokens: 9, tools: ['fs_read'] },
      });
      const outcome = await store.accept(entry);
      expect(outcome).toMatchObject({ kind: 'accepted', seq: 1, leased: false });
      const task = taskOf(outcome);
      expect(task).toMatchObject({
        ...{ id: entry.id, tenant: '', owner: 'alice', agent: entry.agent, contextId: entry.contextId },
        ...{ parentTaskId: entry.parentTaskId, grant: entry.grant, state: 'submitted', head: 1, crashes: 0 },
      });
      expect(task.statusMessage).toBeUndefined();
      expect(await store.get(ALICE, entry.id)).toEqual(task);
      expect(await readAll(store, task)).toEqual([
        {
          taskId: entry.id,
          seq: 1,
          at: task.createdAt,
          author: 'user',
          body: { type: 'message', message: entry.message },
        },
      ]);
    });

    it('returns the same task for a repeated message', async () => {
      const { store } = get();
      const entry = newTask();
      const first = await store.accept(entry);
      const again = await store.accept({ ...entry, id: newId() }, startOf('worker-2'));
      expect(again).toEqual({ kind: 'repeated', task: taskOf(first), seq: 1 });
      expect(await typesOf(store, taskOf(first))).toEqual(['message']);
    });

    it('refuses a repeated message id with other content', async () => {
      const { store } = get();
      const entry = newTask();
      await store.accept(entry);
      const other = newTask({ message: message('something else', entry.message.id) });
      expect(await store.accept(other)).toEqual({ kind: 'conflict' });
      expect(await store.get(ALICE, other.id)).toBeUndefined();
    });

    it('makes one task of 50 concurrent sends of a message', async () => {
      const { store } = get();
      const sent = message('once only');
      const outcomes = await Promise.all(
        Array.from({ length: 50 }, () => store.accept(newTask({ message: sent }))),
      );
      expect(new Set(outcomes.map((outcome) => taskOf(outcome).id)).size).toBe(1);
      expect(outcomes.filter((outcome) => outcome.kind === 'accepted')).toHaveLength(1);
    });

    it('treats the same message id of another owner, tenant or agent as a new message', async () => {
      const { store } = get();
      const sent = message('hello');
      const outcomes = await Promise.all([
        store.accept(newTask({ message: sent })),
        store.accept(newTask({ message: sent, scope: BOB })),
        store.accept(newTask({ message: sent, scope: ALICE_ELSEWHERE })),
        store.accept(newTask({ message: sent, agent: 'librarian' })),
      ]);
      expect(outcomes.map((outcome) => outcome.kind)).toEqual(Array(4).fill('accepted'));
      expect(new Set(outcomes.map((outcome) => taskOf(outcome).id)).size).toBe(4);
    });

    it('treats the same message id as new in another context, and without a context after a day', async () => {
      const { store, advance } = get();
      const sent = message('hello', '1');
      const send = (givenContextId?: string) => store.accept(newTask({ message: sent, givenContextId }));
      const first = await Promise.all([send(), send('a'), send('b')]);
      expect(first.map((outcome) => outcome.kind)).toEqual(Array(3).fill('accepted'));
      const other = newTask({ message: message('other', '1') });
      expect(await store.accept(other)).toEqual({ kind: 'conflict' });
      const again = await Promise.all([send(), send('a'), send('b')]);
      expect(again.map((outcome) => taskOf(outcome).id)).toEqual(first.map((outcome) => taskOf(outcome).id));
      await advance(24 * 60 * 60 * 1_000);
      const later = await Promise.all([send(), send('a'), store.accept(other)]);
      expect(later.map((outcome) => outcome.kind)).toEqual(['accepted', 'repeated', 'conflict']);
    });

    it('recognizes the message id of a follow-up in the context of its task', async () => {
      const { store } = get();
      const [one, two] = [await acceptOne(store), await acceptOne(store, { contextId: 'another' })];
      const send = (task: TaskRecord) => store.addInput(newInput(task, { message: message('more', '1') }));
      const kinds = [await send(one), await send(two), await send(one)].map(({ kind }) => kind);
      expect(kinds).toEqual(['accepted', 'accepted', 'repeated']);
    });

    it('stores the other writes of a group when the database refuses one', async () => {
      const { store } = get();
      const id = newId();
      const [before, twin, after] = await Promise.allSettled([
        store.accept(newTask({ id })),
        store.accept(newTask({ id })),
        store.accept(newTask()),
      ]);
      expect(before).toMatchObject({ status: 'fulfilled', value: { kind: 'accepted' } });
      expect(twin).toMatchObject({ status: 'rejected', reason: { code: 'storage' } });
      expect(after).toMatchObject({ status: 'fulfilled', value: { kind: 'accepted' } });
    });

    it('keeps contexts, owners and texts of any length and script', async () => {
      const { store } = get();
      const contextId = Array.from({ length: 300 }, () => newId()).join(' ');
      const scope = { tenant: 'テナント', owner: "o'brien; DROP TABLE tasks --" };
      const text = 'naïve 漢字 🦜 \u0000 \u2028 \ud800 end';
      const task = await acceptOne(store, { contextId, scope, message: message(text, 'ид-1') });
      expect((await reload(store, task)).contextId).toBe(contextId);
      expect((await readAll(store, task))[0]?.body).toMatchObject({ message: message(text, 'ид-1') });
      const twin = await acceptOne(store, { contextId, scope });
      expect(await store.list(scope, { agent: task.agent, contextId, pageSize: 5 })).toMatchObject({
        tasks: [{ id: twin.id }, { id: task.id }],
        totalSize: 2,
      });
    });

    it('accepts a parent with characters that PostgreSQL cannot hold', async () => {
      const { store } = get();
      const task = await reload(store, await acceptOne(store, { parentTaskId: 'a\0b\ud800c' }));
      expect(task.parentTaskId).toMatch(/^a[\0\ufffd]b\ufffdc$/);
      expect((await readAll(store, task)).map(({ seq }) => seq)).toEqual([1]);
    });

    it.each([
      ['message.id', { message: message('x', 'a\0b') }],
      ['contextId', { contextId: 'half \ud83d' }],
      ['owner', { scope: { tenant: '', owner: '\0' } }],
      ['tenant', { scope: { tenant: '\udc00', owner: 'alice' } }],
    ])('refuses a %s that no database would return unchanged', async (field, changes) => {
      await expect(get().store.accept(newTask(changes))).rejects.toMatchObject({
        code: 'invalid-input',
        violations: [{ field }],
      });
    });

    it('accepts a message at the size limit and refuses a larger one, storing nothing', async () => {
      const { store } = get();
      const limit = MAX_EVENT_BYTES;
      const frame = JSON.stringify({ type: 'message', message: message('') }).length;
      const fits = await acceptOne(store, { message: message('x'.repeat(limit - frame)) });
      expect((await readAll(store, fits))[0]?.body).toMatchObject({ type: 'message' });
      const entry = newTask({ message: message('é'.repeat((limit - frame) / 2 + 1)) });
      await expect(store.accept(entry)).rejects.toMatchObject({ code: 'too-large' });
      expect(await store.get(ALICE, entry.id)).toBeUndefined();
    });
  });

  describe('accept with first events of the run', () => {
    it('stores all of it, and returns the task as it is with the message alone', async () => {
      const { store } = get();
      const outcome = await store.accept(newTask(), startOf('worker', RUN_START, delta('hello')));
      expect(outcome).toMatchObject({ kind: 'accepted', seq: 1, leased: true });
      const task = taskOf(outcome);
      expect(task).toMatchObject({ state: 'submitted', head: 1, epoch: 1, crashes: 0 });
      expect(await typesOf(store, task)).toEqual(['message', 'run-start', 'text-delta']);
      expect(await seqsOf(store, task)).toEqual([1, 2, 3]);
      expect(await reload(store, task)).toEqual({ ...task, state: 'working', head: 3 });
      expect(await store.append(fenceOf(task), [delta(' again')])).toBe(4);
    });

    it('leaves nothing to claim of a run that has ended, and releases its lease', async () => {
      const { store } = get();
      const start = startOf('worker', RUN_START, runEnd('input-required', 'which?'));
      const task = taskOf(await store.accept(newTask(), start));
      expect(await reload(store, task)).toMatchObject({
        state: 'input-required',
        statusMessage: { parts: [{ kind: 'text', text: 'which?' }] },
      });
      expect(await store.claim('other', [task.agent], () => 9)).toEqual([]);
      expect(await store.addInput(newInput(task, { lease: 'other' }))).toMatchObject({ leased: true });
    });

    it('writes none of the events for a repeated message', async () => {
      const { store } = get();
      const entry = newTask();
      const task = taskOf(await store.accept(entry));
      const again = { ...entry, id: newId() };
      expect(await store.accept(again, startOf('worker', RUN_START))).toEqual({
        kind: 'repeated',
        task,
        seq: 1,
      });
      expect(await store.get(ALICE, again.id)).toBeUndefined();
      expect(await typesOf(store, task)).toEqual(['message']);
    });

    it('stores nothing when one event is too large', async () => {
      const { store } = get();
      const entry = newTask();
      const start = startOf('worker', RUN_START, delta('x'.repeat(MAX_EVENT_BYTES)));
      await expect(store.accept(entry, start)).rejects.toMatchObject({ code: 'too-large' });
      expect(await store.get(ALICE, entry.id)).toBeUndefined();
      expect(await store.accept(entry, startOf('worker'))).toMatchObject({ kind: 'accepted' });
    });
  });

  describe('findEarlier', () => {
    it('returns beforehand what accept would, for the same owner and agent', async () => {
      const { store } = get();
      const entry = newTask();
      expect(await store.findEarlier(entry)).toBeUndefined();
      const task = taskOf(await store.accept(entry));
      expect(await store.findEarlier({ ...entry, id: newId() })).toEqual({ kind: 'repeated', task, seq: 1 });
      expect(await store.findEarlier(newTask({ message: message('other', entry.message.id) }))).toEqual({
        kind: 'conflict',
      });
      expect(await store.findEarlier({ ...entry, scope: BOB })).toBeUndefined();
      expect(await store.findEarlier({ ...entry, agent: 'librarian' })).toBeUndefined();
    });
  });

  describe('addInput', () => {
    it('adds a message and sets the task to submitted again', async () => {
      const { store } = get();
      const task = await acceptOne(store, { lease: 'worker' });
      await store.append(fenceOf(task), [runEnd('input-required', 'which folder?')]);
      const outcome = await store.addInput(newInput(task, { message: message('this one') }));
      expect(outcome).toMatchObject({ kind: 'accepted', seq: 3, leased: false });
      expect(taskOf(outcome)).toMatchObject({ state: 'submitted', head: 3 });
      expect(taskOf(outcome).statusMessage).toBeUndefined();
      expect(await reload(store, task)).toEqual(taskOf(outcome));
      expect(await typesOf(store, task)).toEqual(['message', 'run-end', 'message']);
    });

    it('keeps the state while a worker has the task', async () => {
      const { store, advance } = get();
      const task = await acceptOne(store, { lease: 'worker' });
      await store.append(fenceOf(task), [RUN_START]);
      const working = await reload(store, task);
      await advance(5);
      const outcome = await store.addInput(newInput(task));
      expect(outcome).toMatchObject({ kind: 'accepted', seq: 3, leased: false });
      expect(taskOf(outcome)).toEqual({ ...working, head: 3 });
      expect(await reload(store, task)).toEqual(taskOf(outcome));
    });

    it('returns the same for a repeat, and refuses other content', async () => {
      const { store } = get();
      const task = await acceptOne(store);
      const input = newInput(task);
      await store.addInput(input);
      expect(await store.addInput(input)).toMatchObject({ kind: 'repeated', seq: 2, task: { id: task.id } });
      expect(await store.addInput(newInput(task, { message: message('other', input.message.id) }))).toEqual({
        kind: 'conflict',
      });
      expect(await typesOf(store, task)).toEqual(['message', 'message']);
    });

    it('recognizes a repeat also after the task has ended', async () => {
      const { store } = get();
      const task = await acceptOne(store);
      const input = newInput(task);
      await store.addInput(input);
      await store.append(fenceOf(task), [runEnd('completed')]);
      expect(await store.addInput(input)).toMatchObject({ kind: 'repeated', task: { state: 'completed' } });
    });

    it.each(['completed', 'failed', 'canceled', 'rejected'] as const)(
      'refuses a message to a task that is %s',
      async (state) => {
        const { store } = get();
        const task = await acceptOne(store, { lease: 'worker' });
        await store.append(fenceOf(task), [runEnd(state)]);
        expect(await store.addInput(newInput(task))).toEqual({ kind: 'already-ended' });
        expect(await typesOf(store, task)).toEqual(['message', 'run-end']);
      },
    );

    it('does not find the task of another owner or agent, or an unknown one', async () => {
      const { store } = get();
      const task = await acceptOne(store);
      const missing = { kind: 'not-found' };
      expect(await store.addInput(newInput(task, { scope: BOB }))).toEqual(missing);
      expect(await store.addInput(newInput(task, { scope: ALICE_ELSEWHERE }))).toEqual(missing);
      expect(await store.addInput(newInput(task, { agent: 'librarian' }))).toEqual(missing);
      expect(await store.addInput(newInput(task, { taskId: newId() }))).toEqual(missing);
      expect(await typesOf(store, task)).toEqual(['message']);
    });

    it("refuses a task beyond the owner's limit of queued tasks, but no repeat of a queued one", async () => {
      const { store } = get();
      const first = newTask({ queueLimit: 2 });
      await store.accept(first);
      await acceptOne(store, { queueLimit: 2 });
      const third = newTask({ queueLimit: 2 });
      await expect(store.accept(third)).rejects.toMatchObject({ code: 'too-many', retryable: true });
      expect(await store.get(ALICE, third.id)).toBeUndefined();
      expect(await store.accept(first)).toMatchObject({ kind: 'repeated' });
      expect(await store.accept(third, startOf('worker'))).toMatchObject({ kind: 'accepted' });
      await acceptOne(store, { queueLimit: 2, scope: BOB });
    });
  });
}
