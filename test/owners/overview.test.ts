import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { silentLogger } from '../../src/core/logger.js';
import type { NewEvent } from '../../src/core/task.js';
import { createAgentMap } from '../../src/owners/agent-map.js';
import { createOwnedOverview } from '../../src/owners/overview.js';
import { openSqliteStorage } from '../../src/storage/sqlite/storage.js';
import type { Storage } from '../../src/stores/storage.js';
import { acceptOne, ALICE, BOB, delta, fenceOf, message, RUN_START } from '../suites/task-store-fixtures.js';

const HOUR_MS = 60 * 60 * 1_000;
const NOON = Date.parse('2026-11-27T12:00:00Z');
const AGENTS = ['root', 'helper'];

let now: number;
let storage: Storage;
let reads: number;

const overviewOf = (hours = 24) => {
  const read: Storage['tasks']['read'] = (...given) => {
    reads += 1;
    return storage.tasks.read(...given);
  };
  const list: Storage['tasks']['list'] = (...given) => storage.tasks.list(...given);
  const parts = { ...storage, tasks: { read, list }, agents: AGENTS, now: () => now };
  const overview = createOwnedOverview(parts);
  return () => overview(ALICE, hours);
};

function ended(state: 'completed' | 'failed', node: string): NewEvent {
  const row = {
    node,
    agent: 'helper',
    model: 'm',
    input: 10,
    output: 5,
    cached: 0,
    currency: 'USD',
    cost: 0.5,
  };
  const usage = { input: 10, output: 5, cached: 0, rows: [row] };
  const why =
    state === 'failed'
      ? { reason: 'limit-tokens', message: { ...message('too long'), role: 'agent' as const } }
      : {};
  return { author: 'root', body: { type: 'run-end', state, usage, ...why } };
}

/** A task of one second, whose model began its text after 200 ms. */
async function task(state: 'completed' | 'failed', changes: Parameters<typeof acceptOne>[1] = {}) {
  const made = await acceptOne(storage.tasks, {
    ...{ agent: 'root', lease: 'w', message: message('sort it') },
    ...changes,
  });
  await storage.tasks.append(fenceOf(made), [
    RUN_START,
    { author: 'root', body: { type: 'turn-start', step: 't1' } },
  ]);
  now += 200;
  await storage.tasks.append(fenceOf(made), [delta('Sorted.')]);
  now += 800;
  await storage.tasks.append(fenceOf(made), [ended(state, storage.nodeId)]);
  return made;
}

beforeEach(() => {
  now = NOON;
  reads = 0;
  storage = openSqliteStorage({
    file: ':memory:',
    synchronous: 'normal',
    logger: silentLogger,
    now: () => now,
  });
});
afterEach(() => storage.close());

it('sums up the tasks of an owner in a time, and what a delegated one cost only once', async () => {
  await task('failed');
  now = NOON + 30 * HOUR_MS;
  const running = await acceptOne(storage.tasks, { agent: 'root', message: message('still at it') });
  await task('completed');
  const failed = await task('failed');
  await task('completed', {
    agent: 'helper',
    grant: { chain: [`root@${storage.nodeId}`], depth: 4 },
  });
  await task('completed', { scope: BOB });
  const { running: open, errors, ...figures } = await overviewOf()();
  const at = NOON + 30 * HOUR_MS;
  const figuresOf = { time: { p50: 1_000, p95: 1_000 }, firstText: { p50: 200, p95: 200 } };
  expect(figures).toMatchObject({
    ...{ from: NOON + 7 * HOUR_MS, partMs: HOUR_MS, isCut: false },
    agents: [
      { agent: 'root', tasks: 3, failed: 1, ...figuresOf },
      { agent: 'helper', tasks: 1, failed: 0, ...figuresOf },
    ],
    usage: [{ at, agent: 'helper', model: 'm', input: 20, output: 10, cost: 1 }],
    costliest: [
      { title: 'sort it', cost: 0.5, currency: 'USD' },
      { title: 'sort it', cost: 0.5 },
    ],
  });
  expect(figures.costliest).toHaveLength(2);
  expect(figures.ended).toEqual(
    expect.arrayContaining([
      { at, state: 'completed', tasks: 1 },
      { at, state: 'failed', tasks: 1 },
    ]),
  );
  expect(open).toMatchObject([{ id: running.id, title: 'still at it' }]);
  expect(errors).toMatchObject([
    { reason: 'limit-tokens', text: 'too long', tasks: 1, newest: { id: failed.id, title: 'sort it' } },
  ]);
  const week = await overviewOf(168)();
  expect(week).toMatchObject({ partMs: 24 * HOUR_MS, errors: [{ tasks: 2 }] });
});

it('reads the entries of an ended task once, and of no more than 500 tasks of an agent', async () => {
  for (let count = 0; count < 510; count += 1) await task('completed');
  const look = overviewOf();
  expect(await look()).toMatchObject({ isCut: true, ended: [{ tasks: 500 }] });
  const first = reads;
  expect(first).toBeLessThanOrEqual(1_500);
  await look();
  expect(reads).toBe(first);
});

it('maps who asked whom, also agents of other nodes, with times and failures', async () => {
  const asked = (to: string): readonly NewEvent[] => [
    {
      author: 'root',
      body: {
        ...{
          type: 'delegation-start',
          step: 'd1',
          callId: 'c',
          agent: to,
          request: 'r',
          final: false,
          key: 'k',
        },
      },
    },
  ];
  const answered = (to: string): NewEvent => ({
    author: 'root',
    body: {
      ...{ type: 'delegation-end', step: 'd1', agent: to, state: 'failed' },
      result: { id: 'c', name: 'transfer_to_agent', content: 'no', isError: true },
      usage: { input: 0, output: 0, cached: 0 },
    },
  });
  const own = await acceptOne(storage.tasks, { agent: 'root', lease: 'w' });
  await storage.tasks.append(fenceOf(own), [RUN_START, ...asked('far')]);
  now += 300;
  await storage.tasks.append(fenceOf(own), [answered('far')]);
  await task('completed', { agent: 'helper', grant: { chain: [`root@${storage.nodeId}`], depth: 4 } });
  await task('completed', { grant: { chain: ['front@elsewhere'], depth: 4 } });
  const parts = { tasks: storage.tasks, agents: AGENTS, nodeId: storage.nodeId, now: () => now };
  const edges = await createAgentMap({ ...parts, hasRemotes: () => true })(ALICE, 24);
  const second = { p50: 1_000, p95: 1_000 };
  expect(edges).toHaveLength(4);
  expect(edges).toEqual(
    expect.arrayContaining([
      { from: '', to: 'root', calls: 1, failed: 0 },
      { from: 'root', to: 'helper', calls: 1, failed: 0, time: second },
      { from: 'front', fromNode: 'elsewhere', to: 'root', calls: 1, failed: 0, time: second },
      { from: 'root', to: 'far', calls: 1, failed: 1, time: { p50: 300, p95: 300 } },
    ]),
  );
});
