import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Task } from '@a2a-js/sdk';
import { status } from '@grpc/grpc-js';
import type { GrpcMethod, GrpcReply } from '../support/grpc-asked.js';
import { askGrpc } from '../support/grpc-asked.js';
import { userMessage } from '../support/a2a-requests.js';
import type { Issuer } from '../support/issuer.js';
import { AUDIENCE, startIssuer } from '../support/issuer.js';
import type { TestServer } from '../support/server.js';
import { startServer } from '../support/server.js';
import { scriptedAgent } from '../support/scripted-agent.js';

/** Authorization over gRPC: the same as over HTTP. */

let issuer: Issuer;
let server: TestServer;

beforeAll(async () => {
  issuer = await startIssuer();
  server = await startServer({
    agents: [scriptedAgent('open'), scriptedAgent('closed')],
    settings: {
      server: { port: 0, grpc: { enabled: true, port: 0 } },
      auth: {
        mode: 'jwt',
        jwt: {
          issuer: issuer.url,
          audience: [AUDIENCE],
          scopes: [{ agent: 'closed', scope: 'closed.use' }],
        },
      },
    },
  });
});

afterAll(async () => {
  await server.stop();
  await issuer.close();
});

async function ask(
  name: string | null,
  method: GrpcMethod,
  { tenant = 'open', scope = 'other', ...params }: Readonly<Record<string, unknown>>,
): Promise<GrpcReply> {
  const token = name === null ? null : await issuer.token({ sub: name, scope });
  return askGrpc(`127.0.0.1:${server.address.grpcPort}`, { method, params: { tenant, ...params }, token });
}

const METHODS: readonly GrpcMethod[] = [
  'sendMessage',
  'sendStreamingMessage',
  'getTask',
  'listTasks',
  'cancelTask',
  'subscribeToTask',
  'createTaskPushNotificationConfig',
  'getExtendedAgentCard',
];

describe('a caller over gRPC', () => {
  it.each(METHODS)('3.3 #3: gets UNAUTHENTICATED without a token: %s', async (method) => {
    expect((await ask(null, method, { id: 'x' })).code).toBe(status.UNAUTHENTICATED);
  });

  it.each(METHODS)('3.3 #3: gets PERMISSION_DENIED without the scope of the agent: %s', async (method) => {
    const params = { id: 'x', taskId: 'x', url: 'https://hooks.example/x', ...userMessage('say x') };
    const refused = await ask('alice', method, { tenant: 'closed', ...params });
    expect([refused.code, refused.text]).toEqual([
      status.PERMISSION_DENIED,
      expect.stringContaining('closed.use'),
    ]);
  });

  it('is served when the token has the scope of the agent', async () => {
    const send = { tenant: 'closed', scope: 'closed.use', ...userMessage('say x') };
    expect((await ask('alice', 'sendMessage', send)).code).toBe(status.OK);
  });

  it('3.3 #1: finds nothing of another caller by any operation', async () => {
    const sent = await ask('alice', 'sendMessage', userMessage('ask'));
    const { id } = (sent.said[0] as { readonly payload: { readonly value: Task } }).payload.value;
    expect((await ask('alice', 'getTask', { id })).code).toBe(status.OK);
    const foreign = [
      await ask('bob', 'getTask', { id }),
      await ask('bob', 'cancelTask', { id }),
      await ask('bob', 'subscribeToTask', { id }),
      await ask('bob', 'sendMessage', userMessage('say more', { taskId: id })),
      await ask('bob', 'createTaskPushNotificationConfig', { taskId: id, url: 'https://hooks.example/x' }),
    ];
    expect(foreign.map(({ code }) => code)).toEqual(foreign.map(() => status.NOT_FOUND));
    const missing = await ask('bob', 'getTask', { id: 'none' });
    expect(foreign[0]!.text.replaceAll(id, 'none')).toBe(missing.text);
    expect((await ask('bob', 'listTasks', {})).said).toMatchObject([{ tasks: [], totalSize: 0 }]);
    expect((await ask('alice', 'listTasks', {})).said).toMatchObject([{ totalSize: 1 }]);
  });
});
