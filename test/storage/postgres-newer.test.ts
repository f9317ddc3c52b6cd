import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it } from '@jest/globals';
import { startPostgres } from '../support/postgres.js';
import { followOrders, scriptedAgent, type Script } from '../support/scripted-agent.js';
import { withServer } from '../support/server.js';

const server = await startPostgres();
afterAll(() => server?.stop());

(server ? describe : describe.skip)('a server on PostgreSQL', () => {
  it('is not ready once a newer version has changed its tables, and leaves its tasks to servers of that version', async () => {
    const own = await server!.database();
    const settings = { storage: { url: own.url }, vault: { passphrase: 'correct horse battery' } };
    const agentThat = (script: Script) => [scriptedAgent('worker', script)];
    const body = (text: string) => ({
      method: 'POST',
      body: JSON.stringify({
        message: { messageId: text, role: 'ROLE_USER', parts: [{ text }] },
        configuration: { returnImmediately: true },
      }),
    });
    const change = (from: string, to: string, schema: number) =>
      own.run(
        `ALTER TABLE tasks RENAME COLUMN ${from} TO ${to}; UPDATE meta SET value = '${schema}' WHERE key = 'schema'`,
      );
    await withServer({ settings, agents: agentThat(followOrders) }, async (old) => {
      const sent = await old.fetch('/agents/worker/message:send', body('wait'));
      const { task } = (await sent.json()) as { readonly task: { readonly id: string } };
      await change('head', 'newest', 13);
      const refused = await old.fetch('/agents/worker/message:send', body('say no'));
      expect([refused.status, refused.headers.has('retry-after')]).toEqual([503, true]);
      await change('newest', 'head', 12);
      const ready = await old.fetch('/readyz');
      const reason = 'The database was made by a newer version of Lango: schema 13 > 12.';
      expect([ready.status, await ready.json()]).toEqual([503, { status: 'not ready', reason }]);
      await withServer(
        { settings, agents: agentThat(async () => ({ state: 'completed' })) },
        async (next) => {
          const read = async () => (await next.fetch(`/agents/worker/tasks/${task.id}`)).text();
          while (!(await read()).includes('TASK_STATE_COMPLETED')) await sleep(50);
        },
      );
    });
    await own.drop();
  });
});
