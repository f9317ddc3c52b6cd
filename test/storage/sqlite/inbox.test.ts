import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { newId } from '../../../src/core/ids.js';
import { silentLogger } from '../../../src/core/logger.js';
import { RecentEvents } from '../../../src/storage/recent-events.js';
import { createRetentionStore } from '../../../src/storage/retention.js';
import { SqliteDatabase } from '../../../src/storage/sqlite/database.js';
import { SqliteInbox } from '../../../src/storage/sqlite/inbox.js';
import { SqliteTaskStore } from '../../../src/storage/sqlite/task-store.js';
import { TaskCounts } from '../../../src/storage/task-list.js';
import type { NewTask } from '../../../src/stores/tasks.js';
import { message, newInput, newTask, taskOf } from '../../suites/task-store-fixtures.js';

/** Enough for several transactions. */
const MANY = 5_000;
const KNOWN_MS = 60_000;
/** The tasks whose messages are not in `inbox` yet. */
const NEW = "tasks WHERE key > (SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'inbox_moved')";
/** Two ids whose keys have the same first four bytes, for the scope and the agent of the fixtures. */
const ALIKE = ['m41778', 'm50888'] as const;

let folder: string;
let now = 1_000_000;
let close = (): void => {};

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lango-inbox-'));
});

afterEach(() => {
  close();
  rmSync(folder, { recursive: true });
});

function open(moveAt: number) {
  close();
  const file = join(folder, 'lango.db');
  const database = new SqliteDatabase({
    ...{ file, synchronous: 'normal', logger: silentLogger, now: () => now },
  });
  close = () => database.close();
  const inbox = new SqliteInbox(database, { moveAt, knownMs: KNOWN_MS });
  const [recent, counts] = [new RecentEvents(), new TaskCounts()];
  const tasks = new SqliteTaskStore(database, { inbox, recent, counts });
  const retention = createRetentionStore(database, {
    ...{ recent, counts },
    forgetMessage: (key, task) => inbox.forget(key, task.key),
  });
  const rows = (table: string): number =>
    database.handle.prepare<[], number>(`SELECT count(*) FROM ${table}`).pluck().get()!;
  const isMoved = async (): Promise<void> => {
    while (rows(NEW) >= moveAt) await nextTurn();
  };
  return { tasks, retention, rows, isMoved };
}

type Opened = ReturnType<typeof open>;

function entries(count: number): readonly NewTask[] {
  return Array.from({ length: count }, () => newTask({ contextId: newId() }));
}

function acceptAll({ tasks }: Opened, sent: readonly NewTask[]) {
  return Promise.all(sent.map((entry) => tasks.accept(entry)));
}

function expectKnown({ tasks }: Opened, sent: readonly NewTask[]): void {
  const found = sent.map((entry) => tasks.findEarlier({ ...entry, id: newId() }));
  expect(found.map((one) => one?.kind)).toEqual(sent.map(() => 'repeated'));
}

describe('a message that was sent before', () => {
  it('is known at each moment while new messages are moved, and after a restart', async () => {
    const store = open(MANY);
    const sent = entries(MANY);
    await acceptAll(store, sent);
    const moved: number[] = [];
    do {
      moved.push(store.rows('inbox'));
      expectKnown(store, sent);
      await nextTurn();
    } while (store.rows(NEW) > 0);
    expect(new Set(moved).size).toBeGreaterThan(2);
    expect(store.rows('inbox')).toBe(MANY);
    expectKnown(store, sent);
    const kinds = (await acceptAll(store, sent)).map(({ kind }) => kind);
    expect(new Set(kinds)).toEqual(new Set(['repeated']));
    expectKnown(open(MANY), sent);
  });

  it('is known when the process ends in the middle of a move, which the next message continues', async () => {
    const store = open(MANY);
    const sent = entries(MANY + 1);
    await acceptAll(store, sent.slice(0, MANY));
    await acceptAll(store, sent.slice(MANY));
    while (store.rows('inbox') === 0) await nextTurn();
    expect(store.rows('inbox')).toBeLessThan(MANY);
    const again = open(MANY);
    expectKnown(again, sent);
    const more = entries(1);
    await acceptAll(again, more);
    while (again.rows(NEW) > 0) await nextTurn();
    expectKnown(again, [...sent, ...more]);
    expect(again.rows('inbox')).toBe(MANY + 2);
  });

  it('is told from another one whose key begins with the same bytes', async () => {
    const store = open(2);
    const [one, other] = ALIKE.map((id) => newTask({ message: message('hi', id) }));
    await store.tasks.accept(one!);
    expect(store.tasks.findEarlier(other!)).toBeUndefined();
    await store.tasks.accept(other!);
    expectKnown(store, [one!, other!]);
    const further = entries(1);
    await acceptAll(store, further);
    await store.isMoved();
    expectKnown(store, [one!, other!, ...further]);
  });

  it('is known among several messages of one task', async () => {
    const store = open(4);
    const task = taskOf(await store.tasks.accept(newTask()));
    const inputs = Array.from({ length: 9 }, (_, index) => newInput(task, { message: message(`${index}`) }));
    for (const input of inputs) await store.tasks.addInput(input);
    await store.isMoved();
    for (const input of inputs) expect((await store.tasks.addInput(input)).kind).toBe('repeated');
    const twice = newInput(task, { message: message('twice') });
    const outcomes = await Promise.all([store.tasks.addInput(twice), store.tasks.addInput(twice)]);
    expect(outcomes.map(({ kind }) => kind)).toEqual(['accepted', 'repeated']);
  });

  it('begins another task when its id was forgotten, and then means that one', async () => {
    const store = open(3);
    const [old, ...others] = entries(3);
    await acceptAll(store, [old!, ...others]);
    await store.isMoved();
    now += KNOWN_MS + 1;
    const later = { ...old!, id: newId() };
    expect((await store.tasks.accept(later)).kind).toBe('accepted');
    await acceptAll(store, entries(2));
    await store.isMoved();
    expect(store.tasks.findEarlier({ ...old!, id: newId() })).toMatchObject({ task: { id: later.id } });
  });

  it('leaves no row of the inbox when its task is removed', async () => {
    const store = open(3);
    const sent = entries(4);
    const accepted = await acceptAll(store, sent);
    await store.isMoved();
    for (const { scope, id } of accepted.map(taskOf).map((task) => ({ scope: task, id: task.id })))
      await store.tasks.requestCancel(scope, id);
    expect(await store.retention.remove(sent.map(({ id }) => id))).toHaveLength(4);
    expect(store.rows('inbox')).toBe(0);
  });

  it('is not taken for that of a removed task: no other task gets its key', async () => {
    const store = open(3);
    const sent = entries(4);
    for (const task of (await acceptAll(store, sent)).map(taskOf))
      await store.tasks.requestCancel(task, task.id);
    // The newest first: the one before it is the newest of those that are left.
    await store.retention.remove(sent.map(({ id }) => id).toReversed());
    const again = open(3);
    await acceptAll(again, entries(2));
    expect([again.rows('tasks'), again.rows('tasks WHERE key > 4')]).toEqual([2, 2]);
  });
});
