import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TaskState } from '@a2a-js/sdk';
import type { AgentCard } from '@a2a-js/sdk';
import express from 'express';
import type { Express, RequestHandler } from 'express';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { Server } from 'node:http';
import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createGzip } from 'node:zlib';
import type { Server as Lango, ServerOptions } from '../../src/index.js';
import { createServer } from '../../src/index.js';
import { answerOf, asTask, clientFactory, collect, textRequest } from '../a2a/server/stock-client.js';
import { TOKEN } from '../support/a2a-node.js';
import { scriptedAgent } from '../support/scripted-agent.js';
import { withoutTools } from '../support/server.js';

/** Lango inside an express app of another program, below a path of the app's choice. */

interface Mounted {
  readonly lango: Lango;
  readonly home: string;
}

const OTHER_TOKEN = 'another-token-for-tests';

async function create(token: string, options: ServerOptions = {}): Promise<Mounted> {
  const home = await mkdtemp(path.join(tmpdir(), 'lango-mounted-'));
  await writeFile(path.join(home, 'token'), token, { mode: 0o600 });
  const settings = withoutTools(options.settings);
  const lango = createServer({ agents: [scriptedAgent('worker')], ...options, home, settings });
  return { lango, home };
}

async function listen(app: Express): Promise<{ readonly server: Server; readonly origin: string }> {
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

async function close({ lango, home }: Mounted): Promise<void> {
  await lango.stop();
  await rm(home, { recursive: true, force: true });
}

/** Replaces the methods that write a response, as middleware for compression does. */
const compressed: RequestHandler = (_request, response, next) => {
  const [write, end] = [response.write.bind(response), response.end.bind(response)];
  const gzip = createGzip();
  gzip.on('data', (bytes: Buffer) => void write(bytes)).on('end', () => void end());
  response.setHeader('Content-Encoding', 'gzip');
  Object.assign(response, {
    write: (text: string) => gzip.write(text),
    end: (text: string) => (gzip.end(text), response),
  });
  next();
};

function bearing(token: string, headers: Readonly<Record<string, string>> = {}) {
  return { headers: { authorization: `Bearer ${token}`, ...headers } };
}

function sending(text: string, headers: Readonly<Record<string, string>> = {}): RequestInit {
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }] };
  return {
    method: 'POST',
    ...bearing(TOKEN, { 'content-type': 'application/json', ...headers }),
    body: JSON.stringify({ message }),
  };
}

describe('two servers in one express app, under two prefixes', () => {
  let first: Mounted;
  let second: Mounted;
  let server: Server;
  let origin: string;

  beforeAll(async () => {
    first = await create(TOKEN);
    second = await create(OTHER_TOKEN);
    const app = express();
    app.use('/agents', first.lango.router());
    const inner = express.Router();
    inner.use('/two', second.lango.router());
    app.use('/deep', inner);
    app.get('/agents/of-the-app', (_request, response) => void response.send('mine'));
    app.use((_request, response) => void response.status(404).send('not found by the app'));
    await Promise.all([first.lango.start({ listen: false }), second.lango.start({ listen: false })]);
    ({ server, origin } = await listen(app));
  });

  afterAll(async () => {
    server.close();
    await Promise.all([close(first), close(second)]);
  });

  it.each(['JSONRPC', 'HTTP+JSON'])(
    'lead a stock client from the card to a result, over %s',
    async (transport) => {
      const client = await clientFactory(transport).createFromUrl(`${origin}/agents/agents/worker/`);
      const card = await client.getAgentCard();
      expect(card.supportedInterfaces.map(({ url }) => url)).toEqual(
        card.supportedInterfaces.map(() => `${origin}/agents/agents/worker`),
      );
      const sent = asTask(await client.sendMessage(textRequest('say hello')));
      expect(answerOf(sent)).toBe('hello');
      const events = await collect(client.sendMessageStream(textRequest('chunks 3')));
      expect(events[0]?.payload?.$case).toBe('task');
      const last = events.at(-1)?.payload;
      expect(last?.$case === 'statusUpdate' && last.value.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
      expect(asTask(await client.getTask({ tenant: '', id: sent.id })).id).toBe(sent.id);
    },
  );

  it('stream events as they happen', async () => {
    const answer = await fetch(`${origin}/agents/agents/worker/message:stream`, sending('wait'));
    expect(answer.headers.get('content-type')).toBe('text/event-stream');
    const reader = answer.body!.getReader();
    const { value } = (await reader.read()) as { readonly value: Uint8Array };
    expect(new TextDecoder().decode(value)).toContain('"task"');
    await reader.cancel();
  });

  it('advertise all their addresses below their own prefix', async () => {
    for (const [prefix, token] of [
      ['/agents', TOKEN],
      ['/deep/two', OTHER_TOKEN],
    ] as const) {
      const base = origin + prefix;
      const answer = await fetch(`${base}/.well-known/agent-card.json`);
      expect(answer.headers.get('link')).toContain(`<${prefix}/.well-known/ai-catalog.json>`);
      const card = (await answer.json()) as AgentCard;
      expect(card.supportedInterfaces[0]?.url).toBe(`${base}/agents/${card.name}`);
      const extended = await fetch(`${base}/extendedAgentCard`, bearing(token));
      expect(await extended.json()).toMatchObject({ supportedInterfaces: card.supportedInterfaces });
      const catalog = (await (await fetch(`${base}/.well-known/ai-catalog.json`)).json()) as {
        entries: { url: string }[];
      };
      expect(catalog.entries.map(({ url }) => url)).toContain(
        `${base}/agents/worker/.well-known/agent-card.json`,
      );
    }
  });

  it('serve the owner routes, the keys and health below their prefix', async () => {
    const base = `${origin}/deep/two`;
    expect((await fetch(`${base}/healthz`)).status).toBe(200);
    expect(((await (await fetch(`${base}/.well-known/jwks.json`)).json()) as { keys: [] }).keys).toHaveLength(
      1,
    );
    const status = await fetch(`${base}/lango/agents`, bearing(OTHER_TOKEN));
    expect(((await status.json()) as { published: string[] }).published).toContain('worker');
    expect((await fetch(`${base}/lango/agents`)).status).toBe(401);
  });

  it('keep to their own callers and tasks', async () => {
    const answer = await fetch(`${origin}/agents/agents/worker/message:send`, sending('say mine'));
    const { task } = (await answer.json()) as { task: { id: string } };
    const taskAt = (prefix: string, token: string) =>
      fetch(`${origin}${prefix}/agents/worker/tasks/${task.id}`, bearing(token)).then(({ status }) => status);
    expect(await taskAt('/agents', TOKEN)).toBe(200);
    expect(await taskAt('/deep/two', OTHER_TOKEN)).toBe(404);
    expect(await taskAt('/deep/two', TOKEN)).toBe(401);
  });

  it('leave other paths to the app', async () => {
    expect(await (await fetch(`${origin}/agents/of-the-app`)).text()).toBe('mine');
    expect(await (await fetch(`${origin}/agents/nothing`)).text()).toBe('not found by the app');
    const lango = await fetch(`${origin}/agents/agents/nobody`, { method: 'POST', ...bearing(TOKEN) });
    expect(await lango.text()).toContain('There is no agent of that name here');
  });

  it('check Host and Origin', async () => {
    const { port } = new URL(origin);
    const status = await new Promise((resolve, reject) => {
      const options = { port, path: '/agents/healthz', headers: { host: 'evil.example' } };
      request(options, (response) => resolve(response.resume().statusCode))
        .on('error', reject)
        .end();
    });
    expect(status).toBe(403);
    const foreign = await fetch(`${origin}/agents/healthz`, { headers: { origin: 'https://evil.example' } });
    expect(foreign.status).toBe(403);
  });
});

describe('a server behind a body parser of the app', () => {
  const limits = { bodyBytes: 2_000, jsonDepth: 8, jsonKeys: 10 };
  const mounts = {
    '/json': express.json(),
    '/raw': express.raw({ type: () => true }),
    '/text': express.text({ type: () => true }),
    '/form': express.urlencoded(),
  };
  let mounted: Mounted;
  let server: Server;
  let origin: string;

  beforeAll(async () => {
    mounted = await create(TOKEN, { settings: { server: { port: 0, limits } } });
    const app = express();
    for (const [prefix, parser] of Object.entries(mounts)) app.use(prefix, parser, mounted.lango.router());
    app.use('/gone', (request, _response, next) => void request.resume().on('end', next));
    app.use('/gone', mounted.lango.router());
    await mounted.lango.start({ listen: false });
    ({ server, origin } = await listen(app));
  });

  afterAll(async () => {
    server.close();
    await close(mounted);
  });

  it.each(Object.keys(mounts))('responds below %s', async (prefix) => {
    for (const type of ['application/json', 'application/a2a+json']) {
      const answer = await fetch(
        `${origin}${prefix}/agents/worker/message:send`,
        sending('say hi', { 'content-type': type }),
      );
      expect([prefix, type, answer.status]).toEqual([prefix, type, 200]);
    }
  });

  it.each(Object.keys(mounts))('enforces the limits of a body below %s', async (prefix) => {
    const url = `${origin}${prefix}/agents/worker`;
    const post = async (params: unknown): Promise<string> => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'GetTask', params });
      return (await fetch(url, { ...sending(''), body })).text();
    };
    expect(await post({ id: 'x', metadata: { a: [[[[[[[[1]]]]]]]] } })).toContain('nested deeper than 8');
    const keys = Object.fromEntries(Array.from({ length: 11 }, (_, n) => [`k${n}`, n]));
    expect(await post(keys)).toContain('more than 10 members');
    expect(await post({ id: 'x'.repeat(2_000) })).toContain('larger than 2000 bytes');
  });

  it('explains what to do when the body parser has consumed the body', async () => {
    const answer = await fetch(`${origin}/gone/agents/worker/message:send`, sending('say hi'));
    expect(answer.status).toBeGreaterThanOrEqual(500);
    expect(await answer.text()).toContain('Mount lango.router() before body parsers');
  });
});

describe('a mounted server', () => {
  it('streams through an app that compresses responses', async () => {
    const mounted = await create(TOKEN);
    const app = express().use('/agents', compressed, mounted.lango.router());
    const { server, origin } = await listen(app);
    await mounted.lango.start({ listen: false });
    const stream = await fetch(`${origin}/agents/agents/worker/message:stream`, sending('chunks 3'));
    expect(stream.headers.get('content-encoding')).toBe('gzip');
    expect(await stream.text()).toMatch(/^id: 1\ndata: [^]*TASK_STATE_COMPLETED[^]*\n\n$/);
    server.close();
    await close(mounted);
  });

  it('responds with 503 before the start and after the stop, and ends open streams', async () => {
    const mounted = await create(TOKEN);
    const app = express().use('/agents', mounted.lango.router());
    const { server, origin } = await listen(app);
    const card = `${origin}/agents/.well-known/agent-card.json`;
    const early = await fetch(card);
    expect(early.status).toBe(503);
    expect(await early.text()).toContain('start({ listen: false })');
    const started = await mounted.lango.start({ listen: false });
    expect(started).toMatchObject({ token: TOKEN, agents: expect.arrayContaining(['worker']) as unknown });
    expect((await fetch(card)).status).toBe(200);
    const stream = await fetch(`${origin}/agents/agents/worker/message:stream`, sending('wait'));
    const text = stream.text();
    await mounted.lango.stop();
    expect(await text).toContain('the server is stopping');
    expect((await fetch(`${origin}/agents/agents/worker/tasks`, bearing(TOKEN))).status).toBe(503);
    server.close();
    await close(mounted);
  });

  it('advertises a2a.baseUrl when it is set', async () => {
    const settings = { server: { port: 0 }, a2a: { baseUrl: 'https://agents.example/lango' } };
    const mounted = await create(TOKEN, { settings });
    const { server, origin } = await listen(express().use('/agents', mounted.lango.router()));
    await mounted.lango.start({ listen: false });
    const answer = await fetch(`${origin}/agents/agents/worker/.well-known/agent-card.json`);
    expect(((await answer.json()) as AgentCard).supportedInterfaces[0]?.url).toBe(
      'https://agents.example/lango/agents/worker',
    );
    server.close();
    await close(mounted);
  });

  it('refuses to start gRPC, which has no place in an express app', async () => {
    const settings = { server: { port: 0, grpc: { enabled: true, port: 0 } } };
    const mounted = await create(TOKEN, { settings });
    await expect(mounted.lango.start({ listen: false })).rejects.toMatchObject({
      code: 'invalid-config',
      hint: expect.stringContaining('server.grpc.enabled') as unknown,
    });
    await close(mounted);
  });
});
