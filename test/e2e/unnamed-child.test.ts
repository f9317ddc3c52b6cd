import { describe, expect, it } from '@jest/globals';
import Database from 'better-sqlite3';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { silentLogger } from '../../src/core/logger.js';
import { openSqliteStorage } from '../../src/storage/sqlite/storage.js';
import { toolNamed } from '../support/agent-fixtures.js';
import { ScriptedModel, ask, call, say } from '../support/scripted-model.js';
import { beginTask, startServer, untilEnded, withServer } from '../support/server.js';

/**
 * A process that dies after a sub-agent accepted a delegation, and before the event that names its task, leaves a child
 * whose id the parent does not know. A cancel of the parent still reaches the child.
 */
describe('a child task whose id was still unknown when the process died', () => {
  it('is canceled with its parent, whose cancel was accepted before the crash', async () => {
    const home = await mkdtemp(path.join(tmpdir(), 'lango-unnamed-'));
    const file = path.join(home, 'lango.db');
    let begun = () => {};
    const running = new Promise<void>((resolve) => (begun = resolve));
    const wait = (_path: string, { signal }: { signal: AbortSignal }) => {
      begun();
      signal.throwIfAborted();
      return new Promise<never>((_, reject) =>
        signal.addEventListener('abort', () => reject(new Error('gone'))),
      );
    };
    const options = {
      home,
      tools: [toolNamed('exec_wait', { execute: wait, timeoutMs: () => 60_000 })],
      model: new ScriptedModel({
        orchestrator: [call(ask('operator', 'wait'))],
        operator: [call(['exec_wait', { path: 'x' }]), say('never said')],
      }),
    };
    try {
      // The server that dies gives its task no time to end.
      const settings = { server: { port: 0, limits: { drainSeconds: 0.1 } } };
      const before = await startServer({ ...options, settings });
      const parent = await beginTask(before, 'go');
      await running;
      await before.stop();
      forgetNames(file);
      await askToCancel(file, parent);

      await withServer(options, async (server) => {
        expect((await untilEnded(server, parent)).state).toBe('canceled');
        const { tasks } = await server.client.list({ agent: 'operator' });
        expect(tasks).toMatchObject([{ state: 'canceled' }]);
      });
    } finally {
      await rm(home, { recursive: true });
    }
  });
});

/** Accepts a cancel like the process that works on the task, which dies before it acts. */
async function askToCancel(file: string, taskId: string): Promise<void> {
  const storage = openSqliteStorage({ file, synchronous: 'normal', logger: silentLogger });
  await storage.tasks.claim('died', ['lango-orchestrator'], () => 1);
  const task = await storage.tasks.requestCancel({ tenant: '', owner: 'default' }, taskId);
  expect(task?.state).toBe('working');
  await storage.close();
}

/** Cuts each log before its first `delegation-task`, as if the process had died there. */
function forgetNames(file: string): void {
  const database = new Database(file);
  const named = database
    .prepare("SELECT task, MIN(seq) AS seq FROM events WHERE type = 'delegation-task' GROUP BY task")
    .all() as { task: number; seq: number }[];
  expect(named).toHaveLength(1);
  for (const { task, seq } of named) {
    database.prepare('DELETE FROM events WHERE task = ? AND seq >= ?').run(task, seq);
    database.prepare('UPDATE tasks SET head = ? WHERE key = ?').run(seq - 1, task);
  }
  database.close();
}
