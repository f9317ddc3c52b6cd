import { expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Inspection } from '../../../src/core/inspection.js';
import { checkFrame, checkRequest } from '../../../src/a2a/client/frame-check.js';
import { operatorHandlers } from '../../../src/owners/service.js';
import { OPERATIONS, operationsOf, paramsOf, requestOf } from '../../../src/console/web/inspector-calls.js';
import { sendText, startServer, type TestServer } from '../../support/server.js';

const GRPC_METHOD = '/lf.a2a.v1.A2AService/SendStreamingMessage';
const EXPECTS = { version: '1.0', transport: 'HTTP+JSON', operation: 'SendStreamingMessage' } as const;

const inspect = async ({ address }: TestServer, given: object) => {
  const headers = { authorization: `Bearer ${address.token}`, 'content-type': 'application/json' };
  const init = { method: 'POST', headers, body: JSON.stringify(given) };
  const response = await fetch(`${address.origin}/lango/inspect`, init);
  return { status: response.status, body: await response.json() } as const;
};

it('calls each operation over each transport in both versions, and both sides are as specified', async () => {
  const agent = await startServer({ settings: { server: { port: 0, grpc: { enabled: true, port: 0 } } } });
  const card = (await (await agent.fetch('/.well-known/agent-card.json')).json()) as Card;
  const grpc = card.supportedInterfaces.find((one) => one.protocolBinding === 'GRPC')!.url;
  const allowPrivate = [new URL(agent.address.origin).host, grpc];
  const operator = await startServer({ settings: { egress: { allowPrivate } } });
  const { taskId: task } = await sendText(agent, 'hello');
  const webhook = 'https://hooks.example/a2a';
  const called: unknown[] = [];
  try {
    for (const [version, transport] of BINDINGS) {
      let config = '';
      // The last one asks for the configuration that was deleted.
      const operations = [...operationsOf(version), 'GetTaskPushNotificationConfig'];
      for (const [index, operation] of operations.entries()) {
        const expects = { version, transport, operation };
        const { takes } = OPERATIONS[operation]!;
        const written = takes.includes('text') ? { text: 'hello' } : { task, webhook, secret: 's', config };
        const { origin, token = '' } = agent.address;
        const address = transport === 'GRPC' ? `http://${grpc}` : origin;
        const request = requestOf({ address, token, expects, params: paramsOf(expects, written) });
        const { body } = await inspect(operator, request);
        const { status, frames, sentProblems } = body as Inspection;
        const problems = [...(sentProblems ?? ['not checked']), ...frames.flatMap((one) => one.problems)];
        const text = frames.map((one) => one.text).join('');
        const isRefused = /"error"|"code":-/.test(text) || (transport === 'GRPC' && status > 0);
        const isGone = index === operations.length - 1;
        const isRefusing = isGone || operation === 'CancelTask' || operation === 'SubscribeToTask';
        if (isRefused !== isRefusing || problems.length > 0)
          called.push([version, transport, operation, status, problems, text]);
        if (operation.startsWith('Create'))
          config = /"id":"([^"]+)"(?!.*"id")/.exec(text.replace('"id":1', ''))?.[1] ?? '';
        if (/^(?:Get|List)TaskPush/.test(operation) && !isGone)
          expect([operation, text]).toEqual([operation, expect.stringContaining(webhook)]);
      }
    }
    expect(called).toEqual([]);
  } finally {
    await Promise.all([agent.stop(), operator.stop()]);
  }
}, 60_000);

const BINDINGS = [
  ['1.0', 'JSONRPC'],
  ['1.0', 'HTTP+JSON'],
  ['0.3', 'JSONRPC'],
  ['0.3', 'HTTP+JSON'],
  ['1.0', 'GRPC'],
  ['0.3', 'GRPC'],
] as const;
type Card = Readonly<{ supportedInterfaces: readonly Readonly<{ url: string; protocolBinding: string }>[] }>;

/** An operation has no parameters that could be wrong, or the check names what is wrong in them. */
const FREE = ['ListTasks', 'GetExtendedAgentCard'];
/** Requests of HTTP+JSON that have no body: all is in their path. */
const WITHOUT_BODY = /^(?:Get|List|Delete|Cancel|Subscribe)/;

it.each(BINDINGS)(
  'names what is wrong in the request of each operation of %s over %s',
  (version, transport) => {
    const unchecked = operationsOf(version).filter((operation) => {
      if (FREE.includes(operation) || (transport === 'HTTP+JSON' && WITHOUT_BODY.test(operation)))
        return false;
      const wrong = { message: 1, config: 1, id: '', name: 'x', parent: 'x', taskId: '', url: 'x' };
      const call = { jsonrpc: '2.0', id: 1, method: operation, params: wrong };
      const body = JSON.stringify(transport === 'JSONRPC' ? call : wrong);
      return checkRequest(body, { version, transport, operation }).length === 0;
    });
    expect(unchecked).toEqual([]);
  },
);

it.each(BINDINGS)(
  'names what is wrong in the result of each operation of %s over %s',
  (version, transport) => {
    const unchecked = operationsOf(version).filter((operation) => {
      const result = { tasks: 1, configs: 1, name: '', kind: 'x', task: 1 };
      const frame = transport === 'JSONRPC' ? { jsonrpc: '2.0', id: 1, result } : result;
      const status = transport === 'GRPC' ? 0 : 200;
      return checkFrame(JSON.stringify(frame), { version, transport, operation }, status).length === 0;
    });
    // The result of a deletion is empty.
    expect(unchecked).toEqual(['DeleteTaskPushNotificationConfig']);
  },
);

it('sends what an operator asks for by the rules of egress, and shows and checks each event', async () => {
  const task = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_DONE' } };
  const seen: unknown[] = [];
  const peer = createServer((request, response) => {
    seen.push([request.method, request.url, request.headers['a2a-version'], request.headers['cookie']]);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`data: ${JSON.stringify({ task })}\n\ndata: {"message":\ndata: 1}\n\n`);
  }).listen(0, '127.0.0.1');
  await once(peer, 'listening');
  const host = `127.0.0.1:${(peer.address() as AddressInfo).port}`;
  const asked = {
    ...{ origin: `http://${host}`, path: '/message:stream?key=k', method: 'POST', body: '{}' },
    headers: { accept: 'text/event-stream', 'a2a-version': '1.0' },
    expects: EXPECTS,
  };
  const open = await startServer({ settings: { egress: { allowPrivate: [host] } } });
  const closed = await startServer();
  const remote = { name: 'far', url: `http://${host}/agents/far` };
  const knowing = (more: object) =>
    startServer({ settings: { a2a: { enabled: true, remoteAgents: [{ ...remote, ...more }] } } });
  try {
    const { body } = await inspect(open, asked);
    const { status, frames } = body as Inspection;
    expect(status).toBe(200);
    expect(frames.map(({ text, problems }) => [text, problems])).toEqual([
      [JSON.stringify({ task }), [expect.stringContaining('task.status.state: ')]],
      ['{"message":\n1}', [expect.stringContaining('message: ')]],
    ]);
    expect(seen).toEqual([['POST', '/message:stream?key=k', '1.0', undefined]]);
    const overGrpc = { ...asked, expects: { ...EXPECTS, transport: 'GRPC' }, path: GRPC_METHOD };
    expect((await inspect(closed, overGrpc)).status).toBe(403);
    const refused = await inspect(closed, asked);
    expect(refused.status).toBe(403);
    expect(JSON.stringify(refused.body)).toContain('add it under Agents first');
    const wrong = { ...asked, headers: { cookie: 'a=b' } };
    expect((await inspect(open, wrong)).status).toBe(400);
    expect((await inspect(open, { ...asked, path: '//127.0.0.1:1/' })).status).toBe(400);
    expect(seen).toHaveLength(1);
    // A private address is allowed for the remote agents whose entries say so, and not for every one in the list.
    for (const [more, status] of [
      [{ allowPrivate: true }, 200],
      [{}, 403],
    ] as const) {
      const server = await knowing(more);
      const response = await inspect(server, asked);
      await server.stop();
      expect(response.status).toBe(status);
    }
  } finally {
    await open.stop();
    await closed.stop();
    peer.closeAllConnections();
    peer.close();
  }
}, 30_000);

it('inspects nothing and shows no evaluation to a caller who is no operator', async () => {
  const unread = () => Promise.reject(new Error('read'));
  const handlers = operatorHandlers({
    ...{ isOperator: () => false, hint: '', inspect: () => Promise.reject(new Error('sent')) },
    ...{ retention: { listOwners: async () => [] } },
    agents: { add: () => Promise.reject(new Error('added')), remove: async () => {} },
    evaluations: { listEvaluations: unread, readEvaluation: unread, importEvaluatedTask: unread },
  });
  const caller = { scope: { tenant: '', owner: 'a' }, signal: new AbortController().signal };
  const request = { origin: 'https://agent.example', path: '/', method: 'GET', headers: {} } as const;
  const calls = [
    handlers.inspectAgent(request, caller),
    handlers.listEvaluations({}, caller),
    handlers.readEvaluation({ run: 'first' }, caller),
    handlers.importEvaluatedTask({ run: 'first', result: 0 }, caller),
  ];
  const refusal = { status: 'rejected', reason: expect.objectContaining({ code: 'forbidden' }) };
  expect(await Promise.allSettled(calls)).toEqual(calls.map(() => refusal));
});

it.each([
  [
    'a task of 1.0',
    '{"jsonrpc":"2.0","id":1,"result":{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}}',
    ['1.0'],
  ],
  ['an error', '{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"no"}}', ['1.0']],
  [
    'both of two',
    '{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"no"}}',
    ['1.0', /exactly one of result, error/],
  ],
  [
    'a task of 0.3',
    '{"jsonrpc":"2.0","id":1,"result":{"kind":"task","id":"t","contextId":"c","status":{"state":"input-required"}}}',
    ['0.3'],
  ],
  [
    'a task of 1.0 in 0.3',
    '{"jsonrpc":"2.0","id":1,"result":{"id":"t","contextId":"c","status":{"state":"working"}}}',
    ['0.3', /^result\.kind: /],
  ],
  ['no JSON', '<html>', ['1.0', /^is no JSON/]],
] as const)('checks a frame with %s', (_, text, [version, ...problems]) => {
  const found = checkFrame(text, { version, transport: 'JSONRPC', operation: 'SendMessage' }, 200);
  expect(found).toEqual(problems.map((one) => expect.stringMatching(one)));
});
