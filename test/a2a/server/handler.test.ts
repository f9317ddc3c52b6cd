import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { toCallContext } from '../../../src/a2a/translate/call.js';
import { EXTENSIONS } from '../../../src/core/extensions.js';
import { newId } from '../../../src/core/ids.js';
import { NO_USAGE } from '../../../src/core/model.js';
import type { NewEvent } from '../../../src/core/task.js';
import type { A2aNode } from '../../support/a2a-node.js';
import { startA2aNode } from '../../support/a2a-node.js';
import type { WireTask } from '../../support/a2a-requests.js';
import { ask, rpc, sseEvents, taskIn, userMessage } from '../../support/a2a-requests.js';
import { followOrders, scriptedAgent } from '../../support/scripted-agent.js';

let node: A2aNode;
const SCOPE = { tenant: '', owner: 'default' };

beforeAll(async () => {
  const twoVoices = scriptedAgent('lango-orchestrator', async (run, text) => {
    if (text !== 'two voices') return followOrders(run, text);
    for (const author of ['operator', 'vault']) {
      const text = `I am ${author}`;
      run.emit(
        { type: 'text-delta', artifactId: `of-${author}`, text, replace: true, lastChunk: true },
        author,
      );
      run.emit({ type: 'activity', activity: { type: 'text', text: `${author} works` } }, author);
    }
    return { state: 'completed' };
  });
  node = await startA2aNode({ agents: [twoVoices, scriptedAgent('operator')], rootAgentName: 'lango-agent' });
});

afterAll(() => node.stop());

async function send(text: string, more: object = {}): Promise<WireTask> {
  return (await ask(node, '/message:send', { body: userMessage(text, more) })).json.task;
}

async function sendAtOnce(text: string, more: object = {}): Promise<WireTask> {
  const body = { ...userMessage(text, more), configuration: { returnImmediately: true } };
  return (await ask(node, '/message:send', { body })).json.task;
}

function authorOf(holder: { readonly metadata: Readonly<Record<string, unknown>> } | undefined): unknown {
  return (holder?.metadata[EXTENSIONS.author] as { readonly author: string } | undefined)?.author;
}

/** A log as an earlier version may have left it: its events name no author. */
async function appendUnsigned(id: string, events: readonly NewEvent['body'][]): Promise<void> {
  const { epoch } = (await node.store.get(SCOPE, id))!;
  await node.store.append(
    { taskId: id, epoch },
    events.map((body) => ({ author: undefined, body })),
  );
}

describe('the author of an event', () => {
  it('A1 A4 is the stored one: two agents stay two, each with its own name', async () => {
    const body = userMessage('two voices');
    const events = sseEvents((await ask(node, '/message:stream', { body })).text);
    const artifacts = events.flatMap(({ data }) =>
      'artifactUpdate' in data ? [data.artifactUpdate.artifact] : [],
    );
    expect(artifacts.map((artifact) => [authorOf(artifact), artifact.parts[0]?.text])).toEqual([
      ['operator', 'I am operator'],
      ['vault', 'I am vault'],
    ]);
    const { task } = (await ask(node, '/message:send', { body })).json;
    expect(task.artifacts.map(authorOf)).toEqual(['operator', 'vault']);
    expect(task.history.filter(({ role }) => role === 'ROLE_AGENT').map(authorOf)).toEqual([
      'operator',
      'vault',
    ]);
    expect(authorOf(events.at(-1)?.data.statusUpdate)).toBe('lango-orchestrator');
  });

  it('A2 A3 is the configured root agent when none is stored, never a fixed name', async () => {
    const { id } = await sendAtOnce('wait');
    await taskIn(node, id, 'working');
    await appendUnsigned(id, [
      { type: 'text-delta', artifactId: 'answer', text: 'whose?', replace: true },
      {
        type: 'run-end',
        state: 'completed',
        message: { id: newId(), role: 'agent', parts: [] },
        usage: NO_USAGE,
      },
    ]);
    const task = (await ask(node, `/tasks/${id}`)).json as unknown as WireTask;
    expect(authorOf(task.artifacts[0])).toBe('lango-agent');
    expect(authorOf(task.status.message)).toBe('lango-agent');
    const replayed = sseEvents(
      (await ask(node, `/tasks/${id}:subscribe`, { headers: { 'Last-Event-ID': '3' } })).text,
    );
    expect(authorOf(replayed[0]?.data.artifactUpdate.artifact)).toBe('lango-agent');
  });

  it('A3 stays lango-orchestrator when it is stored so', async () => {
    const task = await send('say x');
    expect(authorOf(task.artifacts[0])).toBe('lango-orchestrator');
  });
});

describe('X5 a task that is read', () => {
  it('costs a follow-up only the new events, and is returned with its newest messages', async () => {
    const { id } = await send('ask');
    for (let count = 1; count < 40; count += 1) await send('ask', { taskId: id });
    const read = node.store.read.bind(node.store);
    let entries = 0;
    node.store.read = async (...range) => {
      const events = await read(...range);
      entries += events.length;
      return events;
    };
    const answer = await send('ask', { taskId: id });
    node.store.read = read;
    expect(entries).toBeLessThan(20);
    expect(answer.history).toHaveLength(50);
    const whole = (await ask(node, `/tasks/${id}`)).json as unknown as WireTask;
    expect(whole.history.length).toBeGreaterThan(80);
    expect(whole.history.slice(-50)).toEqual(answer.history);
    expect(whole.artifacts).toEqual(answer.artifacts);
  });

  it('has its text joined into one part, and its newest messages when asked', async () => {
    const asked = await send('ask');
    const task = await send('chunks 50', { taskId: asked.id });
    expect(task.artifacts[0]?.parts).toHaveLength(1);
    expect(task.history).toHaveLength(3);
    const get = async (historyLength: number) =>
      (await rpc(node, 'GetTask', { id: task.id, historyLength })).json.result.history as
        WireTask['history'] | undefined;
    expect(await get(0)).toBeUndefined();
    expect((await get(1))?.map(({ parts }) => parts[0]?.text)).toEqual(['chunks 50']);
    expect(await get(100)).toHaveLength(3);
    const body = { ...userMessage('say y'), configuration: { historyLength: 0 } };
    expect((await ask(node, '/message:send', { body })).json.task).not.toHaveProperty('history');
  });

  it('has its artifacts in a list only when asked, and then the field even when empty', async () => {
    const contextId = newId();
    await send('refuse', { contextId });
    await send('file', { contextId });
    const bare = (await rpc(node, 'ListTasks', { contextId })).json.result.tasks;
    for (const task of bare) {
      expect(task).not.toHaveProperty('artifacts');
      expect(task).not.toHaveProperty('history');
    }
    const full = (await rpc(node, 'ListTasks', { contextId, includeArtifacts: true })).json.result.tasks;
    expect(full.map(({ artifacts }) => artifacts.length)).toEqual([1, 0]);
    expect(full[0]?.artifacts[0]).toMatchObject({
      parts: [{ raw: 'iVBORw0KGgo=', mediaType: 'image/png', filename: 'pixel.png' }],
    });
  });

  it('is listed with others newest first, page by page, from a given time on', async () => {
    const contextId = newId();
    const sent = [];
    for (const text of ['say 1', 'say 2', 'say 3']) sent.push(await send(text, { contextId }));
    const ids = sent.map(({ id }) => id).reverse();
    const first = (await rpc(node, 'ListTasks', { contextId, pageSize: 2 })).json.result;
    const second = (await rpc(node, 'ListTasks', { contextId, pageSize: 2, pageToken: first.nextPageToken }))
      .json.result;
    expect([...first.tasks, ...second.tasks].map(({ id }) => id)).toEqual(ids);
    expect([first.totalSize, second.nextPageToken]).toEqual([3, '']);
    const from = (sent[1]!.status as unknown as { readonly timestamp: string }).timestamp;
    const later = (await rpc(node, 'ListTasks', { contextId, statusTimestampAfter: from })).json.result.tasks;
    expect(later.map(({ id }) => id)).toContain(sent[1]?.id);
  });

  it('shows the reason of a rejection as its status message', async () => {
    const task = await send('refuse');
    expect(task.status).toMatchObject({
      state: 'TASK_STATE_REJECTED',
      message: { parts: [{ text: 'not my work' }] },
    });
  });
});

describe('X5 the owner of a task', () => {
  const stranger = (after?: number) =>
    toCallContext({ scope: { tenant: '', owner: 'stranger' }, signal: new AbortController().signal, after });

  it('alone finds it: for others a foreign task and a missing one are the same, in every operation', async () => {
    const { id } = await sendAtOnce('wait');
    const handler = node.handlers.get('lango-orchestrator')!;
    const calls = (taskId: string) => [
      handler.getTask({ tenant: '', id: taskId }, stranger()),
      handler.cancelTask({ tenant: '', id: taskId, metadata: undefined }, stranger()),
      handler.resubscribe({ tenant: '', id: taskId }, stranger()).next(),
      handler.resubscribe({ tenant: '', id: taskId }, stranger(1)).next(),
    ];
    for (const taskId of [id, 'nothing']) {
      for (const call of calls(taskId))
        await expect(call).rejects.toMatchObject({
          code: 'not-found',
          message: `Task not found. There is no task ${taskId}.`,
        });
    }
    expect((await node.store.get(SCOPE, id))?.state).not.toBe('canceled');
    await rpc(node, 'CancelTask', { id });
  });

  it('finds it under its own agent only, and cannot send it a message under another', async () => {
    const { id } = await sendAtOnce('wait');
    const here = '/agents/operator';
    expect((await ask(node, `${here}/tasks/${id}`)).status).toBe(404);
    expect((await ask(node, `${here}/tasks/${id}:cancel`, { method: 'POST' })).status).toBe(404);
    expect((await ask(node, `${here}/message:send`, { body: userMessage('x', { taskId: id }) })).status).toBe(
      404,
    );
    expect((await ask(node, `${here}/tasks`)).json.totalSize).toBe(0);
    await rpc(node, 'CancelTask', { id });
  });

  it('is known for every call: one without a caller is refused', async () => {
    const { ServerCallContext, UnauthenticatedUser } = await import('@a2a-js/sdk/server');
    const handler = node.handlers.get('operator')!;
    for (const context of [
      new ServerCallContext(),
      new ServerCallContext({ user: new UnauthenticatedUser() }),
    ]) {
      await expect(handler.getTask({ tenant: '', id: 'x' }, context)).rejects.toMatchObject({
        code: 'unauthenticated',
      });
    }
  });
});

describe('X5 a message or a cancel', () => {
  it("is refused in another context than the task's", async () => {
    const { id } = await send('ask');
    const reply = await ask(node, '/message:send', {
      body: userMessage('x', { taskId: id, contextId: 'another' }),
    });
    expect(reply.json.error.status).toBe('INVALID_ARGUMENT');
  });

  it('keeps the context that the client chose, and begins one where the client named none', async () => {
    expect((await send('say x', { contextId: 'chosen' })).contextId).toBe('chosen');
    expect((await send('say x')).contextId).not.toBe('');
  });

  it('is refused for a task that has ended', async () => {
    const { id } = await send('say x');
    const { error } = (await rpc(node, 'SendMessage', userMessage('y', { taskId: id }))).json;
    expect([error.code, error.data[0]?.metadata['code']]).toEqual([-32004, 'already-ended']);
  });

  it('may be repeated: a second cancel changes nothing, and a task that ended otherwise is not cancelable', async () => {
    const { id } = await sendAtOnce('wait');
    for (let i = 0; i < 2; i += 1) {
      expect((await rpc(node, 'CancelTask', { id })).json.result.status.state).toBe('TASK_STATE_CANCELED');
    }
    const done = await send('say x');
    expect((await rpc(node, 'CancelTask', { id: done.id })).json.error.code).toBe(-32002);
  });
});

describe('the grant of a delegation', () => {
  it.each([
    ['a cycle', { chain: ['lango-orchestrator@here'] }],
    ['too deep', { chain: ['a@x', 'b@x', 'c@x', 'd@x', 'e@x', 'f@x'] }],
    ['no depth left', { depth: -1 }],
    ['no tokens left', { tokens: 0 }],
  ])('makes the server refuse the message and store nothing: %s', async (_what, grant) => {
    const contextId = newId();
    const metadata = { [EXTENSIONS.chain]: { parentTaskId: 'p', ...grant } };
    const { error } = (await rpc(node, 'SendMessage', userMessage('say x', { contextId, metadata }))).json;
    expect([error.code, error.data[0]?.metadata['code']]).toEqual([-32004, 'limit-reached']);
    expect((await rpc(node, 'ListTasks', { contextId })).json.result.totalSize).toBe(0);
  });

  it('ends a task at once whose deadline has passed, and a repeated send finds that end', async () => {
    const body = userMessage('wait', {
      metadata: { [EXTENSIONS.chain]: { parentTaskId: 'p', deadline: 1 } },
    });
    const { task } = (await ask(node, '/message:send', { body })).json;
    expect(task.status).toMatchObject({
      state: 'TASK_STATE_FAILED',
      message: { parts: [{ text: 'The deadline passed.' }] },
    });
    expect((await ask(node, '/message:send', { body })).json.task.id).toBe(task.id);
  });

  it('is narrowed to the limits of this node, and the task records its parent', async () => {
    const deadline = Date.now() + 60_000;
    const metadata = {
      [EXTENSIONS.chain]: {
        parentTaskId: 'p',
        chain: ['a@x', 'b@x'],
        depth: 9,
        tokens: 5,
        deadline,
        tools: ['t'],
      },
    };
    const { id } = await send('say x', { metadata });
    expect(await node.store.get(SCOPE, id)).toMatchObject({
      parentTaskId: 'p',
      grant: { chain: ['a@x', 'b@x'], depth: 3, tokens: 5, deadline, tools: ['t'] },
    });
    const own = await send('say x');
    expect((await node.store.get(SCOPE, own.id))?.grant).toEqual({ chain: [], depth: 5, tokens: 1_000 });
  });
});
