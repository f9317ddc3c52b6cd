import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client, isInputRequiredResult, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { CallToolResult, Progress } from '@modelcontextprotocol/client';
import { z } from 'zod';
import type { JsonObject } from '../../../src/core/json.js';
import type { ServerOptions, Tool } from '../../../src/index.js';
import { cleanEnv, mainFile } from '../../cli/lango-process.js';
import { AUDIENCE, startIssuer } from '../../support/issuer.js';
import { KillableServer } from '../../support/killable-server.js';
import { Obedient } from '../../support/obedient-model.js';
import { startPostgres } from '../../support/postgres.js';
import { scriptedAgent } from '../../support/scripted-agent.js';
import { startServer, withServer, type TestServer } from '../../support/server.js';

/** Agents as MCP tools: the client of MCP's own SDK against a whole server. */

const TOOL = { effect: 'pure', schema: z.object({}), timeoutMs: () => 60_000 } as const;
const TOOLS: readonly Tool[] = [
  {
    ...{ ...TOOL, name: 'fs_wipe', description: 'Wipes.', danger: () => 'dangerous' },
    execute: async () => Promise.resolve({ content: 'wiped' }),
  },
  {
    ...{ ...TOOL, name: 'fs_hang', description: 'Hangs.', danger: () => 'safe' },
    execute: (_input, { signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('stopped')))),
  },
  {
    ...{ ...TOOL, name: 'fs_look', description: 'Looks.', danger: () => 'safe' },
    execute: async () => Promise.resolve({ content: 'seen' }),
  },
];
const OPTIONS = (): ServerOptions => ({
  model: new Obedient(),
  tools: TOOLS,
  settings: { server: { port: 0 }, mcp: { serve: true }, tools: { fs: { enabled: true } } },
});

type Version = 'auto' | 'legacy';
type Capabilities = NonNullable<ConstructorParameters<typeof Client>[1]>['capabilities'];

interface Connecting {
  readonly origin: string;
  readonly token: string | undefined;
  readonly mode?: Version;
  readonly capabilities?: Capabilities;
  readonly onConnect?: (client: Client) => void;
}

async function connectTo({ origin, token, mode = 'auto', capabilities = {}, onConnect }: Connecting) {
  const client = new Client(
    { name: 'test', version: '1' },
    { versionNegotiation: { mode }, capabilities: capabilities },
  );
  onConnect?.(client);
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${origin}/mcp`), { requestInit }));
  return client;
}

async function callOperator(client: Client, given: JsonObject): Promise<CallToolResult> {
  return await client.callTool({ name: 'operator', arguments: given });
}

const textsOf = ({ content }: CallToolResult) =>
  content.map((block) => (block.type === 'text' ? block.text : `[${block.type}]`)).join('\n');

const stateOf = ({ structuredContent }: CallToolResult) =>
  structuredContent as { taskId: string; state: string; questions?: { hash: string; tool: string }[] };

describe.each<Version>(['auto', 'legacy'])('agents as MCP tools, version %s', (mode) => {
  let server: TestServer;
  let client: Client;
  beforeAll(async () => {
    server = await startServer(OPTIONS());
    client = await connectTo({ ...server.address, mode });
  });
  afterAll(async () => {
    await client.close();
    await server.stop();
  });

  const ask = (given: JsonObject) => callOperator(client, given);

  it('X8 are offered one by one, each with the description of its card', async () => {
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name).sort()).toEqual([...server.address.agents].sort());
    const card = await server.client.card('operator');
    expect(tools.find(({ name }) => name === 'operator')!.description).toContain(card['description']);
    expect(client.getNegotiatedProtocolVersion()).toBe(mode === 'auto' ? '2026-07-28' : '2025-11-25');
  });

  it('return the artifacts and the task, which A2A finds too, and recognize a repeated message', async () => {
    const first = await ask({ message: 'hello', messageId: `same-${mode}` });
    expect(textsOf(first)).toBe('nothing');
    const { taskId, state } = stateOf(first);
    expect(state).toBe('completed');
    expect((await server.client.get({ taskId, agent: 'operator' })).state).toBe('completed');
    expect(stateOf(await ask({ message: 'hello', messageId: `same-${mode}` })).taskId).toBe(taskId);
    expect(stateOf(await ask({ taskId }))).toMatchObject({ taskId, state: 'completed' });
  });

  it('report the task and the steps of its agents as progress', async () => {
    const lines: Progress[] = [];
    const call = { name: 'operator', arguments: { message: 'fs_look {}' } };
    await client.callTool(call, { onprogress: (line) => lines.push(line) });
    expect(lines.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^task /),
      'operator: calls fs_look',
      'operator: fs_look is done',
    ]);
  });

  it('return a question with its hash, and take the reply by a further call', async () => {
    const asked = await ask({ message: 'fs_wipe {}' });
    const { taskId, state, questions } = stateOf(asked);
    expect(state).toBe('input-required');
    expect(questions).toMatchObject([{ tool: 'fs_wipe', arguments: {} }]);
    expect(textsOf(asked)).toContain(questions![0]!.hash);
    const wrong = await ask({ taskId, answers: [{ hash: 'another', decision: 'approve' }] });
    expect(stateOf(wrong).state).toBe('input-required');
    const answers = [{ hash: questions![0]!.hash, decision: 'deny', text: 'keep it' }];
    expect(stateOf(await ask({ taskId, answers }))).toMatchObject({ taskId, state: 'completed' });
  });

  it('cancel a task by a call', async () => {
    const { taskId } = stateOf(await ask({ message: 'fs_wipe {}' }));
    const canceled = await ask({ taskId, cancel: true });
    expect(canceled).toMatchObject({ isError: true, structuredContent: { state: 'canceled' } });
  });

  it.each<[string, JsonObject]>([
    ['nothing', {}],
    ['a wrong type', { message: 1 }],
    ['an unknown member', { message: 'a', more: true }],
    ['answers without a task', { answers: [{ hash: 'a', decision: 'approve' }] }],
    ['a cancellation with a message', { taskId: 'a', cancel: true, message: 'b' }],
    ['no such task', { taskId: 'no-such-task' }],
    ['a file without a message', { files: [{ bytes: 'AAAA', mediaType: 'text/plain' }] }],
    ['a file that is no base64', { message: 'a', files: [{ bytes: '?', mediaType: 'text/plain' }] }],
    [
      'a file of a type that the agent does not take',
      { message: 'a', files: [{ bytes: 'AAAA', mediaType: 'video/mp4' }] },
    ],
  ])('refuse the input "%s" with a sentence, and store nothing', async (_name, given) => {
    const before = (await server.client.list({ agent: 'operator' })).totalSize;
    const refused = await ask(given);
    expect(refused.isError).toBe(true);
    expect(textsOf(refused)).not.toBe('');
    expect((await server.client.list({ agent: 'operator' })).totalSize).toBe(before);
  });

  it('are refused for an unknown agent, and for a wrong token', async () => {
    const call = client.callTool({ name: 'nobody', arguments: { message: 'a' } });
    await expect(call).rejects.toThrow('There is no tool nobody');
    await expect(connectTo({ ...server.address, mode, token: 'wrong' })).rejects.toThrow(/401|authori/i);
  });

  it('cancel the task of a client that aborts only in the version that has cancellation', async () => {
    const leaving = new AbortController();
    let taskId = '';
    const call = { name: 'operator', arguments: { message: 'fs_hang {}' } };
    const onprogress = ({ message = '' }: Progress) => {
      taskId ||= message.replace(/^task /, '');
      if (message.includes('fs_hang')) leaving.abort();
    };
    await expect(client.callTool(call, { signal: leaving.signal, onprogress })).rejects.toThrow();
    const stateNow = async () => (await server.client.get({ taskId, agent: 'operator' })).state;
    if (mode === 'auto') while ((await stateNow()) !== 'canceled') await sleep(20);
    expect(await stateNow()).toBe(mode === 'auto' ? 'canceled' : 'working');
    if (mode === 'legacy') expect(stateOf(await ask({ taskId, cancel: true })).state).toBe('canceled');
  });
});

it('a client of MCP that shows forms gets questions as forms, and its reply is used', async () => {
  await withServer(OPTIONS(), async ({ address }) => {
    const asked: string[] = [];
    const decisions = ['deny', 'approve'];
    const client = await connectTo({
      ...address,
      capabilities: { elicitation: { form: {} } },
      onConnect: (fresh) =>
        fresh.setRequestHandler('elicitation/create', ({ params }) => {
          asked.push(params.message);
          return { action: 'accept', content: { decision: decisions[asked.length - 1]!, text: 'so be it' } };
        }),
    });
    expect(textsOf(await callOperator(client, { message: 'fs_wipe {}' }))).toContain('so be it');
    expect(textsOf(await callOperator(client, { message: 'fs_wipe {}' }))).toContain('wiped');
    expect(asked).toHaveLength(2);
    expect(asked[0]).toContain('fs_wipe {}');
    await client.close();
  });
});

it('MCP refuses a reply whose state names no task of the caller, and reads a form without a decision as a denial', async () => {
  await withServer(OPTIONS(), async ({ address }) => {
    const client = await connectTo({ ...address, capabilities: { elicitation: { form: {} } } });
    try {
      const call = { name: 'operator', arguments: { message: 'fs_wipe {}' } };
      const options = { allowInputRequired: true } as const;
      const asked = await client.callTool(call, options);
      if (!isInputRequiredResult(asked)) throw new Error('nothing was asked');
      const { inputRequests = {}, requestState = '' } = asked;
      const filled = { action: 'accept' as const, content: { other: 'x' } };
      const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((name) => [name, filled]));
      const forged = { ...call, inputResponses, requestState: `${requestState}x` };
      await expect(client.callTool(forged, options)).rejects.toMatchObject({ code: -32602 });
      const right = { ...forged, requestState };
      const done = await client.callTool(right, options);
      expect(done).toMatchObject({ structuredContent: { state: 'completed' } });
      expect(JSON.stringify(done)).not.toContain('wiped');
    } finally {
      await client.close();
    }
  });
});

it('MCP works on any replica: one accepts the reply to the question of another', async () => {
  const postgres = await startPostgres();
  if (!postgres) return;
  const database = await postgres.database();
  const nodes: TestServer[] = [];
  try {
    for (const _ of ['first', 'second']) {
      const options = OPTIONS();
      const settings = {
        ...options.settings,
        storage: { url: database.url },
        auth: { token: 'the-token-of-both-replicas-4711' },
      };
      nodes.push(await startServer({ ...options, settings }));
    }
    const [first, second] = await Promise.all(
      nodes.map(({ address: { origin } }) => connectTo({ origin, token: 'the-token-of-both-replicas-4711' })),
    );
    const { taskId, questions } = stateOf(await callOperator(first!, { message: 'fs_wipe {}' }));
    const answers = [{ hash: questions![0]!.hash, decision: 'approve' }];
    const ended = await callOperator(second!, { taskId, answers });
    expect(stateOf(ended)).toMatchObject({ taskId, state: 'completed' });
    expect(textsOf(ended)).toContain('wiped');
    expect(stateOf(await callOperator(first!, { taskId }))).toMatchObject({ taskId, state: 'completed' });
    await Promise.all([first!.close(), second!.close()]);
  } finally {
    for (const node of nodes) await node.stop();
    await database.drop();
    await postgres.stop();
  }
});

it('MCP shows an owner nothing of another, and enforces the scopes of agents and of approvals', async () => {
  const issuer = await startIssuer();
  const { settings, ...options } = OPTIONS();
  const auth = {
    mode: 'jwt' as const,
    jwt: { issuer: issuer.url, audience: [AUDIENCE], scopes: [{ agent: 'operator', scope: 'operate' }] },
  };
  const approval = { by: 'approve' };
  await withServer({ ...options, settings: { ...settings, auth, approval } }, async ({ address }) => {
    const as = async (sub: string, scope: string) =>
      connectTo({ ...address, token: await issuer.token({ sub, scope }) });
    const [anna, ben, chief, guest] = await Promise.all([
      as('anna', 'operate'),
      as('ben', 'operate approve'),
      as('anna', 'operate approve'),
      as('guest', 'read'),
    ]);
    const { taskId, questions } = stateOf(await callOperator(anna, { message: 'fs_wipe {}' }));
    const answers = [{ hash: questions![0]!.hash, decision: 'approve' }];
    for (const given of [{ taskId }, { taskId, cancel: true }, { taskId, answers }] as JsonObject[])
      expect(textsOf(await callOperator(ben, given))).toContain('There is no task');
    expect((await callOperator(anna, { taskId, answers })).isError).toBe(true);
    expect(stateOf(await callOperator(anna, { taskId })).state).toBe('input-required');
    expect(textsOf(await callOperator(chief, { taskId, answers }))).toContain('wiped');

    const { tools } = await guest.listTools();
    expect(tools.map(({ name }) => name)).not.toContain('operator');
    expect(textsOf(await callOperator(guest, { message: 'hello' }))).toContain('scope operate');
    await Promise.all([anna, ben, chief, guest].map((client) => client.close()));
  });
  await issuer.close();
});

it('a call of MCP that is repeated after its server was killed finds its task', async () => {
  const server = await KillableServer.open('mcp: { serve: true }\n');
  const given = { message: 'create a file a.txt with hi and then read a.txt', messageId: 'the-same' };
  const call = { name: 'lango-orchestrator', arguments: given };
  const { origin, token } = server;
  const first = await connectTo({ origin, token });
  const seen: string[] = [];
  const isAccepted = Promise.withResolvers<void>();
  const onprogress = ({ message = '' }: Progress) => isAccepted.resolve(void seen.push(message));
  const lost = first.callTool(call, { onprogress }).catch(() => undefined);
  await isAccepted.promise;
  await server.kill();
  // The client of the SDK waits for its own time limit when a stream breaks.
  await first.close();
  await lost;
  await server.start();
  const second = await connectTo({ origin: server.origin, token });
  const result = await second.callTool(call);
  expect(`task ${stateOf(result).taskId}`).toBe(seen[0]);
  expect(stateOf(result).state).toBe('completed');
  await second.close();
  await server.close();
});

it('the loss of a connection of an older MCP version cancels nothing', async () => {
  const { settings, ...options } = OPTIONS();
  const server = { port: 0, limits: { streamsPerCaller: 1 } };
  await withServer({ ...options, settings: { ...settings, server } }, async (server) => {
    const leaving = new AbortController();
    const call = (message: string, signal: AbortSignal) => {
      const params = { name: 'operator', arguments: { message }, _meta: { progressToken: 1 } };
      return server.fetch('/mcp', {
        method: 'POST',
        headers: { accept: 'application/json, text/event-stream' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
        signal,
      });
    };
    const response = await call('fs_hang {}', leaving.signal);
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let seen = '';
    while (!seen.includes('calls fs_hang')) seen += (await reader.read()).value;
    const further = async () => (await call('hello', new AbortController().signal)).text();
    expect(await further()).toContain('limit of open streams');
    leaving.abort();
    const [, taskId = ''] = /"task ([^"]+)"/.exec(seen)!;
    // Once the server has noticed the loss, it accepts a call again. This test fails if that cancels the task.
    while ((await further()).includes('limit of open streams')) await sleep(20);
    const { state } = await server.client.get({ taskId, agent: 'operator' });
    expect(state).toBe('working');
    await server.client.cancel({ taskId, agent: 'operator' });
  });
});

it('calls of MCP count as open streams, and a server that stops cancels none of them', async () => {
  const { settings, ...options } = OPTIONS();
  const home = await mkdtemp(path.join(tmpdir(), 'lango-mcp-'));
  const limits = { streamsPerCaller: 1, drainSeconds: 1 };
  const before = await startServer({
    ...options,
    home,
    settings: { ...settings, server: { port: 0, limits } },
  });
  const client = await connectTo(before.address);
  let taskId = '';
  const hangs = Promise.withResolvers<void>();
  const onprogress = ({ message = '' }: Progress) => {
    taskId ||= message.replace(/^task /, '');
    if (message.includes('fs_hang')) hangs.resolve();
  };
  const call = client.callTool({ name: 'operator', arguments: { message: 'fs_hang {}' } }, { onprogress });
  const lost = call.catch(() => undefined);
  await hangs.promise;
  await expect(callOperator(client, { message: 'hello' })).rejects.toThrow(/limit|429/i);
  await before.stop();
  await client.close();
  await lost;
  const after = await startServer({ ...options, home, settings });
  expect((await after.client.get({ taskId, agent: 'operator' })).state).not.toBe('canceled');
  await after.stop();
  await rm(home, { recursive: true, force: true });
});

it('X8 a call of MCP takes a file with its message, and returns one', async () => {
  const { settings } = OPTIONS();
  await withServer({ agents: [scriptedAgent('worker')], settings: { ...settings } }, async ({ address }) => {
    const client = await connectTo(address);
    const bytes = btoa('buy milk');
    const files = [{ bytes, mediaType: 'text/plain', name: 'notes.txt' }];
    const given = { name: 'worker', arguments: { message: 'echo', files } };
    const { content } = await client.callTool(given);
    expect(content).toEqual([
      { type: 'resource', resource: expect.objectContaining({ mimeType: 'text/plain', blob: bytes }) },
    ]);
    await client.close();
  });
});

it('X8 each call of MCP has a line in the audit log with its owner, as a call over A2A has', async () => {
  await withServer(OPTIONS(), async ({ address, log }) => {
    const client = await connectTo(address);
    const { taskId } = stateOf(await callOperator(client, { message: 'fs_wipe {}' }));
    await callOperator(client, { taskId, cancel: true });
    await callOperator(client, { taskId, answers: [{ hash: 'none', decision: 'approve' }] });
    await client.close();
    const lines = log.lines.map((line) => JSON.parse(line) as JsonObject);
    const audit = lines.filter(({ message, task }) => message === 'audit' && task === taskId);
    const common = { agent: 'operator', owner: 'default', from: '127.0.0.1' };
    expect(audit).toMatchObject([
      { operation: 'SendStreamingMessage', outcome: 'ok', ...common },
      { operation: 'CancelTask', outcome: 'ok', ...common },
      { operation: 'SendStreamingMessage', outcome: 'already-ended', ...common },
    ]);
  });
});

it('MCP is not served unless it is switched on', async () => {
  await withServer({ model: new Obedient() }, async (server) => {
    expect((await server.fetch('/mcp', { method: 'POST', body: '{}' })).status).toBe(404);
  });
});

describe.each<Version>(['auto', 'legacy'])('lango mcp serve, version %s', (mode) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startServer(OPTIONS());
  });
  afterAll(() => server.stop());

  const start = async (env: Record<string, string>) => {
    const program = { command: process.execPath, args: [mainFile(), 'mcp', 'serve'], env: cleanEnv(env) };
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
    await client.connect(new StdioClientTransport({ ...program, stderr: 'ignore' }));
    return client;
  };

  it('gives a client that starts it as a program the same tools, progress and cancellation', async () => {
    const client = await start({ LANGO_URL: server.address.origin, LANGO_TOKEN: server.address.token! });
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('operator');
    expect(textsOf(await callOperator(client, { message: 'fs_look {}' }))).toBe('seen');
    const leaving = new AbortController();
    let taskId = '';
    const call = { name: 'operator', arguments: { message: 'fs_hang {}' } };
    const onprogress = ({ message = '' }: Progress) => {
      taskId ||= message.replace(/^task /, '');
      if (message.includes('fs_hang')) leaving.abort();
    };
    await expect(client.callTool(call, { signal: leaving.signal, onprogress })).rejects.toThrow();
    while ((await server.client.get({ taskId, agent: 'operator' })).state !== 'canceled') await sleep(20);
    await client.close();
  });

  it('reports why it cannot start: a wrong token, or MCP switched off at the server', async () => {
    await expect(start({ LANGO_URL: server.address.origin, LANGO_TOKEN: 'wrong' })).rejects.toThrow();
    const off = await startServer({ model: new Obedient() });
    const { origin, token } = off.address;
    await expect(start({ LANGO_URL: origin, LANGO_TOKEN: token! })).rejects.toThrow('mcp.serve');
    await off.stop();
  });
});
