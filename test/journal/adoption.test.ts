import { expect, it, jest } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Agent } from '../../src/core/agent.js';
import { silentLogger } from '../../src/core/logger.js';
import { textPart } from '../../src/core/message.js';
import { RunningJournal } from '../../src/journal/journal.js';
import { openSqliteStorage } from '../../src/storage/sqlite/storage.js';

const SCOPE = { tenant: '', owner: 'ada' };
const NEW_TASK = {
  scope: SCOPE,
  agent: 'echo',
  contextId: undefined,
  taskId: undefined,
  parentTaskId: undefined,
  grant: { chain: [], depth: 3 },
};

async function openJournal(file: string, run: Agent['run']) {
  // A clock that stands still, so that no lease expires.
  const storage = openSqliteStorage({
    file,
    synchronous: 'normal',
    logger: silentLogger,
    now: () => 1_000_000,
  });
  const agent: Agent = { profile: { name: 'echo', description: 'Says what it hears.', skills: [] }, run };
  const journal = new RunningJournal({
    store: storage.tasks,
    agents: new Map([['echo', agent]]),
    peers: { get: () => undefined },
    logger: silentLogger,
    concurrentRuns: 1,
    queuedTasks: 1_000,
    eventsPerTask: 100,
    runSeconds: 60,
  });
  await journal.start();
  return { journal, storage };
}

it('the next start continues the tasks of a dead process at once, without waiting for a lease', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'lango-adoption-'));
  const file = path.join(folder, 'j.db');
  // Without intervals, no later sweep finds the tasks either.
  const never = jest.spyOn(globalThis, 'setInterval').mockImplementation(() => setTimeout(() => {}));
  try {
    const working = Promise.withResolvers<void>();
    const first = await openJournal(file, (run) => {
      working.resolve();
      return new Promise((_, reject) =>
        run.signal.addEventListener('abort', () => reject(new Error('stop'))),
      );
    });
    const message = { id: 'm', role: 'user', parts: [textPart('go')] } as const;
    const { task } = await first.journal.submit({ ...NEW_TASK, message });
    await working.promise;
    await first.storage.close();

    const second = await openJournal(file, async () => ({ state: 'completed' }));
    const states = second.journal.follow(task.id, 0, AbortSignal.timeout(100_000));
    for await (const _ of states);
    expect(await second.journal.get(SCOPE, task.id)).toMatchObject({ state: 'completed' });
    await second.journal.stop();
    await second.storage.close();
    await first.journal.stop().catch(() => undefined);
  } finally {
    never.mockRestore();
    rmSync(folder, { recursive: true, force: true });
  }
});
