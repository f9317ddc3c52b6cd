import { expect, it } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { userMessage, type Wire } from '../support/a2a-requests.js';
import { AUDIENCE, startIssuer } from '../support/issuer.js';
import { scriptedAgent } from '../support/scripted-agent.js';
import { withServer, type TestServer } from '../support/server.js';

/** Appends artifacts of 200 KB. Each run ends by itself after five. */
const worker = scriptedAgent('worker', async (run, text) => {
  for (let number = 0; text === 'much' && number < 5; number += 1)
    await run.append({
      type: 'artifact',
      artifact: { id: `a${number}`, parts: [{ kind: 'text', text: 'x'.repeat(200_000) }] },
      append: false,
    });
  return { state: 'completed' };
});

it('the tasks of one owner take at most disk.tasksMb of the database, also after a restart, and removed ones make room', async () => {
  const issuer = await startIssuer();
  const home = await mkdtemp(path.join(tmpdir(), 'lango-tasks-disk-'));
  const settings = {
    server: { port: 0 },
    disk: { tasksMb: 1 },
    auth: { mode: 'jwt' as const, jwt: { issuer: issuer.url, audience: [AUDIENCE] } },
  };
  const [alice, bob] = await Promise.all(['alice', 'bob'].map((sub) => issuer.token({ sub })));
  const headers = (token: string) => ({
    'content-type': 'application/json',
    authorization: `Bearer ${token}`,
  });
  const send = async ({ address }: TestServer, token: string, order: string) => {
    const body = JSON.stringify(userMessage(order));
    const sent = { method: 'POST', headers: headers(token), body };
    const response = await fetch(`${address.origin}/agents/worker/message:send`, sent);
    return { status: response.status, text: await response.text() };
  };
  try {
    await withServer({ home, agents: [worker], settings }, async (server) => {
      expect((await send(server, alice!, 'much')).text).toContain('TASK_STATE_COMPLETED');
      // Its message is accepted, and the event that would take more ends it.
      const { text } = await send(server, alice!, 'much');
      const { state, message } = (JSON.parse(text) as Wire).task.status;
      expect([state, JSON.stringify(message)]).toEqual([
        'TASK_STATE_FAILED',
        expect.stringContaining('at most 1 MB in the database'),
      ]);
      const refused = await send(server, alice!, 'go');
      expect([refused.status, refused.text]).toEqual([429, expect.stringContaining('disk.tasksMb')]);
      // The counts are written each second.
      for (let bytes = 0; bytes < 0.9 * 2 ** 20;) {
        const status = await fetch(`${server.address.origin}/lango/agents`, { headers: headers(alice!) });
        const { taskUse } = (await status.json()) as { taskUse: { bytes: number; limit: number } };
        expect(taskUse.limit).toBe(2 ** 20);
        ({ bytes } = taskUse);
      }
      expect((await send(server, bob!, 'much')).text).toContain('TASK_STATE_COMPLETED');
    });
    await withServer({ home, agents: [worker], settings }, async (server) => {
      expect((await send(server, alice!, 'go')).status).toBe(429);
      const deletion = { method: 'DELETE', headers: headers(alice!) };
      expect((await fetch(`${server.address.origin}/lango/data`, deletion)).status).toBe(200);
      for (;;) if ((await send(server, alice!, 'much')).status === 200) break;
    });
  } finally {
    await issuer.close();
    await rm(home, { recursive: true, force: true });
  }
});
