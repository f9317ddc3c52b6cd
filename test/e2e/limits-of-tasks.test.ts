import { describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Run } from '../../src/core/run.js';
import { withPushServer } from '../support/push-server.js';
import { toolNamed } from '../support/agent-fixtures.js';
import { ScriptedModel, ask, call, resultsIn, say } from '../support/scripted-model.js';
import { sendText, withServer } from '../support/server.js';
import { scriptedAgent } from '../support/scripted-agent.js';

/** The limits of a single task, set in the configuration and observed on the wire. */

describe('tasks.events', () => {
  const settings = { tasks: { events: 100 } };

  it('fails a task that would need more events, with an event that says so', async () => {
    await withPushServer({ settings }, async (server) => {
      const id = await server.send('chunks 200');
      const task = await server.untilEnded(id);
      expect(task['status']).toMatchObject({ state: 'TASK_STATE_FAILED' });
      expect(JSON.stringify(task['status'])).toContain('100 journal entries');
      const { result } = await server.rpc('GetTask', { id: await server.send('chunks 80') });
      expect(result['id']).toBeDefined();
    });
  });

  it('counts messages of the caller too: a full task accepts no more, can be canceled, and affects no other task', async () => {
    await withPushServer({ settings }, async (server) => {
      const id = await server.send('ask');
      let refused: string | undefined;
      while (refused === undefined) {
        refused = await server.send('ask', { taskId: id }).then(
          () => undefined,
          (error: unknown) => String(error),
        );
        await sleep(5);
      }
      expect(refused).toContain('100 journal entries');
      const { result } = await server.rpc('CancelTask', { id });
      expect(result['status']).toMatchObject({ state: 'TASK_STATE_CANCELED' });
      await server.untilEnded(await server.send('say still here'));
    });
  });

  it('fails a task that many concurrent messages have filled, and the server continues', async () => {
    const talker = scriptedAgent('worker', async (run: Run) => {
      await sleep(50);
      await run.append({ type: 'activity', activity: { type: 'text', text: 'yes?' } });
      return { state: 'input-required', text: 'and?' };
    });
    await withPushServer({ settings, agents: [talker] }, async (server) => {
      const id = await server.send('go');
      const words = Array.from({ length: 150 }, () => server.send('more', { taskId: id }));
      await Promise.allSettled(words);
      await server.rpc('CancelTask', { id });
      expect((await server.untilEnded(id))['status']).toMatchObject({
        state: expect.stringMatching(/FAILED|CANCELED/) as unknown,
      });
      expect((await server.rpc('ListTasks', {})).result['totalSize']).toBe(1);
    });
  });
});

describe('tasks.eventBytes', () => {
  const settings = { tasks: { eventBytes: 2_048 } };

  it('refuses a larger message, and stores nothing of it', async () => {
    await withPushServer({ settings }, async (server) => {
      await expect(server.send('x'.repeat(2_100))).rejects.toThrow(/2048 bytes/);
      expect((await server.rpc('ListTasks', {})).result['totalSize']).toBe(0);
      await server.untilEnded(await server.send('say hi'));
    });
  });

  it('fails a task whose agent emits a larger event', async () => {
    const large = { id: 'a', parts: [{ kind: 'text', text: 'x'.repeat(2_100) }] } as const;
    const agent = scriptedAgent('worker', async (run: Run) => {
      await run.append({ type: 'artifact', artifact: large, append: false });
      return { state: 'completed' };
    });
    await withPushServer({ settings, agents: [agent] }, async (server) => {
      const task = await server.untilEnded(await server.send('go'));
      expect(task['status']).toMatchObject({ state: 'TASK_STATE_FAILED' });
      expect(JSON.stringify(task)).toContain('2048 bytes');
    });
  });
});

describe('agent.limits', () => {
  it("set depth and tokens by the node, regardless of the caller's claim", async () => {
    const deep = scriptedAgent('worker', async (run: Run) => {
      const { depth, tokens } = run.grant;
      run.emit({ type: 'text-delta', artifactId: 'a', text: `${depth} and ${tokens}`, replace: true });
      return { state: 'completed' };
    });
    const settings = { agent: { limits: { depth: 3, tokens: 500 } } };
    await withPushServer({ settings, agents: [deep] }, async (server) => {
      for (const [depth, tokens] of [
        [99, 9_999],
        [2, 20],
      ] as const) {
        const metadata = { 'urn:lango:a2a:chain:v1': { depth, tokens } };
        const message = { messageId: `m${depth}`, role: 'ROLE_USER', parts: [{ text: 'go' }], metadata };
        const { result } = await server.rpc('SendMessage', { message });
        expect(JSON.stringify(result)).toContain(`${Math.min(3, depth)} and ${Math.min(500, tokens)}`);
      }
      const metadata = { 'urn:lango:a2a:chain:v1': { chain: ['a@1', 'b@1', 'c@1', 'd@1'] } };
      const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'go' }], metadata };
      expect((await server.rpc('SendMessage', { message })).error?.message).toContain('too deep');
    });
  });

  it('set with fanOut and toolOutputBytes the number of calls and the size of results for a model', async () => {
    const model = new ScriptedModel({
      orchestrator: [call(ask('operator'), ask('librarian'), ask('planner')), say('done')],
      operator: [call(['exec_flood', { path: 'x' }]), say('read')],
      librarian: [say('found')],
      planner: [say('planned')],
    });
    const flood = toolNamed('exec_flood', { execute: async () => ({ content: 'y'.repeat(5_000) }) });
    const settings = { server: { port: 0 }, agent: { limits: { fanOut: 2, toolOutputBytes: 300 } } };
    await withServer({ model, tools: [flood, toolNamed('search_web')], settings }, async (server) => {
      await sendText(server, 'do it all');
      expect(resultsIn(model.asked('orchestrator')[1])[2]).toContain('agent.limits.fanOut');
      const [read] = resultsIn(model.asked('operator')[1]);
      expect(read!.length).toBeLessThan(500);
      expect(read).toContain('yyy');
    });
  });
});
