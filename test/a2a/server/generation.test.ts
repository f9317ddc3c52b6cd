import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SendMessageRequest } from '@a2a-js/sdk';
import { A2AService } from '@a2a-js/sdk/server/grpc';
import { Client, Metadata, credentials, status } from '@grpc/grpc-js';
import type { ServiceError } from '@grpc/grpc-js';
import { int64At } from '../../../src/a2a/server/grpc/generation-fields.js';
import { GENERATION } from '../../../src/core/extensions.js';
import { userMessage } from '../../support/a2a-requests.js';
import type { TestServer } from '../../support/server.js';
import { startServer } from '../../support/server.js';
import { scriptedAgent } from '../../support/scripted-agent.js';

/** `generation` of the draft of A2A 1.1, with the names, numbers and rules of its branch dev-1.1. */

let server: TestServer;
beforeAll(async () => {
  server = await startServer({
    agents: [scriptedAgent('worker')],
    settings: { server: { port: 0, grpc: { enabled: true, port: 0 } } },
  });
});
afterAll(() => server.stop());

const ASKING = { 'a2a-version': '1.0', 'a2a-extensions': GENERATION };

/** The response of a transport: the generations in their order, or the error. */
interface Reply {
  readonly generations: readonly (string | undefined)[];
  readonly taskId?: string | undefined;
  readonly state?: string | undefined;
  readonly error?: string | number | undefined;
}

interface Way {
  readonly name: string;
  readonly mismatch: string | number;
  send(message: object, ifGenerationMatch?: number): Promise<Reply>;
  stream(message: object): Promise<Reply>;
  subscribe(taskId: string, after: number): Promise<Reply>;
  get(taskId: string, currentGeneration?: number): Promise<Reply>;
  list(contextId: string): Promise<Reply>;
}

interface Holder {
  readonly generation?: string;
  readonly id?: string;
  readonly taskId?: string;
  readonly status?: { readonly state: string };
}

function replyOf(holders: readonly Holder[]): Reply {
  const last = holders.at(-1);
  return {
    generations: holders.map(({ generation }) => generation),
    taskId: last?.id ?? last?.taskId,
    state: last?.status?.state,
  };
}

const heldIn = (json: object): Holder =>
  'status' in json || 'id' in json ? (json as Holder) : (Object.values(json)[0] as Holder);

const eventsIn = (text: string): Record<string, object>[] =>
  [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data!) as Record<string, object>);

const rest: Way = {
  name: 'HTTP+JSON',
  mismatch: '409 ABORTED TASK_GENERATION_MISMATCH',
  async send(message, ifGenerationMatch) {
    const body = { message, configuration: { ifGenerationMatch } };
    return restReply(await ask('/agents/worker/message:send', body));
  },
  async stream(message) {
    const answer = await ask('/agents/worker/message:stream', { message });
    return replyOf(eventsIn(await answer.text()).map(heldIn));
  },
  async subscribe(taskId, after) {
    const path = `/agents/worker/tasks/${taskId}:subscribe`;
    const answer = await ask(path, undefined, { 'last-event-id': String(after) });
    return replyOf(eventsIn(await answer.text()).map(heldIn));
  },
  async get(taskId, currentGeneration) {
    const query = currentGeneration === undefined ? '' : `?currentGeneration=${currentGeneration}`;
    return restReply(await ask(`/agents/worker/tasks/${taskId}${query}`));
  },
  async list(contextId) {
    const answer = await ask(`/agents/worker/tasks?contextId=${contextId}`);
    return replyOf(((await answer.json()) as { tasks: Holder[] }).tasks);
  },
};

function ask(path: string, body?: object, headers = {}): Promise<Response> {
  const sent = body && { method: 'POST', body: JSON.stringify(body) };
  return server.fetch(path, { ...sent, headers: { ...ASKING, ...headers } });
}

async function restReply(answer: Response): Promise<Reply> {
  const json = (await answer.json()) as { error?: { status: string; details: { reason: string }[] } };
  if (!json.error) return replyOf([heldIn(json)]);
  return {
    generations: [],
    error: `${answer.status} ${json.error.status} ${json.error.details[0]!.reason}`,
  };
}

async function rpc(method: string, params: object, headers = {}): Promise<Record<string, object>[]> {
  const answer = await ask('/agents/worker', { jsonrpc: '2.0', id: 1, method, params }, headers);
  const text = await answer.text();
  return text.startsWith('{') ? [JSON.parse(text) as Record<string, object>] : eventsIn(text);
}

function rpcReply(answers: readonly Record<string, object>[]): Reply {
  const error = answers[0]?.['error'] as { readonly code: number } | undefined;
  return error
    ? { generations: [], error: error.code }
    : replyOf(answers.map(({ result }) => heldIn(result!)));
}

const jsonRpc: Way = {
  name: 'JSON-RPC',
  mismatch: -32010,
  send: async (message, ifGenerationMatch) =>
    rpcReply(await rpc('SendMessage', { message, configuration: { ifGenerationMatch } })),
  stream: async (message) => rpcReply(await rpc('SendStreamingMessage', { message })),
  subscribe: async (id, after) =>
    rpcReply(await rpc('SubscribeToTask', { id }, { 'last-event-id': String(after) })),
  get: async (id, currentGeneration) => rpcReply(await rpc('GetTask', { id, currentGeneration })),
  async list(contextId) {
    const [answer] = await rpc('ListTasks', { contextId });
    return replyOf((answer!['result'] as { tasks: Holder[] }).tasks);
  },
};

/** Field numbers of a2a.proto on the branch. */
const FIELDS = { task: 7, statusUpdate: 5, artifactUpdate: 7 };
const varint = (field: number, value: number): Buffer => Buffer.from([field * 8, value]);
const nested = (field: number, bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from([field * 8 + 2, bytes.length]), bytes]);

/** Calls a method with further bytes after those of the request, and reads the fields that the SDK's codec drops. */
async function grpc(
  method: 'sendMessage' | 'sendStreamingMessage' | 'subscribeToTask' | 'getTask' | 'listTasks',
  request: object,
  more: { readonly bytes?: Buffer; readonly after?: number } = {},
): Promise<Reply> {
  const { path, requestSerialize, responseDeserialize } = A2AService[method];
  const client = new Client(`127.0.0.1:${server.address.grpcPort}`, credentials.createInsecure());
  const metadata = new Metadata();
  const headers = { ...ASKING, authorization: `Bearer ${server.address.token}` };
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  if (more.after !== undefined) metadata.set('last-event-id', String(more.after));
  const serialize = requestSerialize as (value: unknown) => Buffer;
  const deserialize = responseDeserialize as unknown as (bytes: Buffer) => {
    readonly payload?: { readonly $case: keyof typeof FIELDS; readonly value: Holder };
    readonly tasks?: readonly Holder[];
  };
  const stream = client.makeServerStreamRequest(
    path,
    (value: object) => Buffer.concat([serialize({ tenant: 'worker', ...value }), more.bytes ?? Buffer.of()]),
    (bytes: Buffer) => ({ bytes, value: deserialize(bytes) }),
    request,
    metadata,
  );
  const held: Holder[] = [];
  try {
    for await (const { bytes, value } of stream as AsyncIterable<{
      bytes: Buffer;
      value: ReturnType<typeof deserialize>;
    }>) {
      const { payload } = value;
      const outer = { task: 1, statusUpdate: 3, artifactUpdate: 4 };
      const found = payload
        ? int64At(bytes, [outer[payload.$case], FIELDS[payload.$case]])
        : int64At(bytes, value.tasks ? [1, FIELDS.task] : [FIELDS.task]);
      const { id, taskId } = payload?.value ?? value.tasks?.[0] ?? (value as Holder);
      held.push({ ...(found === undefined ? {} : { generation: found }), id: (id || taskId)! });
    }
    return replyOf(held);
  } catch (error) {
    return { generations: [], error: status[(error as ServiceError).code] };
  } finally {
    client.close();
  }
}

const overGrpc: Way = {
  name: 'gRPC',
  mismatch: 'ABORTED',
  send: (message, ifGenerationMatch) =>
    grpc('sendMessage', SendMessageRequest.fromJSON({ message, tenant: 'worker' }), {
      ...(ifGenerationMatch === undefined ? {} : { bytes: nested(3, varint(5, ifGenerationMatch)) }),
    }),
  stream: (message) =>
    grpc('sendStreamingMessage', SendMessageRequest.fromJSON({ message, tenant: 'worker' })),
  subscribe: (id, after) => grpc('subscribeToTask', { id }, { after }),
  get: (id, currentGeneration) =>
    grpc('getTask', { id }, currentGeneration === undefined ? {} : { bytes: varint(4, currentGeneration) }),
  list: (contextId) => grpc('listTasks', { contextId, status: 0, pageToken: '' }),
};

const message = (text: string, more: object = {}): object => ({ ...userMessage(text).message, ...more });
const upTo = (from: number, length: number) => Array.from({ length }, (_, at) => String(from + at));

describe.each([rest, jsonRpc, overGrpc])('generation over $name', (way) => {
  it('begins at 1, grows by 1 with each event, and is on the task', async () => {
    const contextId = crypto.randomUUID();
    const { generations, taskId } = await way.stream(message('chunks 5', { contextId }));
    expect(generations.length).toBeGreaterThan(6);
    expect(generations).toEqual(upTo(1, generations.length));
    const last = generations.at(-1);
    expect((await way.get(taskId!)).generations).toEqual([last]);
    expect((await way.list(contextId)).generations).toEqual([last]);
    expect((await way.send(message('say x'))).generations).toEqual([expect.stringMatching(/^\d+$/)]);
  });

  it('stays the same for a reader that resumes by its cursor', async () => {
    const { generations, taskId } = await way.stream(message('chunks 5'));
    const replayed = (await way.subscribe(taskId!, 4)).generations;
    expect(replayed.length).toBeGreaterThan(3);
    expect(replayed).toEqual(generations.slice(-replayed.length));
  });

  it('guards a message: one for another generation is refused, and nothing is stored', async () => {
    const { generations, taskId } = await way.send(message('ask'));
    const now = Number(generations[0]);
    const late = await way.send(message('say no', { taskId }), now - 1);
    expect(late.error).toBe(way.mismatch);
    expect((await way.get(taskId!)).generations).toEqual(generations);
    const answer = message('say yes', { taskId });
    const told = await way.send(answer, now);
    expect(Number(told.generations[0])).toBeGreaterThan(now);
    // A send that is repeated after its response was lost gets the first response, at any generation.
    expect((await way.send(answer, now)).generations).toEqual(told.generations);
  });

  it('admits one of many concurrent replies to the same question', async () => {
    const { generations, taskId } = await way.send(message('ask'));
    const now = Number(generations[0]);
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, at) => way.send(message(`ask ${at}`, { taskId }), now)),
    );
    expect(answers.filter(({ error }) => error === undefined)).toHaveLength(1);
    expect(answers.filter(({ error }) => error === way.mismatch)).toHaveLength(7);
  });

  it('can be awaited by a read, which resolves once the task has passed it', async () => {
    const { generations, taskId } = await way.send(message('ask'));
    const now = Number(generations[0]);
    expect((await way.get(taskId!, now - 1)).generations).toEqual(generations);
    let isHeld = true;
    const waiting = way.get(taskId!, now).finally(() => (isHeld = false));
    await way.get(taskId!);
    expect(isHeld).toBe(true);
    await way.send(message('say yes', { taskId }), now);
    expect(Number((await waiting).generations[0])).toBeGreaterThan(now);
    // An ended task does not change any more.
    await way.get(taskId!, now + 100);
  });
});

it.each([
  ['an end-group tag and half a varint', [0x7c, 0xff]],
  ['a configuration that says it is longer than the message', [0x7c, 0x1a, 0x7f]],
])('a gRPC message with %s at its end is refused', async (_what, bytes) => {
  const request = SendMessageRequest.fromJSON({ message: message('say x'), tenant: 'worker' });
  const { error } = await grpc('sendMessage', request, { bytes: Buffer.from(bytes) });
  expect(error).toBe('INVALID_ARGUMENT');
});

it('a client that does not ask for the extension gets no generation', async () => {
  const answer = await server.fetch('/agents/worker/message:stream', {
    ...{ method: 'POST', body: JSON.stringify({ message: message('chunks 3') }) },
    headers: { 'a2a-version': '1.0' },
  });
  expect(answer.headers.get('a2a-extensions')).toBeNull();
  expect(await answer.text()).not.toContain('generation');
});
