import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { LegacyA2AService } from '@a2a-js/sdk/compat/v0_3/server/grpc';
import { Client, Metadata, credentials } from '@grpc/grpc-js';
import type { A2aNode } from '../../support/a2a-node.js';
import { TOKEN, startA2aNode } from '../../support/a2a-node.js';
import { ask, userMessage } from '../../support/a2a-requests.js';
import { scriptedAgent } from '../../support/scripted-agent.js';

let node: A2aNode;

beforeAll(async () => {
  node = await startA2aNode({ agents: [scriptedAgent('root'), scriptedAgent('operator')], grpc: true });
});

afterAll(() => node.stop());

const NEW = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: userMessage('say x') };
const OLD_MESSAGE = {
  kind: 'message',
  messageId: 'old-1',
  role: 'user',
  parts: [{ kind: 'text', text: 'say x' }],
};
const OLD = { jsonrpc: '2.0', id: 1, method: 'message/send', params: { message: OLD_MESSAGE } };
const OLD_REST = { message: { messageId: 'old-2', role: 'ROLE_USER', content: [{ text: 'say x' }] } };

function protoFile(file: object) {
  return { message: { messageId: 'm', role: 'ROLE_USER', content: [{ file }] } };
}

function named(version: string | undefined): Record<string, string> {
  return version === undefined ? {} : { 'A2A-Version': version };
}

describe('3.1 #15 the version that a client names', () => {
  it.each([
    ['1.0', NEW, 'TASK_STATE_COMPLETED'],
    ['1.0.3', NEW, 'TASK_STATE_COMPLETED'],
    ['1', NEW, 'TASK_STATE_COMPLETED'],
    [undefined, NEW, 'TASK_STATE_COMPLETED'],
    ['0.3', OLD, 'completed'],
    ['0.3.0', OLD, 'completed'],
    [undefined, OLD, 'completed'],
  ])('is read from a header of JSON-RPC: %s', async (version, body, state) => {
    const { json } = await ask(node, '/', { body, headers: named(version) });
    expect((json.result.task ?? json.result).status.state).toBe(state);
  });

  it.each([
    ['0.3', NEW, 'SendMessage'],
    ['1.0', OLD, 'message/send'],
  ])('has methods of its own: %s knows no %s', async (version, body) => {
    const { json } = await ask(node, '/', { body, headers: named(version) });
    expect(json.error.code).toBe(-32601);
    expect(json.error.message).toContain(`A2A ${version}`);
  });

  it.each(['1.1', '2.0', '0.2', 'one', '1.0-beta', '99999999999.0'])(
    'is refused when it is not supported: %s',
    async (version) => {
      const { json } = await ask(node, '/', { body: NEW, headers: named(version) });
      expect(json.id).toBe(NEW.id);
      expect(json.error).toMatchObject({
        code: -32009,
        data: [{ reason: 'VERSION_NOT_SUPPORTED', metadata: { supportedVersions: '1.0,0.3' } }],
      });
      const rest = await ask(node, '/tasks', { headers: named(version) });
      expect(rest.json.error).toMatchObject({ status: 'FAILED_PRECONDITION' });
    },
  );

  it('is refused with the versions of the interface that was called, over each transport', async () => {
    const metadataOf = (details: readonly { readonly metadata: object }[]) => details[0]!.metadata;
    const rest = (await ask(node, '/tasks', { headers: named('2.0') })).json.error.details;
    expect(metadataOf(rest as never)).toMatchObject({ supportedVersions: '1.0', hint: 'It speaks 1.0.' });
    const both = (await ask(node, '/', { body: NEW, headers: named('2.0') })).json.error.data;
    expect(metadataOf(both as never)).toMatchObject({
      supportedVersions: '1.0,0.3',
      hint: 'It speaks 1.0, 0.3.',
    });
  });

  it('may be in the query instead, and the header takes precedence', async () => {
    const get = (path: string, version?: string) => ask(node, path, { headers: named(version) });
    expect((await get('/tasks?A2A-Version=1.0')).status).toBe(200);
    expect((await get('/tasks?A2A-Version=2.0')).json.error.details[0]?.reason).toBe('VERSION_NOT_SUPPORTED');
    expect((await get('/tasks?A2A-Version=2.0', '1.0')).status).toBe(200);
    expect((await ask(node, '/?A2A-Version=0.3', { body: NEW })).json.error.code).toBe(-32601);
  });

  it('follows from the path of HTTP+JSON, and must not contradict it', async () => {
    const old = await ask(node, '/v1/message:send', { body: OLD_REST });
    expect(old.status).toBe(200);
    expect(old.json.task.status.state).toBe('TASK_STATE_COMPLETED');
    expect(old.headers.get('content-type')).toBe('application/json');
    const wrong = await ask(node, '/v1/message:send', { body: OLD_REST, headers: named('1.0') });
    expect(wrong.json).toMatchObject({ code: -32009 });
    const alsoWrong = await ask(node, '/tasks', { headers: named('0.3') });
    expect(alsoWrong.json.error.details[0]?.reason).toBe('VERSION_NOT_SUPPORTED');
  });
});

it('X5 HTTP+JSON of 0.3 reads the names of the proto, and leaves metadata unchanged', async () => {
  const metadata = { my_key: { inner_key: 1 } };
  const request = { message_id: 'old-3', role: 'ROLE_USER', content: [{ text: 'say x' }], metadata };
  const body = { request, configuration: { blocking: true, history_length: 1 } };
  const { json } = await ask(node, '/v1/message:send', { body });
  expect(json).toMatchObject({
    task: { status: { state: 'TASK_STATE_COMPLETED' }, history: [{ messageId: 'old-3', metadata }] },
  });
});

describe('X5 a request of A2A 0.3', () => {
  const bad: readonly (readonly [string, object])[] = [
    ['no parts', { ...OLD_MESSAGE, parts: [] }],
    ['a part of no kind', { ...OLD_MESSAGE, parts: [{ text: 'x' }] }],
    ['a file without a file', { ...OLD_MESSAGE, parts: [{ kind: 'file' }] }],
    [
      'a file with two contents',
      { ...OLD_MESSAGE, parts: [{ kind: 'file', file: { bytes: 'AA==', uri: 'https://x.example' } }] },
    ],
    ['text that is a number', { ...OLD_MESSAGE, parts: [{ kind: 'text', text: 1 }] }],
    ['a part that is null', { ...OLD_MESSAGE, parts: [null] }],
    ['no id', { ...OLD_MESSAGE, messageId: undefined }],
    ['a role that is none', { ...OLD_MESSAGE, role: 'ROLE_USER' }],
    ['parts that are none', { ...OLD_MESSAGE, parts: 'x' }],
    ['metadata that is none', { ...OLD_MESSAGE, metadata: 'x' }],
  ];
  it.each(bad)('is refused when it is invalid, as one of 1.0 is: %s', async (_what, message) => {
    const { json } = await ask(node, '/', { body: { ...OLD, params: { message } } });
    expect(json.error.code).toBe(-32602);
  });

  it('gets its errors in the form of 0.3 over HTTP+JSON', async () => {
    const missing = await ask(node, '/v1/tasks/nobody');
    expect([missing.status, missing.json]).toMatchObject([404, { code: -32001, type: 'TaskNotFoundError' }]);
    const noPath = await ask(node, '/v1/nothing');
    expect([noPath.status, noPath.json.error === undefined]).toEqual([404, false]);
    expect((await ask(node, '/agents/operator/v1/nothing')).json).toMatchObject({ code: -32601 });
    const wrong = await ask(node, '/v1/message:send', { method: 'GET' });
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'POST']);
  });
});

it("X5 a client of Java's library gets the text of a task without artifacts as one: LangChain4j reads no other", async () => {
  const send = (text: string, agent: string) => {
    const parts = [{ kind: 'text', text }];
    const body = { ...OLD, params: { message: { ...OLD_MESSAGE, messageId: `${agent}-${text}`, parts } } };
    return ask(node, '/', { body, headers: { 'user-agent': agent } });
  };
  const words = async (text: string, agent: string) => {
    const { artifacts = [] } = (await send(text, agent)).json.result;
    return artifacts.flatMap(({ parts }) => parts.map((part) => part.text));
  };
  expect(await words('refuse', 'Java-http-client/21')).toEqual([expect.stringContaining('not my work')]);
  expect(await words('refuse', 'node')).toEqual([]);
  expect(await words('say x', 'Java-http-client/21')).toEqual(['x']);
});

describe('X5 an error of 0.3', () => {
  const message = (parts: object) => ({ messageId: 'm', role: 'user', parts });
  const withFile = (file: object) => message([{ kind: 'file', file }]);
  it.each<readonly [string, string, object, string]>([
    [
      'a role',
      'message/send',
      { message: { ...message([{ kind: 'text', text: 'x' }]), role: 'bot' } },
      'message.role',
    ],
    ['a file', 'message/send', { message: withFile({ uri: 7 }) }, 'message.parts.0.file.uri'],
    ['bytes', 'message/send', { message: withFile({ bytes: 7 }) }, 'message.parts.0.file.bytes'],
    [
      'a media type',
      'message/send',
      { message: withFile({ bytes: 'AA==', mimeType: 7 }) },
      'message.parts.0.file.mimeType',
    ],
    [
      'the name of a file',
      'message/send',
      { message: withFile({ bytes: 'AA==', name: 7 }) },
      'message.parts.0.file.name',
    ],
    [
      'blocking',
      'message/send',
      { message: message([{ kind: 'text', text: 'x' }]), configuration: { blocking: 'no' } },
      'configuration.blocking',
    ],
    [
      'a webhook of a message',
      'message/send',
      {
        message: message([{ kind: 'text', text: 'x' }]),
        configuration: {
          pushNotificationConfig: { url: 'https://a.example', authentication: { schemes: ['b c'] } },
        },
      },
      'configuration.pushNotificationConfig.authentication.schemes',
    ],
    [
      'a webhook',
      'tasks/pushNotificationConfig/set',
      { taskId: 't', pushNotificationConfig: { url: 'none' } },
      'pushNotificationConfig.url',
    ],
    ['the task of a config', 'tasks/pushNotificationConfig/get', { id: 7 }, 'id'],
  ])('names the field as 0.3 does over JSON-RPC: %s', async (...row) => {
    const [, method, params, field] = row;
    const body = { jsonrpc: '2.0', id: 1, method, params };
    const { error } = (await ask(node, '/', { body, headers: named('0.3') })).json;
    expect(error.message.startsWith(`${field} `)).toBe(true);
    expect(error.message).not.toContain('ROLE_');
    expect(JSON.stringify(error.data)).toContain(`"field":"${field}"`);
  });

  it('names the kinds of parts that 0.3 has', async () => {
    const params = { message: message([{ kind: 'video' }]) };
    const body = { jsonrpc: '2.0', id: 1, method: 'message/send', params };
    const { error } = (await ask(node, '/', { body, headers: named('0.3') })).json;
    expect(error.message).toMatch(/^message\.parts\.0 must have exactly one of text, file and data/);
  });

  const content = [{ text: 'x' }];
  it.each<readonly [string, string, object]>([
    ['message.content.0.file.fileWithUri', 'message:send', protoFile({ fileWithUri: 7 })],
    ['message.content.0.file.fileWithBytes', 'message:send', protoFile({ fileWithBytes: 7 })],
    [
      'configuration.pushNotification.url',
      'message:send',
      {
        message: { messageId: 'm', role: 'ROLE_USER', content },
        configuration: { pushNotification: { url: 'none' } },
      },
    ],
    [
      'config.pushNotificationConfig.url',
      'tasks/t/pushNotificationConfigs',
      { config: { pushNotificationConfig: { url: 'none' } } },
    ],
  ])('names the field as 0.3 does over HTTP+JSON: %s', async (field, path, body) => {
    const { json } = await ask(node, `/v1/${path}`, { body, headers: named('0.3') });
    expect((json as unknown as { message: string }).message.split(' ')[0]).toBe(field);
  });

  it('names the field as 0.3 does over gRPC', async () => {
    const { path } = LegacyA2AService.sendMessage;
    const client = new Client(node.grpc, credentials.createInsecure());
    const metadata = new Metadata();
    metadata.set('authorization', `Bearer ${TOKEN}`);
    const failed = Promise.withResolvers<string>();
    // SendMessageRequest { request: { message_id: "m", role: ROLE_USER } }, without content.
    const bytes = Buffer.from([0x0a, 5, 0x0a, 1, 0x6d, 0x20, 1]);
    const same = (given: Buffer) => given;
    client.makeUnaryRequest(path, same, same, bytes, metadata, (error) =>
      failed.resolve(String(error?.details)),
    );
    expect(await failed.promise).toMatch(/message\.content must have at least one part/);
    client.close();
  });
});

describe('X5 the card for the version that a client names', () => {
  const card = async (path: string, version?: string) =>
    (await ask(node, path, { token: null, headers: named(version) })).json as unknown as Record<
      string,
      unknown
    >;
  const CARD = '/.well-known/agent-card.json';

  it('has no member of 0.3 for 1.0', async () => {
    const json = await card(CARD, '1.0');
    expect(json).not.toHaveProperty('url');
    expect(json).not.toHaveProperty('protocolVersion');
    expect(json['supportedInterfaces']).toContainEqual({
      url: node.grpc,
      protocolBinding: 'GRPC',
      protocolVersion: '1.0',
      tenant: 'root',
    });
    expect(json['securitySchemes']).toEqual({ bearer: { httpAuthSecurityScheme: expect.anything() } });
  });

  it('has one main address and additional ones for 0.3, also at the path of 0.3', async () => {
    const json = await card(CARD, '0.3');
    const url = `${node.origin}/agents/root`;
    expect(json).toMatchObject({
      protocolVersion: '0.3.0',
      url,
      preferredTransport: 'JSONRPC',
      additionalInterfaces: [
        { url, transport: 'JSONRPC' },
        { url, transport: 'HTTP+JSON' },
        { url: node.grpc, transport: 'GRPC' },
      ],
      securitySchemes: { bearer: { type: 'http', scheme: 'Bearer' } },
      security: [{ bearer: [] }],
    });
    expect(json).not.toHaveProperty('supportedInterfaces');
    expect(await card('/.well-known/agent.json')).toEqual(json);
  });

  it('names gRPC of 0.3 for the root agent only, as 0.3 reaches no other agent over gRPC', async () => {
    const json = await card(`/agents/operator${CARD}`, '0.3');
    expect(JSON.stringify(json['additionalInterfaces'])).not.toContain('GRPC');
  });

  it('is readable by clients of both versions when the client names none, with all members of 1.0', async () => {
    const both = await card(CARD);
    const { securitySchemes, ...rest } = await card(CARD, '1.0');
    const { signatures: _, ...members } = rest;
    expect(both).toMatchObject(members);
    expect(both['securityRequirements']).toEqual([{ schemes: { bearer: {} } }]);
    expect(both['security']).toEqual([{ bearer: [] }]);
    expect(both).toMatchObject({ url: `${node.origin}/agents/root`, preferredTransport: 'JSONRPC' });
    expect(both['securitySchemes']).toMatchObject(securitySchemes as object);
    expect(both['securitySchemes']).toMatchObject({ bearer: { type: 'http' } });
  });

  it("leaves out the requirements of 1.0 for Go's SDK, whose parser refuses a card that has them", async () => {
    const headers = { 'user-agent': 'Go-http-client/1.1' };
    const { json, headers: sent } = await ask(node, CARD, { token: null, headers });
    expect(json).not.toHaveProperty('securityRequirements');
    expect(json).toMatchObject({ security: [{ bearer: [] }] });
    expect(sent.get('vary')).toContain('User-Agent');
    const named = { ...headers, 'a2a-version': '1.0' };
    expect((await ask(node, CARD, { token: null, headers: named })).json).toHaveProperty(
      'securityRequirements',
    );
  });

  it('has an ETag for each version, for caches that tell versions apart', async () => {
    const replies = await Promise.all(
      ['1.0', '0.3', undefined].map((version) => ask(node, CARD, { token: null, headers: named(version) })),
    );
    expect(new Set(replies.map(({ headers }) => headers.get('etag'))).size).toBe(3);
    for (const { headers } of replies) expect(headers.get('vary')).toContain('A2A-Version');
  });
});
