import path from 'node:path';
import { silentLogger } from '../../src/core/logger.js';
import type { UsageRow } from '../../src/core/model.js';
import type { NewEvent } from '../../src/core/task.js';
import { openSqliteStorage } from '../../src/storage/sqlite/storage.js';
import { acceptOne, delta, fenceOf, message, RUN_START, runEnd } from '../suites/task-store-fixtures.js';

const HOUR_MS = 60 * 60 * 1_000;
const ROOT = 'lango-orchestrator';
const SCOPE = { tenant: '', owner: 'default' };
const turnStart: NewEvent = { author: ROOT, body: { type: 'turn-start', step: 't1' } };

/** The words of the tasks that failed, and the second model. */
interface Words {
  readonly failed: string;
  readonly why: string;
  readonly model: string;
}

/** Writes the tasks of a day and a half into a data folder, with the stores of the server: half of 180 are delegated. */
export async function writePast(folder: string, { failed, why, model }: Words): Promise<void> {
  let now = Date.now() - 36 * HOUR_MS;
  const file = path.join(folder, 'lango.db');
  const time = () => now;
  const storage = openSqliteStorage({ file, synchronous: 'normal', logger: silentLogger, now: time });
  const store = storage.tasks;
  const row = (agent: string, name: string, input: number): UsageRow => ({
    ...{ node: storage.nodeId, agent, model: name, input, output: input / 4, cached: 0 },
    ...{ currency: 'USD', cost: input / 100_000 },
  });
  for (let hour = 0; hour < 36; hour += 1) {
    const began = now;
    for (let count = 0; count <= hour % 4; count += 1) {
      const hasFailed = hour % 7 === 3 && count === 0;
      const child = { agent: 'operator', scope: SCOPE, lease: 'w', parentTaskId: 'none' };
      const grant = { chain: [`${ROOT}@${storage.nodeId}`], depth: 4 };
      const text = hasFailed ? failed : `sort the letters of hour ${hour}`;
      const own = await acceptOne(store, { agent: ROOT, scope: SCOPE, lease: 'w', message: message(text) });
      const below = await acceptOne(store, { ...child, grant, message: message('list the letters') });
      await store.append(fenceOf(own), [RUN_START, turnStart]);
      now += 300 + hour * 40;
      await store.append(fenceOf(own), [delta('Sorted')]);
      now += 1_000 + 100 * count;
      await store.append(fenceOf(below), [RUN_START, runEnd('completed')]);
      const rows = [row(ROOT, 'anthropic/claude-large', 4_000 + hour * 90), row('operator', model, 900)];
      const usage = { input: 4_900, output: 1_225, cached: 0, rows };
      const { author, body } = runEnd(hasFailed ? 'failed' : 'completed', hasFailed ? why : undefined);
      const reason = hasFailed ? { reason: 'model-unreachable' } : {};
      await store.append(fenceOf(own), [{ author, body: { ...body, usage, ...reason } } as NewEvent]);
    }
    now = began + HOUR_MS;
  }
  await storage.close();
}
