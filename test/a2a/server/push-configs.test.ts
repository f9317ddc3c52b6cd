import { afterAll, describe, expect, it } from '@jest/globals';
import { scriptedAgent } from '../../support/scripted-agent.js';
import type { PushServer } from '../../support/push-server.js';
import { startPushServer, withPushServer } from '../../support/push-server.js';

const URL_OF = 'https://receiver.example/hook';
const CREATE = 'CreateTaskPushNotificationConfig';
const GET = 'GetTaskPushNotificationConfig';
const LIST = 'ListTaskPushNotificationConfigs';
const DELETE = 'DeleteTaskPushNotificationConfig';
/** Nothing listens at the address. The retry would come after the test, so no config is given up during it. */
const LATER = { retrySeconds: 60, maxRetrySeconds: 60 };

describe('a push notification config', () => {
  it('is created, read, listed in pages and deleted, over JSON-RPC and HTTP+JSON alike', async () => {
    await withPushServer({ push: LATER }, async (server) => {
      const taskId = await server.send('ask');
      const path = `/tasks/${taskId}/pushNotificationConfigs`;
      const made = await server.rest('POST', path, { id: 'b', url: URL_OF });
      expect(made).toEqual({ status: 200, json: { id: 'b', taskId, url: URL_OF } });
      const own = await server.rpc(CREATE, { taskId, url: URL_OF });
      const ownId = String(own.result['id']);
      expect(ownId).not.toBe('');
      await server.rpc(CREATE, { taskId, id: 'a', url: `${URL_OF}?a` });

      expect((await server.rest('GET', `${path}/b`)).json).toEqual(made.json);
      expect((await server.rpc(GET, { taskId, id: 'b' })).result).toEqual(made.json);

      const first = await server.rpc(LIST, { taskId, pageSize: 2 });
      expect(first.result['configs']).toHaveLength(2);
      const pageToken = String(first.result['nextPageToken']);
      const second = await server.rest('GET', `${path}?pageSize=2&pageToken=${pageToken}`);
      const ids = [first.result, second.json].flatMap((page) =>
        page['configs']!.map((config) => String(config['id'])),
      );
      expect(ids).toEqual([ownId, 'a', 'b'].sort());
      expect(second.json['nextPageToken']).toBeUndefined();

      expect((await server.rest('DELETE', `${path}/b`)).json).toEqual({});
      expect((await server.rpc(DELETE, { taskId, id: 'b' })).result).toEqual({});
      expect((await server.rpc(GET, { taskId, id: 'b' })).error?.code).toBe(-32001);
      expect((await server.rest('GET', `${path}/b`)).status).toBe(404);
    });
  });

  it('replaces an earlier one of the same id', async () => {
    await withPushServer({ push: LATER }, async (server) => {
      const taskId = await server.send('ask');
      await server.rpc(CREATE, { taskId, id: 'a', url: URL_OF });
      await server.rpc(CREATE, { taskId, id: 'a', url: `${URL_OF}/2` });
      expect((await server.rpc(LIST, { taskId })).result['configs']).toEqual([
        { id: 'a', taskId, url: `${URL_OF}/2` },
      ]);
    });
  });

  it.each([
    ['no URL', {}],
    ['not a URL', { url: 'hook' }],
    ['a file', { url: 'file:///etc/passwd' }],
    ['plain http', { url: 'http://receiver.example/' }],
    ['credentials', { url: 'https://me:secret@receiver.example/' }],
    ['loopback', { url: 'https://127.0.0.1/' }],
    ['loopback in disguise', { url: 'https://0x7f.1/' }],
    ['loopback of IPv6', { url: 'https://[::1]/' }],
    ['mapped loopback', { url: 'https://[::ffff:127.0.0.1]/' }],
    ['a private network', { url: 'https://10.1.2.3/' }],
    ['a link-local address', { url: 'https://169.254.169.254/latest/meta-data' }],
    ['a private address of IPv6', { url: 'https://[fd00::1]/' }],
    ['a documentation address', { url: 'https://203.0.113.7/hook' }],
    ['the address of a platform', { url: 'https://168.63.129.16/machine' }],
    ['the port of a mail server', { url: 'https://hooks.example.com:25/' }],
    ['the port of a database', { url: 'https://hooks.example.com:6379/' }],
    ['localhost', { url: 'https://localhost/' }],
    ['a name without a dot', { url: 'https://metadata/' }],
    ['an internal name', { url: 'https://metadata.google.internal/' }],
    ['a header in the token', { url: URL_OF, token: 'a\r\nX-Evil: 1' }],
    [
      'a header in the credentials',
      { url: URL_OF, authentication: { scheme: 'Bearer', credentials: 'a\nb' } },
    ],
    ['a scheme that is none', { url: URL_OF, authentication: { scheme: 'Bearer x', credentials: 'a' } }],
    ['no scheme', { url: URL_OF, authentication: { credentials: 'a' } }],
    ['an id of several lines', { url: URL_OF, id: 'a\nb' }],
  ])('is refused for %s, alone and inside a message, and nothing is stored', async (_what, config) => {
    const shared = await sharedServer();
    const taskId = await shared.send('ask');
    const alone = await shared.rpc(CREATE, { taskId, ...config });
    expect(alone.error?.code).toBe(-32602);
    expect((await shared.rest('POST', `/tasks/${taskId}/pushNotificationConfigs`, config)).status).toBe(400);
    expect((await shared.rpc(LIST, { taskId })).result['configs']).toEqual([]);

    const before = (await shared.rpc('ListTasks', {})).result['totalSize'];
    const message = { messageId: `m-${_what}`, role: 'ROLE_USER', parts: [{ text: 'say hi' }] };
    const inMessage = await shared.rpc('SendMessage', {
      message,
      configuration: { taskPushNotificationConfig: config },
    });
    expect(inMessage.error?.code).toBe(-32602);
    expect((await shared.rpc('ListTasks', {})).result['totalSize']).toBe(before);
  });

  it('counts against a limit per task and one per caller; a message over the limit is refused', async () => {
    await withPushServer({ push: { ...LATER, perTask: 2, perOwner: 3 } }, async (server) => {
      const [one, two] = [await server.send('ask'), await server.send('ask')];
      const create = (taskId: string, id: string) => server.rpc(CREATE, { taskId, id, url: URL_OF });
      expect((await create(one, 'a')).error).toBeUndefined();
      expect((await create(one, 'b')).error).toBeUndefined();
      expect((await create(one, 'c')).status).toBe(429);
      expect((await create(one, 'a')).error).toBeUndefined();
      expect((await create(two, 'a')).error).toBeUndefined();
      expect((await create(two, 'b')).status).toBe(429);
      const before = (await server.rpc('ListTasks', {})).result['totalSize'];
      await expect(server.send('say hi', { push: { url: URL_OF } })).rejects.toThrow('more than 3');
      expect((await server.rpc('ListTasks', {})).result['totalSize']).toBe(before);
    });
  });

  it('is stored once for a repeated message', async () => {
    await withPushServer({ push: LATER }, async (server) => {
      const extras = { push: { url: URL_OF }, messageId: 'the-same' };
      const taskId = await server.send('ask', extras);
      expect(await server.send('ask', extras)).toBe(taskId);
      expect((await server.rpc(LIST, { taskId })).result['configs']).toHaveLength(1);
    });
  });

  it('is not found under another agent', async () => {
    const agents = [scriptedAgent('worker'), scriptedAgent('other')];
    await withPushServer({ agents, push: LATER }, async (server) => {
      const taskId = await server.send('ask', { push: { id: 'a', url: URL_OF } });
      for (const [method, params] of [
        [CREATE, { taskId, url: URL_OF }],
        [GET, { taskId, id: 'a' }],
        [LIST, { taskId }],
        [DELETE, { taskId, id: 'a' }],
      ] as const) {
        expect((await server.rpc(method, params, 'other')).error?.code).toBe(-32001);
        expect((await server.rpc(method, { ...params, taskId: 'no-such-task' })).error?.code).toBe(-32001);
      }
      expect((await server.rpc(LIST, { taskId })).result['configs']).toHaveLength(1);
    });
  });

  it('is refused by every operation and inside a message when push is switched off, and the card says so', async () => {
    await withPushServer({ push: { enabled: false } }, async (server) => {
      const card = await server.client.card('worker');
      expect(card['capabilities']).toMatchObject({ pushNotifications: false });
      const taskId = await server.send('ask');
      const place = { taskId, id: 'a' };
      for (const method of [GET, LIST, DELETE])
        expect((await server.rpc(method, place)).error?.code).toBe(-32003);
      expect((await server.rpc(CREATE, { ...place, url: URL_OF })).error?.code).toBe(-32003);
      const before = (await server.rpc('ListTasks', {})).result['totalSize'];
      await expect(server.send('say hi', { push: { url: URL_OF } })).rejects.toThrow('no push notifications');
      expect((await server.rpc('ListTasks', {})).result['totalSize']).toBe(before);
    });
  });

  it('is announced by the card when push is switched on', async () => {
    const shared = await sharedServer();
    expect((await shared.client.card('worker'))['capabilities']).toMatchObject({ pushNotifications: true });
  });
});

let shared: Promise<PushServer> | undefined;

function sharedServer(): Promise<PushServer> {
  return (shared ??= startPushServer({ allowPrivate: [], push: LATER }));
}

afterAll(async () => {
  await (await shared)?.stop();
});
