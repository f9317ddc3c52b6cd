import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Part } from '@a2a-js/sdk';
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
  partsRequest,
  textPart,
  textRequest,
} from './stock-client.js';

/** The optional parameters of the protocol's operations, as the client of the SDK sends them. */

let node: A2aNode;

beforeAll(async () => {
  node = await startA2aNode({ agents: [scriptedAgent('root')], grpc: true, push: true });
});

afterAll(() => node.stop());

const EVERYTHING = {
  tenant: '',
  contextId: '',
  status: TaskState.TASK_STATE_UNSPECIFIED,
  pageToken: '',
  statusTimestampAfter: undefined,
};

describe.each(['JSONRPC', 'HTTP+JSON', 'GRPC'])('a client of the stock SDK over %s', (transport) => {
  let client: Client;

  beforeAll(async () => {
    client = await clientFactory(transport).createFromUrl(node.origin);
  });

  const send = async (...sent: Parameters<typeof textRequest>) =>
    asTask(await client.sendMessage(textRequest(...sent)));

  it('X5 gets its task at once when it asks for that, and finds the task finished later', async () => {
    const sent = asTask(
      await client.sendMessage({ ...textRequest('say later'), configuration: RETURN_AT_ONCE }),
    );
    await taskIn(node, sent.id, 'completed');
    expect(answerOf(await client.getTask({ tenant: '', id: sent.id }))).toBe('later');
  });

  it('X5 polls when it is set to', async () => {
    const polling = await clientFactory(transport, { polling: true }).createFromUrl(node.origin);
    const sent = asTask(await polling.sendMessage(textRequest('wait')));
    await taskIn(node, sent.id, 'working');
    const found = await polling.getTask({ tenant: '', id: sent.id });
    expect(found.status?.state).toBe(TaskState.TASK_STATE_WORKING);
  });

  it('X5 gets as much of the history as it asks for', async () => {
    const asked = await send('ask');
    const { id } = await send('say hi', { taskId: asked.id });
    const roles = async (historyLength?: number) =>
      (await client.getTask({ tenant: '', id, historyLength })).history.map(({ role }) => role);
    const [user, agent] = [Role.ROLE_USER, Role.ROLE_AGENT];
    expect(await roles()).toEqual([user, agent, user]);
    expect(await roles(2)).toEqual([agent, user]);
    expect(await roles(0)).toEqual([]);
    const configuration = { ...RETURN_AT_ONCE, returnImmediately: false, historyLength: 0 };
    const none = asTask(await client.sendMessage({ ...textRequest('say x'), configuration }));
    expect(none.history).toEqual([]);
  });

  it('X5 lists page by page', async () => {
    const contextId = newId();
    const sent: string[] = [];
    for (const text of ['say 1', 'say 2', 'ask', 'say 4', 'say 5']) {
      sent.unshift((await send(text, { contextId })).id);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    const listed: string[] = [];
    let pageToken = '';
    do {
      const page = await client.listTasks({ ...EVERYTHING, contextId, pageSize: 2, pageToken });
      expect([page.totalSize, page.pageSize]).toEqual([5, 2]);
      listed.push(...page.tasks.map(({ id }) => id));
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    expect(listed).toEqual(sent);
  });

  it('X5 lists by state and from a given time on, with artifacts and history when it asks for them', async () => {
    const contextId = newId();
    await send('say old', { contextId });
    await send('ask', { contextId });
    await new Promise((resolve) => setTimeout(resolve, 5));
    const newest = await send('say new', { contextId });
    const status = TaskState.TASK_STATE_COMPLETED;
    const completed = await client.listTasks({ ...EVERYTHING, contextId, status });
    expect(completed.tasks.map(({ artifacts, history }) => [artifacts, history])).toEqual([
      [[], []],
      [[], []],
    ]);
    const { tasks } = await client.listTasks({
      ...EVERYTHING,
      ...{ contextId, status, statusTimestampAfter: newest.status!.timestamp },
      ...{ includeArtifacts: true, historyLength: 1 },
    });
    expect(tasks.map((task) => [task.id, answerOf(task), task.history.length])).toEqual([
      [newest.id, 'new', 1],
    ]);
  });

  it('X5 sends text, data, bytes and a link, and gets them back unchanged', async () => {
    const part = (content: Part['content'], more: Partial<Part> = {}): Part => ({
      ...{ content, metadata: undefined, filename: '', mediaType: 'text/plain' },
      ...more,
    });
    const parts = [
      part(
        { $case: 'data', value: { a: [1, null, 'x'], b: { c: true } } },
        { mediaType: 'application/json' },
      ),
      part({ $case: 'raw', value: Buffer.from([0, 255, 10]) }, { filename: 'bytes.txt' }),
      part({ $case: 'url', value: 'https://files.example/a.txt' }, { metadata: { of: 'a' } }),
    ];
    const task = asTask(await client.sendMessage(partsRequest([textPart('echo'), ...parts])));
    const plain = (list: readonly Part[]) =>
      list.map(({ content, ...more }): readonly unknown[] => [
        content?.$case === 'raw' ? [...content.value] : content?.value,
        more.filename,
        more.mediaType,
        more.metadata ?? {},
      ]);
    expect(plain(task.artifacts[0]!.parts)).toEqual(plain(parts));
    expect(plain(task.history[0]!.parts.slice(1))).toEqual(plain(parts));
  });

  it('X5 gets the file that an agent made', async () => {
    const [artifact] = (await send('file')).artifacts;
    expect(artifact?.parts[0]).toMatchObject({ filename: 'pixel.png', mediaType: 'image/png' });
    const content = artifact?.parts[0]?.content;
    expect(content?.$case === 'raw' && Buffer.from(content.value).toString('base64')).toBe('iVBORw0KGgo=');
  });

  it('X5 names a webhook for a task inside the message', async () => {
    const config = {
      ...{ tenant: '', taskId: '', id: 'mine', url: 'https://receiver.example/hook' },
      ...{ token: 'for-the-receiver', authentication: undefined },
    };
    const configuration = { ...RETURN_AT_ONCE, taskPushNotificationConfig: config };
    const { id: taskId } = asTask(await client.sendMessage({ ...textRequest('ask'), configuration }));
    const page = { tenant: '', taskId, pageSize: 10, pageToken: '' };
    const { configs } = await client.listTaskPushNotificationConfig(page);
    expect(configs.map(({ id, url }) => ({ id, url }))).toEqual([{ id: config.id, url: config.url }]);
  });

  it('X5 repeats a message after a lost response, and has one task', async () => {
    const request = textRequest('say once');
    const [first, second] = [await client.sendMessage(request), await client.sendMessage(request)];
    expect(asTask(second).id).toBe(asTask(first).id);
  });

  it('X5 continues a conversation by its context', async () => {
    const first = await send('say one');
    const second = await send('say two', { contextId: first.contextId });
    expect([second.contextId, second.id === first.id]).toEqual([first.contextId, false]);
  });
});
