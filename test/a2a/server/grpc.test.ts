import { afterEach, describe, expect, it } from '@jest/globals';
import { A2AService } from '@a2a-js/sdk/server/grpc';
import { decodeErrorInfo, decodeStatus } from '@a2a-js/sdk/errors/grpc';
import type { Client, ServiceError } from '@grpc/grpc-js';
import { Metadata, credentials, makeGenericClientConstructor, status } from '@grpc/grpc-js';
import type { A2aNode, A2aNodeOptions } from '../../support/a2a-node.js';
import { TOKEN, startA2aNode } from '../../support/a2a-node.js';
import { taskIn } from '../../support/a2a-requests.js';
import { withServer } from '../../support/server.js';
import { scriptedAgent } from '../../support/scripted-agent.js';
import { request } from '../../suites/a2a-operations.js';

let node: A2aNode;
let client: Client;

afterEach(async () => {
  client.close();
  await node.stop();
});

async function start(options: Partial<A2aNodeOptions> = {}): Promise<void> {
  node = await startA2aNode({
    agents: [scriptedAgent('root'), scriptedAgent('operator')],
    grpc: true,
    ...options,
  });
  const Connection = makeGenericClientConstructor(A2AService, 'A2AService');
  client = new Connection(node.grpc, credentials.createInsecure());
}

function metadata(more: Readonly<Record<string, string>> = {}): Metadata {
  const all = new Metadata();
  for (const [name, value] of Object.entries({
    authorization: `Bearer ${TOKEN}`,
    'a2a-extensions': 'urn:lango:a2a:cursor:v1',
    ...more,
  }))
    all.set(name, value);
  return all;
}

interface CallResult {
  readonly error: ServiceError | null;
  readonly value: { readonly payload?: { readonly value: { readonly id: string } } } | undefined;
  readonly head: Metadata;
}

function call(
  method: keyof A2AService,
  message: object,
  options: { sent?: Metadata; deadlineMs?: number } = {},
): Promise<CallResult> {
  const { path, requestSerialize, responseDeserialize } = A2AService[method];
  const deadline = options.deadlineMs === undefined ? {} : { deadline: Date.now() + options.deadlineMs };
  return new Promise((resolve) => {
    let head = new Metadata();
    const serialize = requestSerialize as (value: object) => Buffer;
    const deserialize = responseDeserialize;
    client
      .makeUnaryRequest(
        path,
        serialize,
        deserialize,
        message,
        options.sent ?? metadata(),
        deadline,
        (error, value) => resolve({ error, value: value, head }),
      )
      .on('metadata', (received) => (head = received));
  });
}

function send(text: string, tenant = 'operator', configuration: object = {}): object {
  return { ...request(text, {}, configuration), tenant };
}

interface Streamed {
  readonly payload?: {
    readonly $case: string;
    readonly value: {
      readonly id: string;
      readonly metadata: Readonly<Record<string, { readonly seq: number } | undefined>>;
    };
  };
}

interface Ended {
  readonly code: status;
  readonly events: readonly Streamed[];
}

function open(method: 'sendStreamingMessage' | 'subscribeToTask', params: object, more = {}) {
  const { path, requestSerialize, responseDeserialize } = A2AService[method];
  const stream = client.makeServerStreamRequest(
    path,
    requestSerialize as (value: object) => Buffer,
    responseDeserialize,
    params,
    metadata(more),
  );
  const events: Streamed[] = [];
  const ended = new Promise<Ended>((resolve) => {
    stream.on('data', (event: Streamed) => events.push(event));
    stream.on('error', ({ code }: ServiceError) => resolve({ code, events }));
    stream.on('end', () => resolve({ code: status.OK, events }));
  });
  return { stream, ended };
}

describe('X5 gRPC', () => {
  it('finds the agent by its tenant, without one the root agent; an unknown one is refused', async () => {
    await start();
    expect((await call('sendMessage', send('say x'))).error).toBeNull();
    expect((await call('sendMessage', send('say x', ''))).error).toBeNull();
    for (const tenant of ['nobody', 'constructor']) {
      const { error } = await call('sendMessage', send('say x', tenant));
      expect(error).toMatchObject({ code: status.NOT_FOUND, details: expect.stringMatching(/agent/) });
    }
    const { value } = await call('sendMessage', send('say x'));
    const id = value!.payload!.value.id;
    expect((await call('getTask', { tenant: 'root', id })).error?.code).toBe(status.NOT_FOUND);
  });

  it('authenticates callers as HTTP does', async () => {
    await start();
    for (const authorization of ['Bearer wrong', 'Basic x', '']) {
      const { error } = await call(
        'getTask',
        { tenant: 'operator', id: 'x' },
        { sent: metadata({ authorization }) },
      );
      expect(error?.code).toBe(status.UNAUTHENTICATED);
    }
  });

  it('reports errors with the details of the other bindings', async () => {
    await start();
    const { error } = await call('getTask', { tenant: 'operator', id: 'missing' });
    const told = decodeStatus(error!.metadata.get('grpc-status-details-bin')[0] as Buffer);
    expect(told.code).toBe(status.NOT_FOUND);
    expect(decodeErrorInfo(told.details[0]!.value)).toMatchObject({
      reason: 'TASK_NOT_FOUND',
      domain: 'a2a-protocol.org',
    });
    const { error: invalid } = await call('sendMessage', {
      ...request('', { parts: [] }),
      tenant: 'operator',
    });
    const types = decodeStatus(invalid!.metadata.get('grpc-status-details-bin')[0] as Buffer).details;
    expect(types.map(({ typeUrl }) => typeUrl)).toContain('type.googleapis.com/google.rpc.BadRequest');
  });

  it('3.1 #15 accepts versions by major and minor, and refuses others', async () => {
    await start();
    const get = (version: string) =>
      call('getTask', { tenant: 'operator', id: 'x' }, { sent: metadata({ 'a2a-version': version }) });
    expect((await get('1.0.7')).error?.code).toBe(status.NOT_FOUND);
    for (const version of ['0.3', '2.0'])
      expect((await get(version)).error?.code).toBe(status.FAILED_PRECONDITION);
  });

  it('names the active extensions in the head of a response', async () => {
    await start();
    const sent = metadata({ 'a2a-extensions': 'urn:lango:a2a:cursor:v1, urn:nobody' });
    const { head } = await call('sendMessage', send('say x'), { sent });
    expect(head.get('a2a-extensions')).toEqual(['urn:lango:a2a:cursor:v1']);
  });

  it('refuses messages that are too large, malformed or nested too deep', async () => {
    await start();
    const big = await call('sendMessage', send('x'.repeat(1_100_000)));
    expect(big.error?.code).toBe(status.RESOURCE_EXHAUSTED);
    const nan = {
      content: { $case: 'data' as const, value: Number.NaN },
      metadata: undefined,
      filename: '',
      mediaType: '',
    };
    const odd = await call('sendMessage', { ...request('', { parts: [nan] }), tenant: 'operator' });
    expect(odd.error?.code).toBe(status.INVALID_ARGUMENT);
    const broken = await new Promise<ServiceError | null>((resolve) =>
      client.makeUnaryRequest(
        A2AService.sendMessage.path,
        () => Buffer.from([0x0a, 0xff, 0xff, 0xff]),
        (bytes) => bytes,
        {},
        metadata(),
        (error) => resolve(error),
      ),
    );
    expect(broken?.code).toBe(status.INVALID_ARGUMENT);
    expect((await call('sendMessage', send('say still here'))).error).toBeNull();
  });

  it('leaves the task running when the deadline of a call passes', async () => {
    await start();
    const list = async () =>
      (await node.journal.list({ tenant: '', owner: 'default' }, { agent: 'operator', pageSize: 1 })).tasks;
    // On a busy machine a short deadline may pass before the call arrives.
    for (let deadlineMs = 300; (await list()).length === 0; deadlineMs *= 2) {
      const asked = await call('sendMessage', send('wait'), { deadlineMs });
      expect(asked.error?.code).toBe(status.DEADLINE_EXCEEDED);
    }
    // The server has taken the end of the earlier call, which comes before this call on their connection.
    await call('getTask', { tenant: 'operator', id: 'nothing' });
    expect((await list())[0]?.state).toBe('working');
  });

  it('cuts a stream whose reader takes nothing, frees its slot, and sends the rest from the cursor', async () => {
    const pieces = 100;
    const much = scriptedAgent('operator', async (run) => {
      for (let n = 0; n < pieces; n += 1) {
        const text = 'x'.repeat(200_000);
        await run.append({ type: 'text-delta', artifactId: 'answer', text, replace: n === 0 });
      }
      return { state: 'completed' };
    });
    await start({ agents: [much], streams: { streams: 1, heartbeatSeconds: 1 } });
    const stuck = open('sendStreamingMessage', send('much'));
    await new Promise((resolve) => stuck.stream.once('data', resolve));
    stuck.stream.pause();
    let place: Ended;
    do place = await open('subscribeToTask', { tenant: 'operator', id: 'nothing' }).ended;
    while (place.code === status.RESOURCE_EXHAUSTED);
    expect(place.code).toBe(status.NOT_FOUND);
    stuck.stream.resume();
    const cut = await stuck.ended;
    expect(cut).toMatchObject({ code: status.RESOURCE_EXHAUSTED });
    const { id } = cut.events[0]!.payload!.value;
    const all = [...cut.events];
    for (let code: status = status.UNKNOWN; code !== status.OK;) {
      const after = String(all.at(-1)!.payload!.value.metadata['urn:lango:a2a:cursor:v1']!.seq);
      const more = await open('subscribeToTask', { tenant: 'operator', id }, { 'last-event-id': after })
        .ended;
      all.push(...more.events);
      code = more.code;
    }
    expect(all.filter(({ payload }) => payload?.$case === 'artifactUpdate')).toHaveLength(pieces);
  });

  it('shares its limit of streams with HTTP, and frees a slot when a reader leaves', async () => {
    await start({ streams: { streams: 1 } });
    const { value } = await call('sendMessage', send('wait', 'operator', { returnImmediately: true }));
    const id = value!.payload!.value.id;
    await taskIn(node, id, 'working');
    const { path, requestSerialize, responseDeserialize } = A2AService.subscribeToTask;
    const open = () =>
      client
        .makeServerStreamRequest(
          path,
          requestSerialize,
          responseDeserialize,
          { tenant: 'operator', id },
          metadata(),
        )
        .on('error', () => {});
    const first = open();
    await new Promise((resolve) => first.once('data', resolve));
    const http = await fetch(`${node.origin}/agents/operator/tasks/${id}:subscribe`, {
      headers: { Authorization: `Bearer ${TOKEN}` },
    });
    expect(http.status).toBe(429);
    first.cancel();
    for (let freed = false; !freed;) {
      const next = open();
      freed = await new Promise((resolve) => {
        next.once('data', () => resolve(true));
        next.once('error', () => setTimeout(() => resolve(false), 20));
      });
      next.cancel();
    }
  });

  it('ends open streams when the server stops, and stops in time', async () => {
    await start();
    const { value } = await call('sendMessage', send('wait', 'operator', { returnImmediately: true }));
    const id = value!.payload!.value.id;
    const { path, requestSerialize, responseDeserialize } = A2AService.subscribeToTask;
    const stream = client.makeServerStreamRequest(
      path,
      requestSerialize,
      responseDeserialize,
      { tenant: 'operator', id },
      metadata(),
    );
    const ended = new Promise<ServiceError>((resolve) => stream.once('error', resolve));
    await new Promise((resolve) => stream.once('data', resolve));
    await node.stop();
    expect((await ended).code).toBe(status.UNAVAILABLE);
    await start();
  });
});

describe('X5 gRPC by configuration', () => {
  it('is off by default, uses a free port, and is on each card', async () => {
    await start();
    await withServer({}, async ({ address }) => void expect(address.grpcPort).toBeUndefined());
    await withServer(
      { settings: { server: { port: 0, grpc: { enabled: true, port: 0 } } } },
      async (server) => {
        const port = server.address.grpcPort!;
        expect(port).toBeGreaterThan(0);
        const headers = { 'A2A-Version': '1.0' };
        const card = (await (await server.fetch('/.well-known/agent-card.json', { headers })).json()) as {
          readonly supportedInterfaces: readonly object[];
        };
        const tenant = server.address.root;
        expect(card.supportedInterfaces).toContainEqual({
          url: `127.0.0.1:${port}`,
          protocolBinding: 'GRPC',
          protocolVersion: '1.0',
          tenant,
        });
      },
    );
  });
});
