import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { status } from '@grpc/grpc-js';
import type { A2aNode } from '../../support/a2a-node.js';
import { startA2aNode } from '../../support/a2a-node.js';
import type { Ask } from '../../support/a2a-requests.js';
import { ask, userMessage } from '../../support/a2a-requests.js';
import type { GrpcMethod } from '../../support/grpc-asked.js';
import { askGrpc } from '../../support/grpc-asked.js';
import { scriptedAgent } from '../../support/scripted-agent.js';

/** The errors of A2A 1.0.1 (section 5.4), as a client of each binding sees them. */

let node: A2aNode;
/** A task that has ended. */
let ended: string;

beforeAll(async () => {
  node = await startA2aNode({ agents: [scriptedAgent('root')], grpc: true });
  ended = (await ask(node, '/message:send', { body: userMessage('say x') })).json.task.id;
});
afterAll(() => node.stop());

/** The same call in the words of each binding; parameters as JSON-RPC has them. */
interface Call {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly rest: readonly [method: string, path: string];
  readonly headers?: Readonly<Record<string, string>>;
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

describe('X5 an error is told as the protocol numbers it', () => {
  it.each(CASES)('%s: %j', async (reason, numbers, call) => {
    const { method, params, rest, headers = {} } = call();
    const body = { jsonrpc: '2.0', id: 1, method, params };
    const rpc = await ask(node, '/', { body, headers });
    expect([rpc.json.error.code, rpc.json.error.data[0]?.reason]).toEqual([numbers.jsonRpc, reason]);

    const [verb, path] = rest;
    const asked: Ask = verb === 'GET' ? { headers } : { method: verb, body: params, headers };
    const { status: httpStatus, json } = await ask(node, path, asked);
    expect([httpStatus, json.error.code, json.error.status, json.error.details[0]?.reason]).toEqual([
      ...[numbers.http, numbers.http, numbers.grpc, reason],
    ]);

    const grpc = await askGrpc(node.grpc, {
      method: (method[0]!.toLowerCase() + method.slice(1)) as GrpcMethod,
      params: { tenant: 'root', ...params },
      headers: Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
      ),
    });
    expect([status[grpc.code], grpc.reason]).toEqual([numbers.grpc, reason]);
  });
});
