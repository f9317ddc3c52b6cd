import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { openSqliteStores, type AllStores } from '../../../lab/all-stores.js';
import { MemoryWriter } from '../../../src/capabilities/memory/writer.js';
import { silentLogger } from '../../../src/core/logger.js';
import type { TaskRecord } from '../../../src/core/task.js';
import { until } from '../../support/until.js';
import {
  acceptOne,
  ALICE,
  fenceOf,
  message,
  RUN_START,
  runEnd,
  turnEnd,
  upTo,
} from '../../suites/task-store-fixtures.js';

describe('a memory writer', () => {
  let stores: AllStores;
  beforeEach(() => {
    stores = openSqliteStores({ file: ':memory:', synchronous: 'normal', logger: silentLogger });
  });
  afterEach(() => stores.close());

  /** A task of the session that said one thing and ended. */
  async function talk(text: string): Promise<TaskRecord> {
    const task = await acceptOne(stores.tasks, { message: message(`ask ${text}.`), lease: 'worker' });
    await stores.tasks.append(fenceOf(task), [RUN_START, turnEnd(`answer ${text}`), runEnd('completed')]);
    return task;
  }

  /** A writer that notes what three tasks of eleven to thirteen tokens said, and the number of tasks in each of its reads. */
  function openWriter() {
    const read: number[] = [];
    const { tasks, memory } = stores;
    const readSession: typeof tasks.readSession = async (...asked) => {
      const events = await tasks.readSession(...asked);
      read.push(new Set(events.map(({ taskId }) => taskId)).size);
      return events;
    };
    const writer = new MemoryWriter({
      ...{ memory, tasks: { get: (...asked) => tasks.get(...asked), readSession } },
      ...{ distiller: undefined, observeTokens: 30, reflectTokens: 1_000_000, logger: silentLogger },
    });
    const looks = jest.spyOn(memory, 'observations');
    /** The look for notes to condense is the last work after a run. */
    const look = async (task: TaskRecord): Promise<void> => {
      looks.mockClear();
      writer.runEnded(task);
      await until(() => looks.mock.calls.length > 0);
    };
    return { look, read };
  }

  const noted = async () =>
    (await stores.memory.observations(ALICE, { limit: 99 }))
      .map(({ text }) => /ask (\d+)/.exec(text)?.[1])
      .reverse();

  it('reads after a run only what is new since its last look, until there is enough to note', async () => {
    const { look, read } = openWriter();
    for (const n of upTo(8)) await look(await talk(String(n)));
    // A run finds the tasks before its own. With the third, all three are read to be noted.
    expect(read).toEqual([0, 1, 1, 1, 3, 1, 1, 1, 3, 1]);
    expect(await noted()).toEqual(upTo(6).map(String));
  });

  it('notes each task once although another process notes the same session', async () => {
    const writers = [openWriter(), openWriter()];
    for (const n of upTo(13)) await writers[n % 2 === 0 ? 0 : 1]!.look(await talk(String(n)));
    expect(await noted()).toEqual(upTo(12).map(String));
  });
});
