import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { A2aNode } from '../../support/a2a-node.js';
import { startA2aNode } from '../../support/a2a-node.js';
import { ask, rpc, sseEvents, userMessage } from '../../support/a2a-requests.js';
import { RecordingLogger } from '../../support/recording-logger.js';
import { scriptedAgent } from '../../support/scripted-agent.js';

let node: A2aNode;
const logger = new RecordingLogger();

beforeAll(async () => {
  node = await startA2aNode({ agents: [scriptedAgent('lango-agent'), scriptedAgent('vault')], logger });
});

afterAll(() => node.stop());

const SEND = { jsonrpc: '2.0', id: 1, method: 'SendMessage' };

describe('X5 JSON-RPC strictness', () => {
  it.each([
    ['no JSON at all', '{"jsonrpc":', -32700],
    ['an empty body', '', -32700],
    ['JSON that is too deep', '['.repeat(100) + ']'.repeat(100), -32700],
    [
      'a number that JSON cannot hold',
      JSON.stringify({ ...SEND, params: 1 }).replace(/1}$/, '{"x":1e400}}'),
      -32700,
    ],
    ['a batch', JSON.stringify([SEND]), -32600],
    ['a bare value', '"SendMessage"', -32600],
    ['another version of JSON-RPC', JSON.stringify({ ...SEND, jsonrpc: '1.0' }), -32600],
    ['no version of JSON-RPC', JSON.stringify({ id: 1, method: 'SendMessage' }), -32600],
    ['an id that is an object', JSON.stringify({ ...SEND, id: {} }), -32600],
    ['an id that is a boolean', JSON.stringify({ ...SEND, id: true }), -32600],
    ['no method', JSON.stringify({ jsonrpc: '2.0', id: 1 }), -32600],
    ['an unknown method', JSON.stringify({ ...SEND, method: 'message/sendTo' }), -32601],
    ['a method named like a member of Object', JSON.stringify({ ...SEND, method: 'constructor' }), -32601],
    ['params by position', JSON.stringify({ ...SEND, params: [1] }), -32602],
    ['no params where some are needed', JSON.stringify(SEND), -32602],
  ])('responds to %s with its own error', async (_what, raw, code) => {
    const reply = await ask(node, '/', {
      raw,
      headers: { 'Content-Type': 'application/json' },
      method: 'POST',
    });
    expect(reply.json.error.code).toBe(code);
    expect(reply.json.jsonrpc).toBe('2.0');
    expect(reply.headers.get('content-type')).toBe('application/json');
  });

  it('returns the id as it came, and null when no id could be read', async () => {
    for (const id of [0, 'seven', 1.5, null]) {
      const reply = await ask(node, '/', {
        body: { jsonrpc: '2.0', id, method: 'GetTask', params: { id: 'x' } },
      });
      expect(reply.json).toMatchObject({ id, error: { code: -32001 } });
    }
    expect((await ask(node, '/', { body: [] })).json.id).toBeNull();
  });

  it('executes a notification and sends no response, even when it fails', async () => {
    const sent = await ask(node, '/', {
      body: { jsonrpc: '2.0', method: 'SendMessage', params: userMessage('wait', { contextId: 'notified' }) },
    });
    expect([sent.status, sent.text]).toEqual([204, '']);
    const listed = await rpc(node, 'ListTasks', { contextId: 'notified' });
    expect(listed.json.result.tasks).toHaveLength(1);
    await rpc(node, 'CancelTask', { id: listed.json.result.tasks[0]?.id });
    const failed = await ask(node, '/', { body: { jsonrpc: '2.0', method: 'NoSuchMethod' } });
    expect([failed.status, failed.text]).toEqual([204, '']);
  });

  it('executes a streaming notification without a stream', async () => {
    const sent = await ask(node, '/', {
      body: {
        jsonrpc: '2.0',
        method: 'SendStreamingMessage',
        params: userMessage('say x', { contextId: 'quiet' }),
      },
    });
    expect(sent.status).toBe(204);
    expect((await rpc(node, 'ListTasks', { contextId: 'quiet' })).json.result.totalSize).toBe(1);
  });

  it('names each wrong field', async () => {
    const reply = await rpc(node, 'SendMessage', {
      message: { messageId: '', parts: [], role: 'ROLE_AGENT' },
    });
    const [info, badRequest] = reply.json.error.data;
    expect(info).toMatchObject({ reason: 'INVALID_PARAMS', domain: 'a2a-protocol.org' });
    expect(badRequest?.['@type']).toBe('type.googleapis.com/google.rpc.BadRequest');
    const fields = badRequest?.fieldViolations.map(({ field }) => field) ?? [];
    expect(fields.sort()).toEqual(['message.messageId', 'message.parts', 'message.role']);
  });
});

describe('X5 callers and versions', () => {
  it("refuse a call without a token with 401, a challenge and the protocol's shape, before the body is read", async () => {
    for (const token of [null, 'wrong']) {
      const reply = await ask(node, '/', { raw: 'not even JSON', token });
      expect(reply.status).toBe(401);
      expect(reply.headers.get('www-authenticate')).toContain('Bearer');
      expect(reply.json).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: -32000 } });
    }
  });

  it('include 1.0 with any patch digits, in a header or in the query, and a client that names none', async () => {
    const body = { jsonrpc: '2.0', id: 1, method: 'ListTasks' };
    for (const version of ['1.0', '1.0.7', '1', ' 1.0 ', '']) {
      const reply = await ask(node, '/', { body, headers: { 'A2A-Version': version } });
      expect(reply.json.result).toBeDefined();
    }
    expect((await ask(node, '/?A2A-Version=1.0', { body })).json.result).toBeDefined();
    expect((await ask(node, '/', { body })).json.result).toBeDefined();
  });

  it('get the active extensions in one header', async () => {
    const headers = {
      'A2A-Extensions': 'urn:lango:a2a:author:v1, urn:nobody:knows, urn:lango:a2a:cursor:v1',
    };
    const active = 'urn:lango:a2a:author:v1, urn:lango:a2a:cursor:v1';
    const plain = await ask(node, '/', { body: { ...SEND, params: userMessage('say x') }, headers });
    expect(plain.headers.get('a2a-extensions')).toBe(active);
    const body = { ...SEND, method: 'SendStreamingMessage', params: userMessage('say x') };
    expect((await ask(node, '/', { body, headers })).headers.get('a2a-extensions')).toBe(active);
  });
});

describe('X5 the report of a failure', () => {
  it('has status 404 and the shape of JSON-RPC for an unknown agent', async () => {
    const reply = await ask(node, '/agents/nobody', { body: { jsonrpc: '2.0', id: 7, method: 'ListTasks' } });
    expect(reply.status).toBe(404);
    expect(reply.json).toMatchObject({ jsonrpc: '2.0', error: { code: -32601 } });
  });

  it('hides the cause of a storage fault, and logs it in full', async () => {
    const broken = await startA2aNode({ agents: [scriptedAgent('lango-agent')], logger });
    await broken.storage.close();
    const reply = await rpc(broken, 'ListTasks');
    expect([reply.status, Number(reply.headers.get('retry-after')) > 0]).toEqual([503, true]);
    expect(reply.text).not.toMatch(/database|sqlite|stack|\.ts/i);
    await logger.saying('an A2A request failed');
    await broken.stop().catch(() => {});
  });

  it('ends the task of an agent that threw as failed, without the error message', async () => {
    const reply = await rpc(node, 'SendMessage', userMessage('fail'));
    expect(reply.json.result.task.status.state).toBe('TASK_STATE_FAILED');
    expect(reply.text).not.toContain('hunter2');
  });

  it('is plain JSON, not a stream, when it comes before the first event', async () => {
    const reply = await rpc(node, 'SubscribeToTask', { id: 'nothing' });
    expect(reply.headers.get('content-type')).toBe('application/json');
    expect(reply.json.error.code).toBe(-32001);
  });

  it('frames each event of a stream as a response to the request', async () => {
    const reply = await rpc(node, 'SendStreamingMessage', userMessage('say x'));
    const events = sseEvents(reply.text);
    expect(events.length).toBeGreaterThan(2);
    for (const { data } of events)
      expect(data).toMatchObject({ jsonrpc: '2.0', id: 7, result: expect.anything() });
  });
});
