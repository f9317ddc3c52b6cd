import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parseAs } from '../../../src/a2a/server/proto-json.js';
import { REQUESTS } from '../../../src/a2a/server/requests.js';
import type { A2aNode } from '../../support/a2a-node.js';
import { startA2aNode } from '../../support/a2a-node.js';
import { rpc } from '../../support/a2a-requests.js';
import { scriptedAgent } from '../../support/scripted-agent.js';

let node: A2aNode;

beforeAll(async () => {
  node = await startA2aNode({ agents: [scriptedAgent('lango-agent')] });
});

afterAll(() => node.stop());

const TEXT = [{ text: 'say x' }];
const MESSAGE = { messageId: 'm1', role: 'ROLE_USER', parts: TEXT };

function part(value: unknown): object {
  return { message: { ...MESSAGE, parts: [value] } };
}

function configuration(value: object): object {
  return { message: MESSAGE, configuration: value };
}

it('a message of texts alone reads the same with the schema and without it', () => {
  const { codec, schema, isUsual } = REQUESTS.SendMessage;
  const message = { ...MESSAGE, contextId: 'c', taskId: 't', parts: [...TEXT, { text: '' }] };
  for (const params of [{ message: MESSAGE }, { message }]) {
    expect(isUsual?.(params)).toBe(true);
    expect(codec.fromJSON(params)).toEqual(codec.fromJSON(parseAs(schema, params)));
  }
});

describe('X5 an invalid request', () => {
  it.each<[string, unknown, string]>([
    ['no message', {}, 'message'],
    ['a message that is text', { message: 'hi' }, 'message'],
    ['no message id', { message: { ...MESSAGE, messageId: undefined } }, 'message.messageId'],
    ['an empty message id', { message: { ...MESSAGE, messageId: '' } }, 'message.messageId'],
    ['a message id that is a number', { message: { ...MESSAGE, messageId: 1 } }, 'message.messageId'],
    [
      'a message id that is too long',
      { message: { ...MESSAGE, messageId: 'x'.repeat(257) } },
      'message.messageId',
    ],
    ['no role', { message: { ...MESSAGE, role: undefined } }, 'message.role'],
    ['the role of the agent', { message: { ...MESSAGE, role: 'ROLE_AGENT' } }, 'message.role'],
    ['an unknown role', { message: { ...MESSAGE, role: 'user' } }, 'message.role'],
    ['no parts', { message: { ...MESSAGE, parts: undefined } }, 'message.parts'],
    ['empty parts', { message: { ...MESSAGE, parts: [] } }, 'message.parts'],
    ['parts that are no list', { message: { ...MESSAGE, parts: {} } }, 'message.parts'],
    ['too many parts', { message: { ...MESSAGE, parts: Array(257).fill({ text: 'x' }) } }, 'message.parts'],
    ['a part that is text', part('hi'), 'message.parts.0'],
    ['a part without content', part({}), 'message.parts.0'],
    ['a part with two contents', part({ text: 'x', data: {} }), 'message.parts.0'],
    ['a part whose text is a number', part({ text: 5 }), 'message.parts.0.text'],
    ['bytes that are not base64', part({ raw: 'no base64!' }), 'message.parts.0.raw'],
    ['bytes cut off in the middle', part({ raw: 'AAAAA' }), 'message.parts.0.raw'],
    ['a file URL', part({ url: 'file:///etc/passwd' }), 'message.parts.0.url'],
    ['a relative URL', part({ url: '/etc/passwd' }), 'message.parts.0.url'],
    ['part metadata that is a list', part({ text: 'x', metadata: [] }), 'message.parts.0.metadata'],
    [
      'a context id that is too long',
      { message: { ...MESSAGE, contextId: 'x'.repeat(257) } },
      'message.contextId',
    ],
    ['a task id that is a number', { message: { ...MESSAGE, taskId: 3 } }, 'message.taskId'],
    ['metadata that is text', { message: { ...MESSAGE, metadata: 'x' } }, 'message.metadata'],
    [
      'reference ids that are no texts',
      { message: { ...MESSAGE, referenceTaskIds: [1] } },
      'message.referenceTaskIds.0',
    ],
    ['a tenant', { message: MESSAGE, tenant: 'acme' }, 'tenant'],
    ['a negative history length', configuration({ historyLength: -1 }), 'configuration.historyLength'],
    ['a broken history length', configuration({ historyLength: 1.5 }), 'configuration.historyLength'],
    [
      'returnImmediately as text',
      configuration({ returnImmediately: 'soon' }),
      'configuration.returnImmediately',
    ],
  ])('is refused and stores nothing: %s', async (_what, params, field) => {
    const reply = await rpc(node, 'SendMessage', params);
    expect(reply.json.error.code).toBe(-32602);
    const fields = reply.json.error.data[1]?.fieldViolations.map(({ field: name }) => name);
    expect(fields).toContain(field);
    const stream = await rpc(node, 'SendStreamingMessage', params);
    expect(stream.json.error.code).toBe(-32602);
    expect((await rpc(node, 'ListTasks')).json.result.totalSize).toBe(0);
  });

  it.each<[string, object, number]>([
    ['an image for an agent that reads text', part({ raw: 'AAAA', mediaType: 'image/png' }), -32005],
    ['bytes without a media type', part({ raw: 'AAAA' }), -32005],
    ['text of another type', part({ text: '<p>', mediaType: 'text/html' }), -32005],
    ['output modes the agent does not have', configuration({ acceptedOutputModes: ['video/mp4'] }), -32005],
    [
      'a push notification config inside',
      configuration({ taskPushNotificationConfig: { url: 'https://example.com' } }),
      -32003,
    ],
    ['a task that is not there', { message: { ...MESSAGE, taskId: 'nothing' } }, -32001],
  ])('is refused and stores nothing: %s', async (_what, params, code) => {
    expect((await rpc(node, 'SendMessage', params)).json.error.code).toBe(code);
    expect((await rpc(node, 'SendStreamingMessage', params)).json.error.code).toBe(code);
    expect((await rpc(node, 'ListTasks')).json.result.totalSize).toBe(0);
  });

  it.each<[string, object, string]>([
    ['GetTask with no id', {}, 'id'],
    ['GetTask with an id that is too long', { id: 'x'.repeat(257) }, 'id'],
    ['GetTask with a history length below 0', { id: 'x', historyLength: -1 }, 'historyLength'],
    ['CancelTask with no id', {}, 'id'],
    ['SubscribeToTask with no id', {}, 'id'],
    ['ListTasks with an unknown state', { status: 'DONE' }, 'status'],
    ['ListTasks with a page of nothing', { pageSize: 0 }, 'pageSize'],
    ['ListTasks with a page that is too large', { pageSize: 101 }, 'pageSize'],
    ['ListTasks with a time that is none', { statusTimestampAfter: 'yesterday' }, 'statusTimestampAfter'],
    [
      'ListTasks with a date that does not exist',
      { statusTimestampAfter: '2026-13-01T00:00:00Z' },
      'statusTimestampAfter',
    ],
    ['GetExtendedAgentCard with a tenant', { tenant: 'acme' }, 'tenant'],
  ])('is refused with the name of the field: %s', async (call, params, field) => {
    const method = call.split(' ')[0]!;
    const { error } = (await rpc(node, method, params)).json;
    expect(error.code).toBe(-32602);
    expect(error.data[1]?.fieldViolations[0]?.field).toBe(field);
  });
});

describe('X5 a request in any form of ProtoJSON', () => {
  it.each<[string, object]>([
    ['enums as numbers', { message: { ...MESSAGE, messageId: 'a', role: 1 } }],
    [
      'members in snake case',
      { message: { message_id: 'b', role: 'ROLE_USER', parts: TEXT, context_id: 'snake' } },
    ],
    [
      'null for absent',
      { message: { ...MESSAGE, messageId: 'c', contextId: null, metadata: null }, configuration: null },
    ],
    ['members nobody knows', { message: { ...MESSAGE, messageId: 'd', kind: 'message' }, future: 1 }],
    [
      'whole numbers as text',
      { message: { ...MESSAGE, messageId: 'e' }, configuration: { historyLength: '1' } },
    ],
    ['data', { message: { ...MESSAGE, messageId: 'f', parts: [...TEXT, { data: { a: [1] } }] } }],
    [
      'a media type with parameters',
      {
        message: {
          ...MESSAGE,
          messageId: 'g',
          parts: [{ text: 'say x', mediaType: 'Text/Plain; charset=utf-8' }],
        },
      },
    ],
    [
      'output modes with a wildcard',
      { message: { ...MESSAGE, messageId: 'h' }, configuration: { acceptedOutputModes: ['text/*'] } },
    ],
    [
      'ids of 256 characters',
      { message: { ...MESSAGE, messageId: 'x'.repeat(256), contextId: 'y'.repeat(256) } },
    ],
  ])('may hold %s', async (_what, params) => {
    expect((await rpc(node, 'SendMessage', params)).json.result.task.status.state).toBe(
      'TASK_STATE_COMPLETED',
    );
  });

  it('may hold states by their number in a list', async () => {
    expect((await rpc(node, 'ListTasks', { status: 4 })).json.result).toMatchObject({
      tasks: [],
      totalSize: 0,
    });
  });
});
