import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AgentCard, Task } from '@a2a-js/sdk';
import { status } from '@grpc/grpc-js';
import type { JsonObject } from '../../../src/core/json.js';
import { request } from '../../suites/a2a-operations.js';
import type { A2aNode } from '../../support/a2a-node.js';
import { startA2aNode } from '../../support/a2a-node.js';
import type { Ask } from '../../support/a2a-requests.js';
import { ask, userMessage } from '../../support/a2a-requests.js';
import type { GrpcMethod } from '../../support/grpc-asked.js';
import { askGrpc } from '../../support/grpc-asked.js';
import { remoteWaysTo } from '../../support/a2a-transports.js';
import { scriptedAgent } from '../../support/scripted-agent.js';
import { withServer } from '../../support/server.js';
import { snapshot, startWireServer } from '../client/wire-server.js';

/** The errors of A2A 1.0.1 (section 5.4), as a client of each binding receives them. */

let node: A2aNode;
/** A node that does not tell callers apart. */
let open: A2aNode;
/** The id of a task that has ended. */
let ended: string;

beforeAll(async () => {
  const agents = [scriptedAgent('root')];
  node = await startA2aNode({ agents, grpc: true });
  open = await startA2aNode({ agents, grpc: true, auth: 'none' });
  ended = (await ask(node, '/message:send', { body: userMessage('say x') })).json.task.id;
});
afterAll(() => Promise.all([node.stop(), open.stop()]));

/** The same call in the form of each binding; parameters as JSON-RPC has them. */
interface Call {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly rest: readonly [method: string, path: string];
  readonly headers?: Readonly<Record<string, string>>;
  /** The node to call. Default: the one that knows its callers. */
  readonly at?: A2aNode;
}

interface Numbers {
  readonly jsonRpc: number;
  readonly http: number;
  readonly grpc: keyof typeof status;
}

const HOOK = 'https://hooks.example/x';
const image = () => userMessage('', { parts: [{ raw: 'AAAA', mediaType: 'image/png' }] });

const CASES: readonly (readonly [reason: string, Numbers, () => Call])[] = [
  [
    'TASK_NOT_FOUND',
    { jsonRpc: -32001, http: 404, grpc: 'NOT_FOUND' },
    () => ({ method: 'GetTask', params: { id: 'none' }, rest: ['GET', '/tasks/none'] }),
  ],
  [
    'TASK_NOT_CANCELABLE',
    { jsonRpc: -32002, http: 400, grpc: 'FAILED_PRECONDITION' },
    () => ({ method: 'CancelTask', params: { id: ended }, rest: ['POST', `/tasks/${ended}:cancel`] }),
  ],
  [
    'PUSH_NOTIFICATION_NOT_SUPPORTED',
    { jsonRpc: -32003, http: 400, grpc: 'FAILED_PRECONDITION' },
    () => ({
      method: 'CreateTaskPushNotificationConfig',
      params: { taskId: ended, url: HOOK },
      rest: ['POST', `/tasks/${ended}/pushNotificationConfigs`],
    }),
  ],
  [
    'UNSUPPORTED_OPERATION',
    { jsonRpc: -32004, http: 400, grpc: 'FAILED_PRECONDITION' },
    () => ({ method: 'SubscribeToTask', params: { id: ended }, rest: ['POST', `/tasks/${ended}:subscribe`] }),
  ],
  [
    'UNSUPPORTED_OPERATION',
    { jsonRpc: -32004, http: 400, grpc: 'FAILED_PRECONDITION' },
    () => ({ method: 'GetExtendedAgentCard', params: {}, rest: ['GET', '/extendedAgentCard'], at: open }),
  ],
  [
    'CONTENT_TYPE_NOT_SUPPORTED',
    { jsonRpc: -32005, http: 400, grpc: 'INVALID_ARGUMENT' },
    () => ({ method: 'SendMessage', params: image(), rest: ['POST', '/message:send'] }),
  ],
  [
    'VERSION_NOT_SUPPORTED',
    { jsonRpc: -32009, http: 400, grpc: 'FAILED_PRECONDITION' },
    () => ({
      ...{ method: 'GetTask', params: { id: ended }, rest: ['GET', `/tasks/${ended}`] },
      headers: { 'A2A-Version': '9.0' },
    }),
  ],
  [
    'INVALID_PARAMS',
    { jsonRpc: -32602, http: 400, grpc: 'INVALID_ARGUMENT' },
    () => ({
      method: 'SendMessage',
      params: userMessage('', { parts: [] }),
      rest: ['POST', '/message:send'],
    }),
  ],
];

describe('X5 an error of the protocol', () => {
  it.each(CASES)('has its numbers on every binding: %s %j', async (reason, numbers, call) => {
    const { method, params, rest, headers = {}, at = node } = call();
    const body = { jsonrpc: '2.0', id: 1, method, params };
    const rpc = await ask(at, '/', { body, headers });
    expect([rpc.json.error.code, rpc.json.error.data[0]?.reason]).toEqual([numbers.jsonRpc, reason]);

    const [verb, path] = rest;
    const asked: Ask = verb === 'GET' ? { headers } : { method: verb, body: params, headers };
    const { status: httpStatus, json } = await ask(at, path, asked);
    expect([httpStatus, json.error.code, json.error.status, json.error.details[0]?.reason]).toEqual([
      ...[numbers.http, numbers.http, numbers.grpc, reason],
    ]);

    const grpc = await askGrpc(at.grpc, {
      method: (method[0]!.toLowerCase() + method.slice(1)) as GrpcMethod,
      params: { tenant: 'root', ...params },
      headers: Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
      ),
    });
    expect([status[grpc.code], grpc.reason]).toEqual([numbers.grpc, reason]);
  });
});

const GRPC = { server: { port: 0, grpc: { enabled: true, port: 0 } } };

describe('X5 an error that this server never returns', () => {
  it('EXTENDED_AGENT_CARD_NOT_CONFIGURED: a card that declares an extended one has one', async () => {
    for (const auth of [{ mode: 'token' }, { mode: 'none' }] as const)
      await withServer(
        { settings: { ...GRPC, auth } },
        async ({ address: { agents, origin, token = null } }) => {
          for (const agent of agents) {
            const at = { origin: `${origin}/agents/${agent}` };
            const card = (await ask(at, '/.well-known/agent-card.json')).json as unknown as AgentCard;
            const extended = await ask(at, '/extendedAgentCard', { token });
            expect([agent, extended.status]).toEqual([
              agent,
              card.capabilities?.extendedAgentCard ? 200 : 400,
            ]);
          }
        },
      );
  });

  it('EXTENSION_SUPPORT_REQUIRED: no card requires an extension, and a client that names none or an unknown one is served', async () => {
    await withServer({ settings: GRPC }, async ({ address: { agents, origin, root, token = null } }) => {
      for (const agent of agents) {
        const { json } = await ask({ origin }, `/agents/${agent}/.well-known/agent-card.json`);
        const { extensions = [] } = (json as unknown as AgentCard).capabilities!;
        expect(extensions.filter(({ required }) => required)).toEqual([]);
      }
      for (const way of await remoteWaysTo(origin, root)) {
        for (const extensions of ['', 'urn:somebody:else'])
          expect(
            await way.transport.sendMessage(request('hello'), way.options({ token, extensions })),
          ).toHaveProperty('id');
      }
    });
  });

  it('INVALID_AGENT_RESPONSE: a faulty remote agent is reported in the task that asked it', async () => {
    // It may name a context of its own, but not another one in the middle of the task.
    const broken = await startWireServer(({ method }, wire) => {
      const end = snapshot('TASK_STATE_COMPLETED');
      if (method === 'CancelTask') return wire.answer(end['task'] as JsonObject);
      wire.event(snapshot('TASK_STATE_WORKING'));
      wire.event({ task: { ...(end['task'] as JsonObject), contextId: 'another' } });
      wire.end();
    });
    const remoteAgents = [{ name: 'dancer', url: broken.origin, allowPrivate: true }];
    try {
      await withServer(
        { settings: { ...GRPC, a2a: { enabled: true, remoteAgents } } },
        async ({ address: { origin, root, token = null } }) => {
          for (const way of await remoteWaysTo(origin, root)) {
            const task = (await way.transport.sendMessage(
              request('ask dancer to stream'),
              way.options({ token }),
            )) as Task;
            expect(JSON.stringify(task)).toContain('dancer failed: The agent changed');
          }
        },
      );
      expect(broken.calls.length).toBeGreaterThan(2);
    } finally {
      await broken.close();
    }
  });
});
