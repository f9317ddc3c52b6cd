import { afterEach, describe, expect, it } from '@jest/globals';
import { TaskState } from '@a2a-js/sdk';
import type { AgentExecutor } from '@a2a-js/sdk/server';
import type { ModelRequest } from '../../../src/core/model.js';
import { call, resultsIn, say, ScriptedModel } from '../../support/scripted-model.js';
import { startServer, type TestServer } from '../../support/server.js';
import { Script } from './scripted-executor.js';
import { startStockServer } from './stock-server.js';

/** A2A 1.0, section 7.6: an agent that delegates follows its peer into an authorization and out of it. */

const WHERE = 'Log in at https://login.example, please.';
const { TASK_STATE_WORKING, TASK_STATE_AUTH_REQUIRED, TASK_STATE_COMPLETED } = TaskState;

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

type Execute = (script: Script, context: Parameters<AgentExecutor['execute']>[0]) => Promise<void>;

/** A server whose orchestrator asks a stock agent. Resolves with a task of its that waits for authorization. */
async function waiting(execute: Execute): Promise<{ server: TestServer; id: string }> {
  const peer = await startStockServer({ bindings: ['JSONRPC'] });
  closing.push(() => peer.close());
  peer.executor.execute = async (context, bus) => {
    await execute(new Script(context, bus), context);
    bus.finished();
  };
  const orchestrator = [
    call(['transfer_to_agent', { agent_name: 'scripted', request: 'go' }]),
    (request: ModelRequest) => say(`told: ${resultsIn(request).join()}`),
  ];
  const remoteAgents = [{ name: 'scripted', url: peer.origin, allowPrivate: true }];
  const server = await startServer({
    model: new ScriptedModel({ orchestrator }),
    settings: { server: { port: 0 }, a2a: { enabled: true, remoteAgents } },
  });
  closing.push(() => server.stop());
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'ask it' }] };
  // A blocking call returns as soon as a person has to act.
  const answer = await server.fetch('/message:send', { method: 'POST', body: JSON.stringify({ message }) });
  const { task } = (await answer.json()) as { task: { id: string; status: object } };
  expect(task.status).toMatchObject({
    state: 'TASK_STATE_AUTH_REQUIRED',
    message: { parts: [{ text: WHERE }] },
  });
  return { server, id: task.id };
}

async function ended(server: TestServer, taskId: string) {
  for (;;) {
    const task = await server.client.get({ taskId });
    if (task.state === 'completed' || task.state === 'failed') return task;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const textOf = (task: Awaited<ReturnType<typeof ended>>): string =>
  task.artifacts
    .flatMap(({ parts }) => parts.map((part) => (part.kind === 'text' ? part.text : '')))
    .join('');

describe('an agent whose peer waits for authorization', () => {
  it('shows where to log in, and goes on when the peer does', async () => {
    const login = Promise.withResolvers<void>();
    const { server, id } = await waiting(async (script) => {
      script.open();
      script.status(TASK_STATE_AUTH_REQUIRED, WHERE);
      await login.promise;
      script.status(TASK_STATE_WORKING);
      script.text('welcome');
      script.status(TASK_STATE_COMPLETED);
    });
    login.resolve();
    expect(textOf(await ended(server, id))).toBe('told: welcome');
  });

  it('gives the peer a reply, although the stream of the first request is still open', async () => {
    const never = Promise.withResolvers<void>();
    closing.push(async () => never.resolve());
    const { server, id } = await waiting(async (script, { task }) => {
      if (task) {
        script.text('welcome');
        return script.status(TASK_STATE_COMPLETED);
      }
      script.open();
      script.status(TASK_STATE_AUTH_REQUIRED, WHERE);
      await never.promise;
    });
    const message = { messageId: 'm2', role: 'ROLE_USER', taskId: id, parts: [{ text: 'done' }] };
    await server.fetch('/message:send', { method: 'POST', body: JSON.stringify({ message }) });
    expect(textOf(await ended(server, id))).toBe('told: welcome');
  });
});
