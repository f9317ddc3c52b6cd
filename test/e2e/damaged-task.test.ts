import { expect, it } from '@jest/globals';
import Database from 'better-sqlite3';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { silentLogger } from '../../src/core/logger.js';
import { openSqliteStorage } from '../../src/storage/sqlite/storage.js';
import { verifyDatabase } from '../../src/storage/sqlite/verify.js';
import { TOKEN } from '../support/a2a-node.js';
import { scriptedAgent } from '../support/scripted-agent.js';
import { startServer } from '../support/server.js';

const TEXTS = ['one ', 'two ', 'three '];

it.each([
  ['lacks an entry', `DELETE FROM events WHERE body LIKE '%two%'`],
  ['has a changed entry', `UPDATE events SET body = replace(body, 'two', 'six')`],
])('a running task that %s fails once, and can be read up to the damage', async (_, damage) => {
  const home = mkdtempSync(path.join(tmpdir(), 'lango-damaged-task-'));
  const file = path.join(home, 'lango.db');
  let runs = 0;
  const written = Promise.withResolvers<void>();
  const serve = () =>
    startServer({
      home,
      settings: { auth: { token: TOKEN }, server: { port: 0 } },
      agents: [
        scriptedAgent('worker', async (run) => {
          runs += 1;
          for (const text of TEXTS)
            await run.append({ type: 'text-delta', artifactId: 'answer', text, replace: false });
          written.resolve();
          await new Promise((resolve) => run.signal.addEventListener('abort', resolve, { once: true }));
          return { state: 'completed' };
        }),
      ],
    });
  try {
    const first = await serve();
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'work' }] };
    const order = { message, configuration: { returnImmediately: true } };
    const post = { method: 'POST', body: JSON.stringify(order) };
    const sent = await first.fetch('/agents/worker/message:send', post);
    const { id } = ((await sent.json()) as { task: { id: string } }).task;
    await written.promise;
    await first.stop();
    const database = new Database(file);
    expect(database.prepare(damage).run().changes).toBeGreaterThan(0);
    database.close();
    for (let start = 0; start < 2; start += 1) {
      const server = await serve();
      const seen = async () => (await server.fetch(`/agents/worker/tasks/${id}`)).text();
      for (let round = 0; round < 2_000 && !(await seen()).includes('FAILED'); round += 1) await sleep(50);
      const text = await seen();
      await server.stop();
      expect(text).toMatch(/TASK_STATE_FAILED.*Entry \d+ of task .* The task cannot go on/s);
      expect(text).toContain('one');
      expect(text).not.toMatch(/three|six/);
    }
    expect(runs).toBe(1);
    expect(verifyDatabase(file).problems).toEqual([]);
    const storage = openSqliteStorage({ file, synchronous: 'normal', logger: silentLogger });
    const events = await storage.tasks.read(id, 0, 100);
    expect(events.filter(({ body }) => body.type === 'run-end')).toHaveLength(1);
    expect(await storage.retention.remove([id])).toEqual([id]);
    await storage.close();
    const left = new Database(file, { readonly: true });
    expect(left.prepare('SELECT count(*) FROM events').pluck().get()).toBe(0);
    left.close();
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});
