import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { StreamResponse, Task } from '@a2a-js/sdk';
import { Role, TaskState } from '@a2a-js/sdk';
import type { Client } from '@a2a-js/sdk/client';
import {
  ClientFactory,
  ClientFactoryOptions,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client';
import { newId } from '../../../src/core/ids.js';
import type { A2aNode } from '../../support/a2a-node.js';
import { TOKEN, startA2aNode } from '../../support/a2a-node.js';
import { taskIn } from '../../support/a2a-requests.js';
import { scriptedAgent } from '../../support/scripted-agent.js';

let node: A2aNode;

beforeAll(async () => {
  node = await startA2aNode({ agents: [scriptedAgent('lango-orchestrator'), scriptedAgent('operator')] });
});

afterAll(() => node.stop());

const withToken: typeof fetch = (input, init) =>
  fetch(input, {
    ...init,
    headers: { ...(init?.headers as Record<string, string>), Authorization: `Bearer ${TOKEN}` },
  });

function factory(transport: string): ClientFactory {
  return new ClientFactory(
    ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
      transports: [
        new JsonRpcTransportFactory({ fetchImpl: withToken }),
        new RestTransportFactory({ fetchImpl: withToken }),
      ],
      preferredTransports: [transport],
    }),
  );
}

function request(text: string, place: { readonly taskId?: string; readonly contextId?: string } = {}) {
  return {
    tenant: '',
    message: {
      messageId: newId(),
      role: Role.ROLE_USER,
      parts: [
        {
          content: { $case: 'text' as const, value: text },
          metadata: undefined,
          filename: '',
          mediaType: '',
        },
      ],
      contextId: place.contextId ?? '',
      taskId: place.taskId ?? '',
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    },
    configuration: undefined,
    metadata: undefined,
  };
}

const RETURN_AT_ONCE = {
  acceptedOutputModes: [],
  taskPushNotificationConfig: undefined,
  returnImmediately: true,
};

function asTask(result: unknown): Task {
  expect(result).toHaveProperty('status');
  return result as Task;
}

function answerOf(task: Task): string {
  return task.artifacts
    .flatMap(({ parts }) => parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')))
    .join('');
}

async function collect(stream: AsyncIterable<StreamResponse>): Promise<StreamResponse[]> {
  const events: StreamResponse[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

describe.each(['JSONRPC', 'HTTP+JSON'])('a client of the stock SDK over %s', (transport) => {
  let client: Client;

  beforeAll(async () => {
    client = await factory(transport).createFromUrl(node.origin);
  });

  it('X1 finds the root agent by the host alone, and each agent by its own card', async () => {
    expect((await client.getAgentCard()).name).toBe('lango-orchestrator');
    const operator = await factory(transport).createFromUrl(`${node.origin}/agents/operator/`);
    expect((await operator.getAgentCard()).name).toBe('operator');
    expect(answerOf(asTask(await operator.sendMessage(request('say hello'))))).toBe('hello');
  });

  it('X5 sends a message and gets the finished task with its artifact', async () => {
    const task = asTask(await client.sendMessage(request('say good morning')));
    expect(task.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
    expect(answerOf(task)).toBe('good morning');
    expect(task.history.map(({ role }) => role)).toEqual([Role.ROLE_USER]);
  });

  it('X5 streams: the task first, then what happens, the end last', async () => {
    const events = await collect(client.sendMessageStream(request('chunks 3')));
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
      await client.sendMessage(request('say listed', { contextId: `context-of-${transport}` })),
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
    const sent = asTask(await client.sendMessage({ ...request('wait'), configuration: RETURN_AT_ONCE }));
    expect(sent.status?.state).toBe(TaskState.TASK_STATE_SUBMITTED);
    const canceled = asTask(await client.cancelTask({ tenant: '', id: sent.id, metadata: undefined }));
    expect(canceled.status?.state).toBe(TaskState.TASK_STATE_CANCELED);
    await expect(client.sendMessage(request('more', { taskId: sent.id }))).rejects.toMatchObject({
      name: expect.stringContaining('UnsupportedOperationError'),
    });
  });

  it('X5 subscribes to a running task and sees its end', async () => {
    const sent = asTask(await client.sendMessage({ ...request('wait'), configuration: RETURN_AT_ONCE }));
    await taskIn(node, sent.id, 'working');
    const stream = client.resubscribeTask({ tenant: '', id: sent.id });
    const first = await stream.next();
    expect(first.value?.payload?.$case).toBe('task');
    const rest = collect(stream);
    await client.cancelTask({ tenant: '', id: sent.id, metadata: undefined });
    const last = (await rest).at(-1)?.payload;
    expect(last?.$case === 'statusUpdate' && last.value.status?.state).toBe(TaskState.TASK_STATE_CANCELED);
  });

  it('X5 answers a question in a second turn of the same task', async () => {
    const asked = asTask(await client.sendMessage(request('ask')));
    expect(asked.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
    expect(asked.status?.message?.parts[0]?.content?.value).toBe('what shall I say?');
    const answered = asTask(await client.sendMessage(request('say hi', { taskId: asked.id })));
    expect(answered.id).toBe(asked.id);
    expect(answered.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
    expect(answered.history.map(({ role }) => role)).toEqual([
      Role.ROLE_USER,
      Role.ROLE_AGENT,
      Role.ROLE_USER,
    ]);
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
        const { id } = asTask(await c.sendMessage(request('say done')));
        return collect(c.resubscribeTask({ tenant: '', id }));
      },
      'UnsupportedOperationError',
    ],
    [
      'a media type that the agent does not take',
      (c: Client) => {
        const image = {
          content: { $case: 'raw' as const, value: Buffer.from('x') },
          metadata: undefined,
          filename: '',
          mediaType: 'image/png',
        };
        const { message, ...rest } = request('');
        return c.sendMessage({ ...rest, message: { ...message, parts: [image] } });
      },
      'ContentTypeNotSupportedError',
    ],
  ])('X5 gets the typed error for %s', async (_what, call, name) => {
    await expect(call(client)).rejects.toMatchObject({ name: expect.stringContaining(name) });
  });
});
