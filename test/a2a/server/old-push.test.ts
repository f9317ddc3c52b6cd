import { describe, expect, it } from '@jest/globals';
import type { Task } from 'a2a-sdk-v03';
import {
  ClientFactory,
  ClientFactoryOptions,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from 'a2a-sdk-v03/client';
import { GrpcTransportFactory } from 'a2a-sdk-v03/client/grpc';
import { newId } from '../../../src/core/ids.js';
import { PushReceiver } from '../../support/push-receiver.js';
import { withServer } from '../../support/server.js';

/** Push configs of the SDK's published 0.3 line, and the deliveries to their webhooks. */

const SETTINGS = {
  server: { port: 0, grpc: { enabled: true, port: 0 } },
  egress: { allowPrivate: ['127.0.0.1'] },
  a2a: { push: { textSeconds: 0.01 } },
};
const URL_OF = 'https://receiver.example/hook';

describe.each(['JSONRPC', 'HTTP+JSON', 'GRPC'])('push configs of A2A 0.3 over %s', (transport) => {
  it('X5 send a webhook its events in the form of 0.3', async () => {
    await using receiver = await PushReceiver.open();
    await withServer({ settings: SETTINGS }, async ({ address }) => {
      const options = { serviceParameters: { authorization: `Bearer ${address.token}` } };
      const transports = [
        new JsonRpcTransportFactory(),
        new RestTransportFactory(),
        new GrpcTransportFactory(),
      ];
      const client = await new ClientFactory(
        ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
          transports,
          preferredTransports: [transport],
        }),
      ).createFromUrl(address.origin);
      const task = (await client.sendMessage(
        {
          message: {
            kind: 'message',
            messageId: newId(),
            role: 'user',
            parts: [{ kind: 'text', text: 'hello' }],
          },
          configuration: { blocking: true },
        },
        options,
      )) as Task;
      const taskId = task.id;

      // A config that is created after the end of its task gets the Task.
      const made = await client.setTaskPushNotificationConfig(
        { taskId, pushNotificationConfig: { id: 'mine', url: receiver.url } },
        options,
      );
      expect(made).toMatchObject({ taskId, pushNotificationConfig: { id: 'mine', url: receiver.url } });
      // The Task is delivered at once, and the config is then removed with its task.
      await receiver.until((got) => got.length > 0);
      const { headers, body } = receiver.got[0]!;
      expect(headers['a2a-version']).toBe('0.3');
      expect(body).toMatchObject({ kind: 'task', id: taskId, status: { state: 'completed' } });
      const parts = task.artifacts!.map((artifact) => ({ parts: artifact.parts }));
      expect(body['artifacts']).toMatchObject(JSON.parse(JSON.stringify(parts)) as object[]);
    });
  });
});

it.each([{}, { schemes: [] }, { schemes: [], credentials: '' }])(
  'a push config of 0.3 may have an authentication without schemes: %j',
  async (authentication) => {
    await withServer({ settings: SETTINGS }, async (server) => {
      const call = async (method: string, params: object) => {
        const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
        const headers = { 'content-type': 'application/json', 'a2a-version': '0.3' };
        return (await (await server.fetch('/', { method: 'POST', headers, body })).json()) as {
          readonly result: { readonly id: string };
        };
      };
      const message = { messageId: newId(), role: 'user', parts: [{ kind: 'text', text: 'hello' }] };
      const { id } = (await call('message/send', { message: { kind: 'message', ...message } })).result;
      const pushNotificationConfig = { id: 'mine', url: URL_OF, authentication };
      const made = await call('tasks/pushNotificationConfig/set', { taskId: id, pushNotificationConfig });
      expect(made.result).toEqual({ taskId: id, pushNotificationConfig: { id: 'mine', url: URL_OF } });
    });
  },
);

it('X5 tasks/pushNotificationConfig/get of 0.3 without a config id returns the only config', async () => {
  await withServer({ settings: SETTINGS }, async (server) => {
    const call = async (method: string, params: object, version = '0.3') => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
      const headers = { 'A2A-Version': version };
      return (await (await server.fetch('/', { method: 'POST', body, headers })).json()) as {
        readonly result: { readonly id: string };
        readonly error?: { readonly code: number };
      };
    };
    const message = {
      kind: 'message',
      messageId: newId(),
      role: 'user',
      parts: [{ kind: 'text', text: 'hello' }],
    };
    const { id } = (await call('message/send', { message })).result;
    const none = await call('tasks/pushNotificationConfig/get', { id });
    expect(none.error?.code).toBe(-32001);
    const pushNotificationConfig = { id: 'mine', url: URL_OF };
    await call('tasks/pushNotificationConfig/set', { taskId: id, pushNotificationConfig });
    const only = await call('tasks/pushNotificationConfig/get', { id });
    expect(only.result).toEqual({ taskId: id, pushNotificationConfig });
    const current = await call('GetTaskPushNotificationConfig', { taskId: id }, '1.0');
    expect(current.error?.code).toBe(-32602);
  });
});
