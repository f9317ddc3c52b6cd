import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { status } from '@grpc/grpc-js';
import { ask } from '../support/a2a-requests.js';
import type { GrpcMethod } from '../support/grpc-asked.js';
import { askGrpc } from '../support/grpc-asked.js';
import type { Issuer } from '../support/issuer.js';
import { AUDIENCE, startIssuer } from '../support/issuer.js';
import { scriptedAgent } from '../support/scripted-agent.js';
import type { TestServer } from '../support/server.js';
import { startServer } from '../support/server.js';

/** A caller without the scope of an agent gets that error, not one about the parameters. */

let issuer: Issuer;
let server: TestServer;
/** Two tokens of the same caller. */
let without: string;
let allowed: string;

beforeAll(async () => {
  issuer = await startIssuer();
  without = await issuer.token({ sub: 'alice', scope: 'other' });
  allowed = await issuer.token({ sub: 'alice', scope: 'closed.use' });
  const scopes = [{ agent: 'closed', scope: 'closed.use' }];
  server = await startServer({
    agents: [scriptedAgent('closed')],
    settings: {
      server: { port: 0, grpc: { enabled: true, port: 0 } },
      auth: { mode: 'jwt', jwt: { issuer: issuer.url, audience: [AUDIENCE], scopes } },
    },
  });
});
beforeEach(() => void (server.log.lines.length = 0));
afterAll(async () => {
  await server.stop();
  await issuer.close();
});

/** The audited operations and outcomes, each as "operation outcome". */
function audited(): readonly string[] {
  return server.log.lines
    .map((line) => JSON.parse(line) as Readonly<Record<string, string>>)
    .filter(({ message, agent }) => message === 'audit' && agent === 'closed')
    .map(({ operation, outcome }) => `${operation} ${outcome}`);
}

const closed = () => ({ origin: `${server.address.origin}/agents/closed` });

/** No interface of ours declares a tenant, so every request with one is invalid. */
const WRONG = { tenant: 'x' };

const OPERATIONS = [
  ['SendMessage', 'POST', '/message:send'],
  ['SendStreamingMessage', 'POST', '/message:stream'],
  ['GetTask', 'GET', '/tasks/t'],
  ['ListTasks', 'GET', '/tasks'],
  ['CancelTask', 'POST', '/tasks/t:cancel'],
  ['SubscribeToTask', 'POST', '/tasks/t:subscribe'],
  ['GetExtendedAgentCard', 'GET', '/extendedAgentCard'],
  ['CreateTaskPushNotificationConfig', 'POST', '/tasks/t/pushNotificationConfigs'],
  ['GetTaskPushNotificationConfig', 'GET', '/tasks/t/pushNotificationConfigs/c'],
  ['ListTaskPushNotificationConfigs', 'GET', '/tasks/t/pushNotificationConfigs'],
  ['DeleteTaskPushNotificationConfig', 'DELETE', '/tasks/t/pushNotificationConfigs/c'],
] as const;

const OLD = [
  ['SendMessage', 'message/send', '/v1/message:send'],
  ['SendStreamingMessage', 'message/stream', '/v1/message:stream'],
] as const;

const OVER_GRPC: readonly (readonly [operation: string, GrpcMethod, wrong: object])[] = [
  ['SendMessage', 'sendMessage', {}],
  ['SendStreamingMessage', 'sendStreamingMessage', {}],
  ['GetTask', 'getTask', {}],
  ['ListTasks', 'listTasks', { pageSize: 1_000 }],
  ['CancelTask', 'cancelTask', {}],
  ['SubscribeToTask', 'subscribeToTask', {}],
  ['CreateTaskPushNotificationConfig', 'createTaskPushNotificationConfig', {}],
];

describe('X5 the scope of an agent', () => {
  it.each(OPERATIONS.map(([method]) => method))(
    'is checked before the parameters over JSON-RPC: %s',
    async (method) => {
      const body = { jsonrpc: '2.0', id: 1, method, params: WRONG };
      const refused = await ask(closed(), '', { body, token: without });
      expect([refused.status, refused.json.error.code]).toEqual([403, -32000]);
      expect(audited()).toEqual([`${method} forbidden`]);
      expect((await ask(closed(), '', { body, token: allowed })).json.error.code).toBe(-32602);
    },
  );

  it.each(OPERATIONS)(
    'is checked before the parameters over HTTP+JSON: %s',
    async (operation, method, path) => {
      const request = method === 'POST' ? { method, body: WRONG } : { method };
      const where = method === 'POST' ? path : `${path}?tenant=x`;
      const refused = await ask(closed(), where, { ...request, token: without });
      expect([refused.status, refused.json.error.status]).toEqual([403, 'PERMISSION_DENIED']);
      expect(audited()).toEqual([`${operation} forbidden`]);
      expect((await ask(closed(), where, { ...request, token: allowed })).status).toBe(400);
    },
  );

  it.each(OVER_GRPC)('is checked before the parameters over gRPC: %s', async (operation, method, wrong) => {
    const address = `127.0.0.1:${server.address.grpcPort}`;
    const params = { tenant: 'closed', ...wrong };
    const refused = await askGrpc(address, { method, params, token: without });
    expect(status[refused.code]).toBe('PERMISSION_DENIED');
    expect(audited()).toEqual([`${operation} forbidden`]);
    const { code } = await askGrpc(address, { method, params, token: allowed });
    expect(status[code]).toBe('INVALID_ARGUMENT');
  });

  it.each(OLD)('is checked before the parameters in 0.3: %s', async (operation, method, path) => {
    const body = { jsonrpc: '2.0', id: 1, method, params: {} };
    const answers = [
      await ask(closed(), '', { body, token: without }),
      await ask(closed(), path, { body: {}, token: without }),
    ];
    expect(answers.map(({ status: code }) => code)).toEqual([403, 403]);
    expect(audited()).toEqual([`${operation} forbidden`, `${operation} forbidden`]);
    expect((await ask(closed(), path, { body: {}, token: allowed })).status).toBe(400);
  });

  it('is checked before the parameters of a notification too', async () => {
    const body = { jsonrpc: '2.0', method: 'CancelTask', params: WRONG };
    expect((await ask(closed(), '', { body, token: without })).status).toBe(204);
    expect(audited()).toEqual(['CancelTask forbidden']);
  });
});
