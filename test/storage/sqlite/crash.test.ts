import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '../../../src/core/logger.js';
import type { TaskStore } from '../../../src/stores/tasks.js';
import { openSqliteStorage } from '../../../src/storage/sqlite/storage.js';
import { until } from '../../support/until.js';
import { AGENT, ALICE, readAll, upTo } from '../../suites/task-store-fixtures.js';
import type { Acknowledged } from './second-process.js';
import { startProcess } from './start-process.js';

const ROUNDS = 5;
/** The maximum number of commits that a process acknowledges before it is killed. */
const MOST_LINES = 200;

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lango-crash-'));
});

afterEach(() => rmSync(folder, { recursive: true }));

/** The last head that was acknowledged for each task. */
function lastHeads(lines: readonly unknown[]): ReadonlyMap<string, number> {
  return new Map((lines as readonly Acknowledged[]).map(({ taskId, head }) => [taskId, head]));
}

async function expectWhole(store: TaskStore, taskId: string, acknowledgedHead: number): Promise<void> {
  const task = await store.get(ALICE, taskId);
  if (!task) throw new Error(`an acknowledged task is gone: ${taskId}`);
  expect(task.head).toBeGreaterThanOrEqual(acknowledgedHead);
  const events = await readAll(store, task);
  expect(events.map((event) => event.seq)).toEqual(upTo(task.head));
  expect(task.state === 'completed').toBe(events.at(-1)?.body.type === 'run-end');
}

describe('a process that is killed at a random moment', () => {
  it('loses nothing acknowledged, leaves no partial write, and its tasks can be claimed at once', async () => {
    const file = join(folder, 'lango.db');
    const heads = new Map<string, number>();
    for (let round = 0; round < ROUNDS; round += 1) {
      const other = startProcess('work', file);
      await other.first;
      const lines = MOST_LINES * Math.random();
      await until(() => other.lines.length > lines);
      await other.kill();
      const lastRound = lastHeads(other.lines);
      lastRound.forEach((head, taskId) => heads.set(taskId, head));

      const storage = openSqliteStorage({ file, synchronous: 'normal', logger: silentLogger });
      for (const [taskId, head] of heads) await expectWhole(storage.tasks, taskId, head);
      const claimed = new Set(
        (await storage.tasks.claim('next', [AGENT], () => 100_000)).map((task) => task.id),
      );
      for (const taskId of lastRound.keys()) {
        const task = await storage.tasks.get(ALICE, taskId);
        expect(claimed.has(taskId)).toBe(task?.state !== 'completed');
      }
      await storage.close();
    }
    expect(heads.size).toBeGreaterThan(ROUNDS);
  });
});
