import { afterEach, describe, expect, it } from '@jest/globals';
import type { ClientEvent } from '../../../src/a2a/client/reader.js';
import type { AgentClient } from '../../../src/a2a/client/client.js';
import { createClient } from '../../../src/a2a/client/client.js';
import { LangoError } from '../../../src/core/errors.js';
import { textPart } from '../../../src/core/message.js';
import { freePort } from '../../support/free-port.js';
import type { Listening, StockAgent } from './stock-server.js';
import { cardJson, listen, startStockServer } from './stock-server.js';

const open: Listening[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});

const never = new AbortController().signal;

async function start(): Promise<{ client: AgentClient; server: Listening & StockAgent }> {
  const server = await startStockServer();
  open.push(server);
  return { client: createClient({ url: server.origin, token: 't', fetch }), server };
}

async function all(events: AsyncIterable<ClientEvent>): Promise<readonly ClientEvent[]> {
  const seen: ClientEvent[] = [];
  for await (const event of events) seen.push(event);
  return seen;
}

function taskIdOf(events: readonly ClientEvent[]): string {
  return events.flatMap((event) => (event.type === 'task' ? [event.taskId] : []))[0]!;
}

describe('createClient', () => {
  it('sends, and yields each change of state besides the events of a peer', async () => {
    const { client } = await start();
    const events = await all(client.send({ parts: [textPart('stream')] }, never));
    expect(events.flatMap((event) => (event.type === 'status' ? [event.state] : []))).toEqual([
      'submitted',
      'working',
      'completed',
    ]);
    expect(events.at(-1)).toMatchObject({ type: 'end', state: 'completed', text: 'one two three' });
  });

  it('sends the reply to a question in its task and context', async () => {
    const { client } = await start();
    const first = await all(client.send({ parts: [textPart('ask')] }, never));
    const taskId = taskIdOf(first);
    expect(first.at(-1)).toMatchObject({ state: 'input-required', questions: [{ kind: 'input' }] });
    const second = await all(client.send({ parts: [textPart('blue')], taskId }, never));
    expect(second.at(-1)).toMatchObject({ state: 'completed', text: 'painted blue' });
  });

  it('gets and lists tasks in the terms of core', async () => {
    const { client } = await start();
    const taskId = taskIdOf(await all(client.send({ parts: [textPart('stream')] }, never)));
    const task = await client.get({ taskId });
    expect(task).toMatchObject({ id: taskId, state: 'completed', questions: [] });
    expect(task.history[0]).toMatchObject({ role: 'user', parts: [{ kind: 'text', text: 'stream' }] });
    const page = await client.list({ contextId: task.contextId, state: 'completed' });
    expect(page).toMatchObject({ tasks: [{ id: taskId }], nextPageToken: '', totalSize: 1 });
    expect((await client.list({ state: 'failed' })).tasks).toEqual([]);
    await expect(client.cancel({ taskId })).rejects.toMatchObject({ code: 'not-cancelable' });
    await expect(client.get({ taskId: 'nothing' })).rejects.toMatchObject({ code: 'not-found' });
  });

  it('watches a task from its current state, and cancels it', async () => {
    const { client, server } = await start();
    const watcher = new AbortController();
    let taskId = '';
    const events = all(
      (async function* () {
        for await (const event of client.send({ parts: [textPart('wait')] }, watcher.signal)) {
          if (event.type === 'task') taskId = event.taskId;
          if (event.type === 'status' && event.state === 'working') watcher.abort(new Error('detached'));
          yield event;
        }
      })(),
    );
    expect((await events).at(-1)).toMatchObject({ type: 'end', state: 'failed' });
    expect(server.executor.canceled).toEqual([]);

    const watched = client.subscribe({ taskId }, never)[Symbol.asyncIterator]();
    // The watcher has the current state before the task is canceled.
    await watched.next();
    expect((await client.cancel({ taskId })).state).toBe('canceled');
    let last: ClientEvent | undefined;
    for (let next = await watched.next(); !next.done; next = await watched.next()) last = next.value;
    expect(last).toMatchObject({ type: 'end', state: 'canceled' });
  });

  it('cancels the task when the call is aborted as canceled', async () => {
    const { client, server } = await start();
    const controller = new AbortController();
    const events: ClientEvent[] = [];
    for await (const event of client.send({ parts: [textPart('wait')] }, controller.signal)) {
      events.push(event);
      if (event.type === 'task') controller.abort(new LangoError('canceled', 'Ctrl-C'));
    }
    expect(events.at(-1)).toMatchObject({ state: 'canceled' });
    expect(server.executor.canceled).toHaveLength(1);
  });

  it('reads the card of an agent by name, and the catalog', async () => {
    const server = await listen((request, response) => {
      if (request.headers.authorization !== 'Bearer t') return void response.writeHead(401).end();
      const cards: Readonly<Record<string, unknown>> = {
        '/.well-known/agent-card.json': cardJson(server.origin, { name: 'root' }),
        '/agents/operator/.well-known/agent-card.json': cardJson(server.origin, { name: 'operator' }),
        '/.well-known/ai-catalog.json': {
          specVersion: '1.0',
          entries: [
            { displayName: 'root', type: 'application/a2a-agent-card+json', url: `${server.origin}/x.json` },
            { displayName: 'operator', mediaType: 'application/a2a-agent-card+json', description: 'acts' },
            { displayName: 'other', type: 'text/html' },
          ],
        },
      };
      const body = cards[request.url ?? ''];
      if (body === undefined) response.writeHead(404).end();
      else response.end(JSON.stringify(body));
    });
    open.push(server);
    const client = createClient({ url: server.origin, token: 't', fetch });
    expect(await client.card()).toMatchObject({ name: 'root' });
    expect(await client.card('operator')).toMatchObject({ name: 'operator' });
    await expect(client.card('nobody')).rejects.toMatchObject({ code: 'not-found' });
    expect(await client.catalog()).toEqual([
      { name: 'root', description: '', url: `${server.origin}/x.json` },
      { name: 'operator', description: 'acts', url: undefined },
    ]);
    const stranger = createClient({ url: server.origin, fetch });
    await expect(stranger.card()).rejects.toMatchObject({ code: 'unauthenticated' });
  });

  it('calls the server at the address where it was found, not at the one on its card', async () => {
    const { server } = await start();
    const front = await listen((request, response) => {
      if (request.method === 'GET')
        return void response.end(JSON.stringify(cardJson('https://agents.example')));
      void (async () => {
        let body = '';
        for await (const chunk of request) body += String(chunk);
        const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' };
        const answer = await fetch(`${server.origin}${request.url}`, { method: 'POST', body, headers });
        response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
        response.end(await answer.text());
      })();
    });
    open.push(front);
    const client = createClient({ url: front.origin, fetch });
    const events = await all(client.send({ parts: [textPart('stream')] }, never));
    expect(events.at(-1)).toMatchObject({ state: 'completed', text: 'one two three' });
  });

  it('ends a stream instead of throwing when the server is not there, and finds it later', async () => {
    const port = await freePort();
    const client = createClient({ url: `http://127.0.0.1:${port}`, token: 't', fetch });
    const [end] = await all(client.send({ parts: [textPart('stream')] }, never));
    expect(end).toMatchObject({ type: 'end', state: 'failed' });
    const again = await listen((_request, response) => void response.writeHead(404).end(), port);
    open.push(again);
    const [second] = await all(client.send({ parts: [textPart('stream')] }, never));
    expect(second).toMatchObject({
      state: 'failed',
      text: expect.stringContaining('no agent card') as unknown,
    });
  });
});
