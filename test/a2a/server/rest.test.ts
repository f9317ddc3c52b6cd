import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { A2aNode } from '../../support/a2a-node.js';
import { startA2aNode } from '../../support/a2a-node.js';
import { ask, rpc, sseEvents, taskIn, userMessage } from '../../support/a2a-requests.js';
import { scriptedAgent } from '../../support/scripted-agent.js';

let node: A2aNode;

beforeAll(async () => {
  node = await startA2aNode({ agents: [scriptedAgent('lango-agent'), scriptedAgent('operator')] });
});

afterAll(() => node.stop());

describe.each(['', '/agents/operator'])('X5 HTTP+JSON below "%s"', (base) => {
  it('sends, gets and lists', async () => {
    const sent = await ask(node, `${base}/message:send`, {
      body: userMessage('say hi', { contextId: `c${base.length}` }),
    });
    expect(sent.status).toBe(200);
    expect(sent.headers.get('content-type')).toBe('application/a2a+json');
    // Go's SDK accepts no other type than plain JSON.
    const plain = await ask(node, `${base}/tasks/none`, { headers: { accept: 'application/json' } });
    expect([plain.status, plain.headers.get('content-type')]).toEqual([404, 'application/json']);
    const { task } = sent.json;
    expect(task.artifacts[0]?.parts).toEqual([{ text: 'hi' }]);
    expect((await ask(node, `${base}/tasks/${task.id}`)).json.artifacts).toEqual(task.artifacts);
    expect((await ask(node, `${base}/tasks/${task.id}?historyLength=0`)).json.history).toBeUndefined();
    const listed = await ask(
      node,
      `${base}/tasks?contextId=c${base.length}&pageSize=1&status=TASK_STATE_COMPLETED`,
    );
    expect(listed.json).toMatchObject({
      totalSize: 1,
      pageSize: 1,
      nextPageToken: '',
      tasks: [{ id: task.id }],
    });
  });

  it('streams bare events', async () => {
    const reply = await ask(node, `${base}/message:stream`, { body: userMessage('say hi') });
    expect(reply.headers.get('content-type')).toBe('text/event-stream');
    const events = sseEvents(reply.text);
    expect(events[0]?.data.task.status.state).toBe('TASK_STATE_SUBMITTED');
    expect(events.at(-1)?.data.statusUpdate.status.state).toBe('TASK_STATE_COMPLETED');
  });

  it.each(['GET', 'POST'])('subscribes with %s and cancels without a body', async (method) => {
    const body = { ...userMessage('wait'), configuration: { returnImmediately: true } };
    const { id } = (await ask(node, `${base}/message:send`, { body })).json.task;
    await taskIn(node, id, 'working');
    const subscription = ask(node, `${base}/tasks/${id}:subscribe`, { method });
    // Go's SDK sends null for no body.
    const nothing = method === 'GET' ? {} : { body: null };
    const canceled = await ask(node, `${base}/tasks/${id}:cancel`, { method: 'POST', ...nothing });
    expect(canceled.json.status.state).toBe('TASK_STATE_CANCELED');
    const reply = await subscription;
    if (reply.status === 200) {
      expect(sseEvents(reply.text).at(-1)?.data.statusUpdate.status.state).toBe('TASK_STATE_CANCELED');
    } else {
      // The cancel was faster than the subscription.
      expect(reply.json.error.details[0]?.reason).toBe('UNSUPPORTED_OPERATION');
    }
  });
});

describe('X5 errors over HTTP+JSON', () => {
  it.each([
    ['GET /tasks/unknown', [404, 'NOT_FOUND', 'TASK_NOT_FOUND']],
    ['POST /tasks/unknown:cancel', [404, 'NOT_FOUND', 'TASK_NOT_FOUND']],
    ['GET /tasks?pageSize=0', [400, 'INVALID_ARGUMENT', 'INVALID_PARAMS']],
    ['GET /tasks?pageSize=ten', [400, 'INVALID_ARGUMENT', 'INVALID_PARAMS']],
    ['GET /tasks?includeArtifacts=perhaps', [400, 'INVALID_ARGUMENT', 'INVALID_PARAMS']],
    ['GET /tasks?pageToken=forged', [400, 'INVALID_ARGUMENT', 'INVALID_PARAMS']],
  ] as const)('have their status and reason: %s %j', async (call, [code, status, reason]) => {
    const [method, path] = call.split(' ') as [string, string];
    for (const base of ['', '/agents/operator']) {
      const reply = await ask(node, base + path, { method });
      expect(reply.status).toBe(code);
      expect(reply.json.error).toMatchObject({ code, status });
      expect(reply.json.error.details[0]).toMatchObject({ reason, domain: 'a2a-protocol.org' });
    }
  });

  it('refuse the wrong method and name the right ones', async () => {
    const reply = await ask(node, '/message:send');
    expect([reply.status, reply.headers.get('allow')]).toEqual([405, 'POST']);
    const endpoint = await ask(node, '/agents/operator');
    expect([endpoint.status, endpoint.headers.get('allow')]).toEqual([405, 'POST']);
  });

  it('cover tenants, unknown paths and unknown agents with 404', async () => {
    for (const path of [
      '/agents/operator/acme/message:send',
      '/agents/operator/nothing',
      '/agents/nobody/tasks',
    ]) {
      const reply = await ask(node, path, { body: userMessage('say x') });
      expect(reply.status).toBe(404);
      expect(reply.json.error).toMatchObject({ code: 404, status: 'NOT_FOUND', details: [] });
    }
  });

  it('are not used on other paths of the host', async () => {
    for (const path of ['/', '/health', '/agents', '/acme/tasks']) {
      expect((await ask(node, path)).headers.get('content-type')).not.toBe('application/a2a+json');
    }
  });

  it('ask for a token on every path but the public ones', async () => {
    for (const path of [
      '/tasks',
      '/tasks/x',
      '/tasks/x:subscribe',
      '/extendedAgentCard',
      '/agents/operator/tasks',
    ]) {
      const reply = await ask(node, path, { token: null });
      expect([reply.status, reply.json.error.status]).toEqual([401, 'UNAUTHENTICATED']);
      expect(reply.headers.get('www-authenticate')).toContain('Bearer');
    }
  });

  it('refuse a body whose media type is not JSON', async () => {
    const reply = await ask(node, '/message:send', {
      raw: 'a=b',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    });
    expect(reply.json.error.details[0]?.reason).toBe('CONTENT_TYPE_NOT_SUPPORTED');
  });

  it('refuse a body that is too large', async () => {
    const reply = await ask(node, '/message:send', { body: userMessage('x'.repeat(2 * 1024 * 1024)) });
    expect([reply.status, reply.json.error.status]).toEqual([413, 'RESOURCE_EXHAUSTED']);
  });

  it('have the message and details of JSON-RPC', async () => {
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x', url: 'https://example.com' }] };
    const rest = await ask(node, '/message:send', { body: { message } });
    const jsonRpc = await rpc(node, 'SendMessage', { message });
    expect(rest.json.error.message).toBe(jsonRpc.json.error.message);
    expect(rest.json.error.details).toEqual(jsonRpc.json.error.data);
  });
});

it('X5 a node that does not know its callers has no extended card', async () => {
  const open = await startA2aNode({ agents: [scriptedAgent('root')], auth: 'none' });
  try {
    const reply = await ask(open, '/extendedAgentCard');
    expect(reply.status).toBe(400);
    expect(reply.json.error.details[0]).toMatchObject({ reason: 'UNSUPPORTED_OPERATION' });
  } finally {
    await open.stop();
  }
});
