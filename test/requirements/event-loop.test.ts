import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { SendMessageRequest, SendMessageResponse } from '@a2a-js/sdk';
import { A2AService } from '@a2a-js/sdk/server/grpc';
import { Server, ServerCredentials, type sendUnaryData } from '@grpc/grpc-js';
import { promisify } from 'node:util';
import { callGrpc, frame } from '../../lab/abuse/fuzz/grpc-call.js';
import type { ModelProvider } from '../../src/index.js';
import { exactJson, safeLine, safeText } from '../../src/terminal/safe-text.js';
import { anthropicWire } from '../support/anthropic-wire.js';
import { startHostilePeer } from '../support/hostile-peer.js';
import { API_KEY } from '../support/model-wire.js';
import { openaiWire } from '../support/openai-wire.js';
import { responsesWire } from '../support/responses-wire.js';
import { ask, call, resultsIn, say, ScriptedModel } from '../support/scripted-model.js';
import { ScriptedServer } from '../support/scripted-server.js';
import { sendText, type TestServer, withServer } from '../support/server.js';
import { MAX_RUNS, unheld, unheldWith } from '../support/watchdog.js';

/** The costliest bytes within the limits of each input: none of them blocks the event loop of the server. */

const EVENTS = { 'content-type': 'text/event-stream' };
const MANY = 1_000_000;
/** Lines of an event stream that carry no meaning and must still be read one by one. */
const LINES = ['\n', '\r', ':\n\n', 'data:\n'];
const AT_ONCE = 8;

let far: ScriptedServer;
beforeEach(async () => void (far = await ScriptedServer.open()));
afterEach(() => far[Symbol.asyncDispose]());

/** An event stream in these chunks, as bytes of HTTP: a server of Node would send them as one. */
function chunked(texts: readonly string[]): Buffer {
  const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n';
  const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
  return Buffer.from(`${head}${texts.map(chunk).join('')}0\r\n\r\n`);
}

describe.each([
  { name: 'Chat Completions', model: { provider: 'openai', api: 'chat' }, wire: openaiWire, path: '/v1' },
  { name: 'Responses', model: { provider: 'openai', api: 'responses' }, wire: responsesWire, path: '/v1' },
  { name: 'Messages', model: { provider: 'anthropic' }, wire: anthropicWire, path: '' },
] as const)('concurrent responses of $name', ({ model, wire, path }) => {
  const good = wire.answer({ texts: ['hello'], stop: 'end' });
  const settings = () => ({
    server: { port: 0 },
    agent: { multiAgent: false },
    model: { ...model, name: 'm', apiKey: API_KEY, baseUrl: far.url + path, maxRetries: 0 },
  });
  const asked = async (server: TestServer) =>
    Promise.all(Array.from({ length: AT_ONCE }, () => sendText(server, 'hello')));

  it.each(LINES)('do not block the event loop: a million times %j', async (line) => {
    far.willAlwaysReply((response) => void response.writeHead(200, EVENTS).end(line.repeat(MANY) + good));
    await withServer({ settings: settings() }, async (server) => {
      const { result } = await unheld(() => asked(server));
      for (const { end } of result) expect(end.text).toBe('hello');
    });
  });

  it('do not block the event loop: 20,000 chunks', async () => {
    const answer = chunked([...Array<string>(20_000).fill('\n'), good]);
    far.willAlwaysReply((response) => void response.socket!.end(answer));
    await withServer({ settings: settings() }, async (server) => {
      const { result } = await unheld(() => asked(server));
      for (const { end } of result) expect(end.text).toBe('hello');
    });
  });
});

it('a model of the program that never waits does not block the event loop: 200,000 pieces', async () => {
  const answer = say('x '.repeat(200_000));
  const model: ModelProvider = {
    id: 'own',
    async *stream() {
      for (let piece = 0; piece < 200_000; piece += 1) yield { type: 'text', text: 'x ' };
      yield { type: 'end', answer };
    },
  };
  const settings = { server: { port: 0 }, agent: { multiAgent: false } };
  await withServer({ settings, model }, async (server) => {
    const { result } = await unheld(() => sendText(server, 'hello'));
    expect(result.end.state).toBe('completed');
  });
});

it('streams of four MCP servers at once do not block the event loop: each with a million lines of one kind', async () => {
  await using closed = new AsyncDisposableStack();
  const servers: Record<string, { readonly url: string; readonly timeoutSeconds: number }> = {};
  const all = await Promise.all(LINES.map(() => ScriptedServer.open()));
  for (const [number, line] of LINES.entries()) {
    const server = closed.use(all[number]!);
    server.willAlwaysReply((response) => void response.writeHead(200, EVENTS).end(line.repeat(MANY)));
    servers[`far${number}`] = { url: server.url, timeoutSeconds: 1 };
  }
  const model = new ScriptedModel({ operator: Array.from({ length: MAX_RUNS }, () => say('hello')) });
  await withServer({ settings: { server: { port: 0 }, mcp: { servers } }, model }, async (server) => {
    const { result } = await unheld(() => sendText(server, 'hello', { agent: 'operator' }));
    expect(result.end.text).toBe('hello');
  });
  for (const server of all) expect(server.requests.length).toBeGreaterThan(0);
});

const WORKING = { id: 'far', contextId: '' };
const ENDED = { taskId: 'far', contextId: '' };

describe.each([
  {
    name: 'HTTP+JSON',
    card: { protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
    first: { task: { ...WORKING, status: { state: 'TASK_STATE_WORKING' } } },
    last: { statusUpdate: { ...ENDED, status: { state: 'TASK_STATE_COMPLETED' } } },
  },
  {
    name: 'JSON-RPC of 0.3',
    card: { protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
    first: { ...WORKING, kind: 'task', status: { state: 'working' } },
    last: { ...ENDED, kind: 'status-update', final: true, status: { state: 'completed' } },
  },
])('a stream of a peer over $name', ({ card, first, last }) => {
  // The library reads no line break from a carriage return alone.
  it.each(LINES.filter((line) => line !== '\r'))(
    'does not block the event loop: a million times %j',
    async (line) => {
      const peer = await startHostilePeer(
        ({ response, event }) => {
          const write =
            card.protocolBinding === 'JSONRPC' ? event : (one: object) => `data: ${JSON.stringify(one)}\n\n`;
          response.writeHead(200, EVENTS).end(write(first) + line.repeat(MANY) + write(last));
        },
        { onCard: (answer) => answer({ supportedInterfaces: [{ url: peer.url, ...card }] }) },
      );
      try {
        await withStranger(peer.url, async (server) => {
          const { result } = await unheld(() => sendText(server, 'ask the stranger'));
          expect(result.end.text).toMatch(/^told: stranger finished/);
        });
      } finally {
        await peer.close();
      }
    },
  );
});

it.each([
  ['response', { streaming: false }],
  ['event', {}],
])('a %s of a peer with a million lists does not block the event loop', async (_name, capabilities) => {
  const data = `[${'[],'.repeat(MANY)}1]`;
  const task = `"id":"far","contextId":"","status":{"state":"TASK_STATE_COMPLETED"}`;
  const artifacts = `[{"artifactId":"a","parts":[{"data":${data}}]}]`;
  const answer = `{"jsonrpc":"2.0","id":1,"result":{"task":{${task},"artifacts":${artifacts}}}}`;
  const isStream = !('streaming' in capabilities);
  const peer = await startHostilePeer(({ response }) => {
    response.setHeader('content-type', isStream ? 'text/event-stream' : 'application/json');
    response.end(isStream ? `data: ${answer}\n\n` : answer);
  }, capabilities);
  try {
    await withStranger(peer.url, async (server) => {
      const { result } = await unheld(() => sendText(server, 'ask the stranger'));
      expect(result.end.text).toMatch(/^told: stranger failed: .*more than 25000 lists and objects/);
    });
  } finally {
    await peer.close();
  }
});

it.each([
  ['a peer', 140_000, []],
  ['LangGraph', 140_000, [{ uri: 'https://langchain.com/a2a/x' }]],
  ['a peer', 4 * MANY, []],
])('a response of %s with %i numbers does not block the event loop', async (_name, count, extensions) => {
  const parts = [{ kind: 'data', data: Array<number>(count).fill(1) }];
  const status = { state: 'TASK_STATE_COMPLETED' };
  const task = { id: 'far', contextId: '', status, artifacts: [{ artifactId: 'a', parts }] };
  const capabilities = { streaming: false, extensions };
  const peer = await startHostilePeer(({ answer }) => answer({ task }), {
    onCard: (answer) => answer({ capabilities }),
  });
  try {
    await withStranger(peer.url, async (server) => {
      const { result } = await unheld(() => sendText(server, 'ask the stranger'));
      const isTooLarge = count > MANY;
      expect(result.end.text).toMatch(
        isTooLarge ? /more than 150000 values/ : /^told: \[1,1,[^]*bytes left out/,
      );
    });
  } finally {
    await peer.close();
  }
});

/** Items of google.protobuf.ListValue. */
const EMPTY_LIST = Buffer.from([0x0a, 0x02, 0x32, 0x00]);
const NULL = Buffer.from([0x0a, 0x02, 0x08, 0x00]);

it.each([
  [
    '26,000 lists',
    taskWith(26_000, EMPTY_LIST),
    /^told: stranger failed: .*more than 25000 lists and objects/,
  ],
  ['a million lists', taskWith(MANY, EMPTY_LIST), /^told: stranger failed: .*more than 1000000 fields/],
  ['240,000 times nothing', taskWith(240_000, NULL), /^told: stranger finished/],
  ['a file of 9 MB', taskWithFile(9 * MANY), /^told: stranger /],
])('a response of a peer over gRPC with %s does not block the event loop', async (_name, bytes, expected) => {
  const grpc = new Server();
  const raw = { requestDeserialize: (sent: Buffer) => sent, responseSerialize: (sent: Buffer) => sent };
  grpc.addService(
    { sendMessage: { ...A2AService.sendMessage, ...raw } },
    { sendMessage: (_call: unknown, reply: sendUnaryData<Buffer>) => reply(null, bytes) },
  );
  const port = await promisify(grpc.bindAsync.bind(grpc))('127.0.0.1:0', ServerCredentials.createInsecure());
  const card = { url: `127.0.0.1:${port}`, protocolBinding: 'GRPC', protocolVersion: '1.0' };
  const peer = await startHostilePeer(() => {}, {
    streaming: false,
    onCard: (answer) => answer({ supportedInterfaces: [card] }),
  });
  try {
    await withStranger(peer.url, async (server) => {
      const { result } = await unheld(() => sendText(server, 'ask the stranger'));
      expect(result.end.text).toMatch(expected);
    });
  } finally {
    await peer.close();
    grpc.forceShutdown();
  }
});

/** The bytes of a response with a task that has so many values. They are encoded by hand, which is faster. */
function taskWith(count: number, value: Buffer): Buffer {
  const field = (number: number, ...bytes: readonly Buffer[]): Buffer => {
    const content = Buffer.concat(bytes);
    return Buffer.concat([Buffer.from([(number << 3) | 2]), varint(content.length), content]);
  };
  const values = Buffer.alloc(value.length * count, value);
  const entry = field(1, field(1, Buffer.from('k')), field(2, field(6, values)));
  const status = field(3, Buffer.from([0x08, 0x03]));
  return field(1, field(1, Buffer.from('far')), status, field(6, entry));
}

function taskWithFile(bytes: number): Buffer {
  const parts = [{ raw: Buffer.alloc(bytes).toString('base64'), filename: 'a.bin' }];
  const status = { state: 'TASK_STATE_COMPLETED' };
  const task = { id: 'far', contextId: '', status, artifacts: [{ artifactId: 'a', parts }] };
  return Buffer.from(A2AService.sendMessage.responseSerialize(SendMessageResponse.fromJSON({ task })));
}

function varint(value: number): Buffer {
  const rest = value >>> 7;
  const low = value & 0x7f;
  return rest === 0 ? Buffer.from([low]) : Buffer.concat([Buffer.from([low | 0x80]), varint(rest)]);
}

/** A server whose orchestrator calls a peer, as many times as `unheld` may repeat its work. */
async function withStranger(url: string, use: (server: TestServer) => Promise<void>): Promise<void> {
  const a2a = { enabled: true, remoteAgents: [{ name: 'stranger', url, allowPrivate: true }] };
  const told = (asked: Parameters<typeof resultsIn>[0]) => say(`told: ${resultsIn(asked)[0]}`);
  const step = call(ask('stranger', 'go'));
  const model = new ScriptedModel({
    orchestrator: Array.from({ length: MAX_RUNS }, () => [step, told]).flat(),
  });
  await withServer({ settings: { a2a }, model }, use);
}

const KIB = 1024;
const text = (content: string) => ({ parts: [{ text: content }] });
/** Messages of nearly 1 MiB, the most that a request may have. */
const MESSAGES: Readonly<Record<string, { readonly parts: readonly object[]; readonly metadata?: object }>> =
  {
    'one text': text('a '.repeat(450 * KIB)),
    'one word': text('a'.repeat(900 * KIB)),
    'letters that are escaped': text('\u0001'.repeat(150 * KIB)),
    spaces: text(' '.repeat(900 * KIB)),
    'open quotes': text('call x with {"a'.repeat(60 * KIB)),
    'placeholders of secrets': text('{{secret:A}}'.repeat(75 * KIB)),
    '50,000 parts': { parts: Array.from({ length: 50_000 }, () => ({ text: 'a' })) },
    '6,000 objects': {
      parts: [{ data: Array.from({ length: 6_000 }, (_, n) => ({ a: { b: [n, { c: null }] } })) }],
    },
    '200,000 empty lists': { parts: [{ data: Array<unknown>(200_000).fill([]) }] },
    '100,000 numbers': { parts: [{ data: Array<unknown>(100_000).fill(1) }] },
    '500,000 numbers': { parts: [{ data: Array<unknown>(500_000).fill(1) }] },
    'nested lists': { parts: [{ data: Array.from({ length: 9_000 }, () => nested(40)) }] },
    'a file': { parts: [{ raw: 'A'.repeat(900 * KIB), filename: 'a.bin', mediaType: 'image/png' }] },
    '1,000 members': {
      ...text('a'),
      metadata: Object.fromEntries(Array.from({ length: 990 }, (_, n) => [`${n}${'k'.repeat(900)}`, n])),
    },
  };

function nested(depth: number): unknown {
  return depth === 0 ? 1 : [nested(depth - 1)];
}

describe('a request of nearly 1 MiB', () => {
  it.each(Object.keys(MESSAGES))('does not block the event loop by any transport: %s', async (name) => {
    const settings = { server: { port: 0, grpc: { enabled: true, port: 0 } }, mcp: { serve: true } };
    await withServer({ settings }, async (server) => {
      const message = () => ({ messageId: crypto.randomUUID(), role: 'ROLE_USER', ...MESSAGES[name] });
      const rpc = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params });
      await post(server, '/message:send', () => ({ message: message() }));
      await post(server, '/', () => rpc('SendMessage', { message: message() }));
      await post(server, '/', () => rpc('message/send', { message: oldMessage(message()) }));
      await post(server, '/mcp', () => {
        const [{ text = '' } = {}] = message().parts as readonly { readonly text?: string }[];
        return rpc('tools/call', { name: 'lango-orchestrator', arguments: { message: text } });
      });
      await callBy(server, message);
    });
  });
});

/**
 * Sends a body, and another one of its kind when the first blocked the event loop: a repeated one would be recognized.
 */
async function post(server: TestServer, path: string, body: () => object): Promise<void> {
  const headers = { accept: 'application/json, text/event-stream' };
  const { result } = await unheldWith(
    () => JSON.stringify(body()),
    async (sent) => {
      const answer = await server.fetch(path, { method: 'POST', body: sent, headers });
      await answer.arrayBuffer();
      return answer.status;
    },
  );
  expect([200, 400, 413]).toContain(result);
}

async function callBy({ address }: TestServer, message: () => object): Promise<void> {
  const encoded = (): Buffer => {
    const request = SendMessageRequest.fromJSON({ message: message(), tenant: 'lango-orchestrator' });
    return frame(Buffer.from(A2AService.sendMessage.requestSerialize(request)));
  };
  const { result } = await unheldWith(encoded, (body) =>
    callGrpc(address.grpcPort!, {
      path: A2AService.sendMessage.path,
      metadata: { authorization: `Bearer ${address.token}` },
      body,
    }),
  );
  expect(['OK', 'INVALID_ARGUMENT', 'RESOURCE_EXHAUSTED']).toContain(result.status);
}

function oldMessage({ parts = [], ...message }: { readonly parts?: readonly object[] }): object {
  const old = parts.map((part) => ({ kind: Object.keys(part)[0], ...part }));
  return { ...message, kind: 'message', role: 'user', parts: old };
}

describe('a text for the terminal', () => {
  const shown = { safeText, exactJson, safeLine: (text: string) => safeLine(text, 100) };

  /** The size of the largest event of a task. */
  const LARGEST = 256 * KIB;
  it.each(['\u001b[2J', '\u202e', 'a ', '\ud800', 'e\u0301'])(
    'does not block the event loop: 256 KiB of %j',
    async (letters) => {
      const text = letters.repeat(LARGEST / letters.length);
      for (const show of Object.values(shown)) {
        const { result } = await unheld(async () => show(text));
        expect(result).not.toBe('');
      }
    },
  );
});
