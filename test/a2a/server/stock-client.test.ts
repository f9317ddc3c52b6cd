import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Role, TaskState } from '@a2a-js/sdk';
import type { Client } from '@a2a-js/sdk/client';
import { newId } from '../../../src/core/ids.js';
import type { A2aNode } from '../../support/a2a-node.js';
import { startA2aNode } from '../../support/a2a-node.js';
import { taskIn } from '../../support/a2a-requests.js';
import { scriptedAgent } from '../../support/scripted-agent.js';
import {
  RETURN_AT_ONCE,
  answerOf,
  asTask,
  clientFactory,
  collect,
  partsRequest,
  textRequest,
} from './stock-client.js';

/** The published client of the SDK, with a token and nothing else of ours, uses every operation. */

let node: A2aNode;

const HOOK = 'https://receiver.example/hook';
const TOOLS = { id: 'tools', name: 'Tools', description: 'For who is known.', tags: [], examples: [] };

beforeAll(async () => {
  const agents = ['lango-orchestrator', 'operator'].map((name) => {
    const agent = scriptedAgent(name);
    return { ...agent, profile: { ...agent.profile, extendedSkills: () => [TOOLS] } };
  });
  node = await startA2aNode({ agents, grpc: true, push: true });
});

afterAll(() => node.stop());

describe.each(['JSONRPC', 'HTTP+JSON', 'GRPC'])('a client of the stock SDK over %s', (transport) => {
  let client: Client;

  beforeAll(async () => {
    client = await clientFactory(transport).createFromUrl(node.origin);
  });

  it('X1 finds the root agent by the host alone, and each agent by its own card', async () => {
    expect((await client.getAgentCard()).name).toBe('lango-orchestrator');
    const operator = await clientFactory(transport).createFromUrl(`${node.origin}/agents/operator/`);
    expect((await operator.getAgentCard()).name).toBe('operator');
    expect(answerOf(asTask(await operator.sendMessage(textRequest('say hello'))))).toBe('hello');
  });

  it('X5 speaks 1.0 over the transport it prefers, and reads the card for known callers', async () => {
    expect([client.protocolVersion, client.transport.protocolName]).toEqual(['1.0', transport]);
    expect((await client.getAgentCard()).skills.map(({ id }) => id)).toEqual(['orders', TOOLS.id]);
  });

  it('X5 sends a message and gets the finished task with its artifact', async () => {
    const task = asTask(await client.sendMessage(textRequest('say good morning')));
    expect(task.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
    expect(answerOf(task)).toBe('good morning');
    expect(task.history.map(({ role }) => role)).toEqual([Role.ROLE_USER]);
  });

  it('X5 streams a task: the task first, then its events, the end last', async () => {
    const events = await collect(client.sendMessageStream(textRequest('chunks 3')));
    expect(events[0]?.payload?.$case).toBe('task');
    const text = events.flatMap(({ payload }) =>
      payload?.$case === 'artifactUpdate' ? (payload.value.artifact?.parts ?? []) : [],
    );
    expect(text.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('')).toBe(
      '<0><1><2>',
    );
    const last = events.at(-1)?.payload;
    expect(last?.$case === 'statusUpdate' && last.value.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
  });

  it('X5 gets and lists tasks', async () => {
    const sent = asTask(
      await client.sendMessage(textRequest('say listed', { contextId: `context-of-${transport}` })),
    );
    expect(asTask(await client.getTask({ tenant: '', id: sent.id })).status?.state).toBe(
      TaskState.TASK_STATE_COMPLETED,
    );
    const page = await client.listTasks({
      tenant: '',
      contextId: `context-of-${transport}`,
      status: TaskState.TASK_STATE_UNSPECIFIED,
      pageToken: '',
      statusTimestampAfter: undefined,
    });
    expect(page.tasks.map(({ id }) => id)).toEqual([sent.id]);
    expect(page.totalSize).toBe(1);
  });

  it('X5 cancels a running task, which stops it', async () => {
    const sent = asTask(await client.sendMessage({ ...textRequest('wait'), configuration: RETURN_AT_ONCE }));
    expect(sent.status?.state).toBe(TaskState.TASK_STATE_SUBMITTED);
    const canceled = asTask(await client.cancelTask({ tenant: '', id: sent.id, metadata: undefined }));
    expect(canceled.status?.state).toBe(TaskState.TASK_STATE_CANCELED);
    await expect(client.sendMessage(textRequest('more', { taskId: sent.id }))).rejects.toMatchObject({
      name: expect.stringContaining('UnsupportedOperationError'),
    });
  });

  it('X5 subscribes to a running task and sees its end', async () => {
    const sent = asTask(await client.sendMessage({ ...textRequest('wait'), configuration: RETURN_AT_ONCE }));
    await taskIn(node, sent.id, 'working');
    const stream = client.resubscribeTask({ tenant: '', id: sent.id });
    const first = await stream.next();
    expect(first.value?.payload?.$case).toBe('task');
    const rest = collect(stream);
    await client.cancelTask({ tenant: '', id: sent.id, metadata: undefined });
    const last = (await rest).at(-1)?.payload;
    expect(last?.$case === 'statusUpdate' && last.value.status?.state).toBe(TaskState.TASK_STATE_CANCELED);
  });

  it('X5 replies to a question in a second turn of the same task', async () => {
    const asked = asTask(await client.sendMessage(textRequest('ask')));
    expect(asked.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
    expect(asked.status?.message?.parts[0]?.content?.value).toBe('what shall I say?');
    const answered = asTask(await client.sendMessage(textRequest('say hi', { taskId: asked.id })));
    expect(answered.id).toBe(asked.id);
    expect(answered.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
    expect(answered.history.map(({ role }) => role)).toEqual([
      Role.ROLE_USER,
      Role.ROLE_AGENT,
      Role.ROLE_USER,
    ]);
  });

  it('X5 streams the turn after its reply to a question', async () => {
    const question = (await collect(client.sendMessageStream(textRequest('ask')))).at(-1)?.payload;
    expect(question?.$case === 'statusUpdate' && question.value.status?.state).toBe(
      TaskState.TASK_STATE_INPUT_REQUIRED,
    );
    const taskId = question?.$case === 'statusUpdate' ? question.value.taskId : '';
    const events = await collect(client.sendMessageStream(textRequest('say hi', { taskId })));
    const last = events.at(-1)?.payload;
    expect(last?.$case === 'statusUpdate' && last.value).toMatchObject({
      taskId,
      status: { state: TaskState.TASK_STATE_COMPLETED },
    });
  });

  it('X5 makes, reads, lists and deletes push configs', async () => {
    const { id: taskId } = asTask(await client.sendMessage(textRequest('ask')));
    const one = { tenant: '', taskId, id: 'b' };
    const config = (id: string) => ({ ...one, id, url: HOOK, token: '', authentication: undefined });
    for (const id of ['a', 'b']) {
      const made = await client.createTaskPushNotificationConfig(config(id));
      expect(made).toMatchObject({ taskId, id, url: HOOK });
    }
    expect(await client.getTaskPushNotificationConfig(one)).toMatchObject({ taskId, id: 'b', url: HOOK });
    const listed = async () => {
      const page = { tenant: '', taskId, pageSize: 10, pageToken: '' };
      return (await client.listTaskPushNotificationConfig(page)).configs.map(({ id }) => id);
    };
    expect(await listed()).toEqual(['a', 'b']);
    await client.deleteTaskPushNotificationConfig(one);
    expect(await listed()).toEqual(['a']);
    await expect(client.getTaskPushNotificationConfig(one)).rejects.toMatchObject({
      name: expect.stringContaining('TaskNotFoundError'),
    });
  });

  it.each([
    [
      'a task that does not exist',
      (c: Client) => c.getTask({ tenant: '', id: newId() }),
      'TaskNotFoundError',
    ],
    [
      'a subscription to a task that has ended',
      async (c: Client) => {
        const { id } = asTask(await c.sendMessage(textRequest('say done')));
        return collect(c.resubscribeTask({ tenant: '', id }));
      },
      'UnsupportedOperationError',
    ],
    [
      'a media type that the agent does not take',
      (c: Client) => {
        const content = { $case: 'raw' as const, value: Buffer.from('x') };
        const image = { content, metadata: undefined, filename: '', mediaType: 'image/png' };
        return c.sendMessage(partsRequest([image]));
      },
      'ContentTypeNotSupportedError',
    ],
  ])('X5 gets the typed error for %s', async (_what, call, name) => {
    await expect(call(client)).rejects.toMatchObject({ name: expect.stringContaining(name) });
  });
});
