import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '../../../src/core/ids.js';
import type { A2aNode } from '../../support/a2a-node.js';
import { startA2aNode } from '../../support/a2a-node.js';
import { ask, rpc, sseEvents, userMessage } from '../../support/a2a-requests.js';
import { scriptedAgent } from '../../support/scripted-agent.js';

/** Lines of docs/a2a-conformance.md: what the stock server does wrong must not be true of ours. */

let node: A2aNode;

beforeAll(async () => {
  const silent = scriptedAgent('silent', () => Promise.resolve({ state: 'completed' }));
  node = await startA2aNode({ agents: [scriptedAgent('root'), silent] });
});

afterAll(() => node.stop());

const MESSAGE = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'say x' }] };

it.each([
  ['no parts', { ...MESSAGE, parts: [] }],
  ['a part of a wrong type', { ...MESSAGE, parts: ['x'] }],
  ['no role', { ...MESSAGE, role: undefined }],
  ['the role of an agent', { ...MESSAGE, role: 'ROLE_AGENT' }],
  ['a part without content', { ...MESSAGE, parts: [{}] }],
  ['a part with two contents', { ...MESSAGE, parts: [{ text: 'x', url: 'https://x.example' }] }],
  ['bad base64', { ...MESSAGE, parts: [{ raw: '!!' }] }],
])('3.1 #11 refuses a message with %s, and stores nothing', async (_what, message) => {
  const { json } = await rpc(node, 'SendMessage', { message: { ...message, contextId: 'of-11' } });
  expect(json.error.code).toBe(-32602);
  expect((await rpc(node, 'ListTasks', { contextId: 'of-11' })).json.result.totalSize).toBe(0);
});

it('3.1 #12 answers -32600 to what is no JSON-RPC request, and nothing to a notification', async () => {
  const wrong = await ask(node, '/', { body: { method: 'GetTask', id: 1 } });
  expect(wrong.json.error.code).toBe(-32600);
  const silent = await ask(node, '/', { body: { jsonrpc: '2.0', method: 'GetTask', params: { id: 'x' } } });
  expect([silent.status, silent.text]).toEqual([204, '']);
});

it('3.1 #13 lists from a time on, that time included', async () => {
  const contextId = newId();
  const sent = await rpc(node, 'SendMessage', userMessage('say x', { contextId }));
  const { timestamp } = sent.json.result.task.status as unknown as { readonly timestamp: string };
  const page = await rpc(node, 'ListTasks', { contextId, statusTimestampAfter: timestamp });
  expect(page.json.result.totalSize).toBe(1);
});

it('3.1 #14 goes on with the next page when the last task of a page changed meanwhile', async () => {
  const contextId = newId();
  const ids: string[] = [];
  for (let i = 0; i < 4; i += 1) {
    const { json } = await rpc(node, 'SendMessage', userMessage('ask', { contextId }));
    ids.push(json.result.task.id);
  }
  const first = (await rpc(node, 'ListTasks', { contextId, pageSize: 2 })).json.result;
  const cursor = first.tasks.at(-1)!.id;
  await rpc(node, 'SendMessage', userMessage('say moved on', { contextId, taskId: cursor }));
  const pageToken = first.nextPageToken;
  const second = (await rpc(node, 'ListTasks', { contextId, pageSize: 2, pageToken })).json.result;
  expect(second.tasks.map(({ id }) => id)).toEqual([ids[1], ids[0]]);
});

it('3.1 #16 refuses a push config inside a message when the agent sends no push notifications', async () => {
  const configuration = { taskPushNotificationConfig: { url: 'https://hooks.example/x' } };
  const { json } = await rpc(node, 'SendMessage', {
    ...userMessage('say x', { contextId: 'of-16' }),
    configuration,
  });
  expect(json.error.code).toBe(-32003);
  expect((await rpc(node, 'ListTasks', { contextId: 'of-16' })).json.result.totalSize).toBe(0);
});

it('3.1 #17 reads the body of a REST cancel', async () => {
  const configuration = { returnImmediately: true };
  const { json } = await rpc(node, 'SendMessage', { ...userMessage('wait'), configuration });
  const path = `/tasks/${json.result.task.id}:cancel`;
  const odd = await ask(node, path, { body: { metadata: 'not an object' } });
  expect(odd.json.error.details[1]?.fieldViolations[0]?.field).toBe('metadata');
  const canceled = await ask(node, path, { body: { metadata: { why: 'enough' } } });
  expect([canceled.status, canceled.json.status.state]).toEqual([200, 'TASK_STATE_CANCELED']);
});

it('3.1 #18 has the activated extensions in the head of a stream, in one header', async () => {
  const headers = { 'A2A-Extensions': 'urn:lango:a2a:author:v1,urn:lango:a2a:cursor:v1' };
  const body = { jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params: userMessage('say x') };
  const reply = await ask(node, '/', { body, headers });
  expect(reply.headers.get('content-type')).toBe('text/event-stream');
  expect(reply.headers.get('a2a-extensions')).toBe('urn:lango:a2a:author:v1, urn:lango:a2a:cursor:v1');
});

describe('3.1 #20 an agent that says nothing', () => {
  it('still has a stream that begins with its task and ends with its end', async () => {
    const reply = await ask(node, '/agents/silent/message:stream', { body: userMessage('x') });
    const events = sseEvents(reply.text).map(({ data }) => data);
    expect(events[0]?.task).toBeDefined();
    expect(events.at(-1)?.statusUpdate.status.state).toBe('TASK_STATE_COMPLETED');
  });
});
