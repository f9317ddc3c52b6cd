import { afterEach, describe, expect, it } from '@jest/globals';
import type { Peer, PeerEvent } from '../../../src/core/agent.js';
import { LangoError } from '../../../src/core/errors.js';
import { silentLogger } from '../../../src/core/logger.js';
import { createEgress } from '../../../src/http/egress.js';
import { freePort } from '../../support/free-port.js';
import { ask, collect, textsOf } from '../../suites/peer.js';
import type { WireScript, WireServer } from './wire-server.js';
import type { JsonObject } from '../../../src/core/json.js';
import { snapshot, startWireServer, status, text } from './wire-server.js';
import { loadPeers } from './load-peers.js';

const WORKING = 'TASK_STATE_WORKING';
const COMPLETED = 'TASK_STATE_COMPLETED';
const retry = { attempts: 3, firstDelayMs: 10, pollMs: 10 };
const fetchOut = createEgress({ allowPrivate: ['127.0.0.1'], timeoutMs: 60_000, logger: silentLogger });
const never = new AbortController().signal;
const request = (): ReturnType<typeof ask> => ask('x', { contextId: 'context-1' });

const servers: WireServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function start(
  script: WireScript,
  { fetch = fetchOut, ...options }: Parameters<typeof startWireServer>[1] & { fetch?: typeof fetchOut } = {},
): Promise<{ peer: Peer; server: WireServer }> {
  const server = await startWireServer(script, options);
  servers.push(server);
  const source = { kind: 'remote', url: server.origin } as const;
  const { peers } = await loadPeers([source], { fetch, retry });
  return { peer: peers[0]!, server };
}

function methods(server: WireServer): readonly string[] {
  return server.calls.map(({ method }) => method);
}

describe('the client of a connection that breaks', () => {
  it('resumes after the last event that it read, by Last-Event-ID', async () => {
    const { peer, server } = await start(
      ({ method }, wire) => {
        if (method === 'SendStreamingMessage') {
          wire.event(snapshot('TASK_STATE_SUBMITTED'));
          wire.event(text('one', 3, false));
          wire.cut();
          return;
        }
        wire.event(text(' two', 4));
        wire.event(status(COMPLETED, 5));
        wire.end();
      },
      { replays: true },
    );
    const { all, end } = await collect(peer.send(request(), never));
    expect(textsOf(all)).toBe('one two');
    expect(end).toMatchObject({ state: 'completed', text: 'one two' });
    expect(methods(server)).toEqual(['SendStreamingMessage', 'SubscribeToTask']);
    expect(server.calls[1]!.headers['last-event-id']).toBe('3');
    expect(server.calls[1]!.params['id']).toBe('task-1');
  });

  it('reads events in the form of A2A 0.3, and ignores an event whose kind is the name of a built-in member', async () => {
    const { peer } = await start((_call, wire) => {
      const { artifactUpdate: one } = text('one', undefined, false) as { artifactUpdate: object };
      const { statusUpdate: end } = status(COMPLETED) as { statusUpdate: object };
      wire.event(snapshot(WORKING));
      wire.event({ ...one, kind: 'artifact-update' });
      wire.event({ ...one, kind: 'constructor' });
      wire.event({ ...end, kind: 'status-update' });
      wire.end();
    });
    expect((await collect(peer.send(request(), never))).end).toMatchObject({
      state: 'completed',
      text: 'one',
    });
  });

  it('resumes also after a stream that ended cleanly before its task', async () => {
    const { peer } = await start(({ method }, wire) => {
      wire.event(method === 'SendStreamingMessage' ? snapshot(WORKING) : snapshot(COMPLETED));
      wire.end();
    });
    expect((await collect(peer.send(request(), never))).end.state).toBe('completed');
  });

  it('follows a stock peer by its snapshots, without yielding anything twice', async () => {
    const { peer, server } = await start(({ method }, wire) => {
      const artifacts = [{ artifactId: 'a', parts: [{ text: 'one' }, { text: ' two' }] }];
      switch (method) {
        case 'SendStreamingMessage':
          wire.event(snapshot(WORKING));
          wire.event(text('one', undefined, false));
          return wire.cut();
        case 'SubscribeToTask':
          return wire.refuse(-32004, 'it has ended');
        default:
          return wire.answer(snapshot(COMPLETED, { artifacts })['task'] as never);
      }
    });
    const { all, end } = await collect(peer.send(request(), never));
    expect(all.flatMap((event) => (event.type === 'text-delta' ? [event.text] : []))).toEqual([
      'one',
      ' two',
    ]);
    expect(end.text).toBe('one two');
    expect(methods(server)).toEqual(['SendStreamingMessage', 'SubscribeToTask', 'GetTask']);
    expect(server.calls[1]!.headers['last-event-id']).toBeUndefined();
  });

  it('repeats a send under the same message id when the peer recognizes repeats', async () => {
    let count = 0;
    const { peer, server } = await start(
      (_call, wire) => {
        if (++count === 1) return wire.cut();
        wire.event(snapshot(COMPLETED));
        wire.end();
      },
      { replays: true },
    );
    expect((await collect(peer.send(request(), never))).end.state).toBe('completed');
    const ids = server.calls.map(({ params }) => (params['message'] as { messageId: string }).messageId);
    expect(ids).toHaveLength(2);
    expect(ids[0]).toBe(ids[1]);
  });

  it('never repeats a send to a peer that does not recognize repeats', async () => {
    const { peer, server } = await start((_call, wire) => wire.cut());
    const { end } = await collect(peer.send(request(), never));
    expect(end.state).toBe('failed');
    expect(methods(server)).toEqual(['SendStreamingMessage']);
  });

  it('retries a peer that responds with 503, and one that cannot be reached', async () => {
    let count = 0;
    let failures = 0;
    const port = await freePort();
    const script: WireScript = (_call, wire) => {
      if (++count === 1) return wire.status(503, { 'retry-after': '0' });
      wire.event(snapshot(COMPLETED));
      wire.end();
    };
    // Starts the server again after one request has failed to reach it.
    const fetch: typeof fetchOut = (input, init) =>
      fetchOut(input, init).catch(async (error: unknown) => {
        if ((failures += 1) === 1) servers.push(await startWireServer(script, { port }));
        throw error;
      });
    const { peer, server } = await start(script, { port, fetch });
    expect((await collect(peer.send(request(), never))).end.state).toBe('completed');
    expect(failures).toBe(0);

    await server.close();
    expect((await collect(peer.send(request(), never))).end.state).toBe('completed');
    expect(failures).toBe(1);
  });

  it('gives up after the configured number of failures in a row', async () => {
    const { peer, server } = await start(({ method }, wire) => {
      if (method === 'SendStreamingMessage') wire.event(snapshot(WORKING));
      wire.cut();
    });
    const { end } = await collect(peer.send(request(), never));
    expect(end).toMatchObject({
      state: 'failed',
      text: expect.stringContaining('cannot be reached') as unknown,
    });
    expect(methods(server).filter((method) => method === 'SubscribeToTask')).toHaveLength(retry.attempts);
  });

  it('repeats a reply to a running task when the peer refuses its token', async () => {
    let refusals = 0;
    const { peer, server } = await start((_call, wire) => {
      if (refusals++ < 2) return wire.status(401);
      wire.event(snapshot(COMPLETED));
      wire.end();
    });
    const answer = ask('red', { contextId: 'context-1', taskId: 'task-1', isReply: true });
    expect((await collect(peer.send(answer, never))).end.state).toBe('completed');
    expect(methods(server)).toEqual(Array(3).fill('SendStreamingMessage'));
  });

  it.each([
    ['whose response is lost', {}, ['SendStreamingMessage']],
    ['that may have been sent before a restart', { isRepeat: true }, []],
  ])('reads the task instead of sending a reply again %s', async (_which, more, sends) => {
    const { peer, server } = await start(({ method }, wire) => {
      if (method === 'SendStreamingMessage') return wire.cut();
      if (method === 'GetTask') return wire.answer(snapshot(COMPLETED)['task'] as never);
      wire.refuse(-32004, 'it has ended');
    });
    const place = { contextId: 'context-1', taskId: 'task-1', isReply: true };
    const { end } = await collect(peer.send(ask('red', { ...place, ...more }), never));
    expect(end.state).toBe('completed');
    expect(methods(server)).toEqual([...sends, 'GetTask']);
  });

  it('fails at once for a wrong token', async () => {
    const { peer, server } = await start((_call, wire) => wire.status(401));
    const { end } = await collect(peer.send(request(), never));
    expect(end).toMatchObject({ state: 'failed', text: expect.stringContaining('token') as unknown });
    expect(server.calls).toHaveLength(1);
  });
});

describe('a peer without streams', () => {
  it('is polled until the task ends', async () => {
    let looks = 0;
    const { peer, server } = await start(
      ({ method }, wire) => {
        if (method === 'SendMessage') return wire.answer(snapshot('TASK_STATE_SUBMITTED'));
        looks += 1;
        const artifacts = [{ artifactId: 'a', parts: [{ text: 'slow' }] }];
        wire.answer((looks < 3 ? snapshot(WORKING) : snapshot(COMPLETED, { artifacts }))['task'] as never);
      },
      { streaming: false },
    );
    const { end } = await collect(peer.send(request(), never));
    expect(end).toMatchObject({ state: 'completed', text: 'slow' });
    expect(methods(server)).toEqual(['SendMessage', 'GetTask', 'GetTask', 'GetTask']);
    expect(server.calls[0]!.params['configuration']).toMatchObject({ returnImmediately: true });
  });
});

describe('a peer that cannot be trusted', () => {
  it.each([
    [
      'task',
      { ...snapshot(WORKING), task: { id: 'other', contextId: 'context-1', status: { state: WORKING } } },
    ],
    ['context', { statusUpdate: { taskId: 'task-1', contextId: 'other', status: { state: COMPLETED } } }],
  ])('is given up, and its task canceled, when it changes the %s id', async (_what, event) => {
    const { peer, server } = await start(({ method }, wire) => {
      if (method === 'CancelTask') return wire.answer(snapshot('TASK_STATE_CANCELED')['task'] as never);
      wire.event(snapshot(WORKING));
      wire.event(event);
    });
    const { end } = await collect(peer.send(request(), never));
    expect(end).toMatchObject({ state: 'failed', text: expect.stringContaining('id') as unknown });
    expect(methods(server)).toContain('CancelTask');
  });

  it('may answer in a context of its own, and is given up when it changes that in the middle', async () => {
    const { peer } = await start((_call, wire) => {
      wire.event(snapshot(WORKING));
      const { task } = snapshot(COMPLETED);
      wire.event({ task: { ...(task as JsonObject), contextId: 'third' } });
    });
    const { end } = await collect(peer.send(ask('x', { contextId: 'mine' }), never));
    expect(end).toMatchObject({
      state: 'failed',
      text: expect.stringContaining('changed the context id') as unknown,
    });
  });

  it('is given up when its text never ends', async () => {
    const { peer, server } = await start(({ method }, wire) => {
      if (method === 'CancelTask') return wire.answer(snapshot('TASK_STATE_CANCELED')['task'] as never);
      wire.event(snapshot(WORKING));
      const piece = text('x'.repeat(3 * 1024 * 1024));
      for (let at = 0; at < 8; at += 1) wire.event(piece);
    });
    const { end } = await collect(peer.send(request(), never));
    expect(end).toMatchObject({ state: 'failed', text: expect.stringContaining('characters') as unknown });
    expect(methods(server)).toContain('CancelTask');
  });

  it('is given up when its response cannot be read, and not reported as unreachable', async () => {
    const { peer } = await start((_call, wire) => wire.babble());
    const { end } = await collect(peer.send(request(), never));
    const text =
      'The peer sent no readable response. The outcome of the request is unknown, so it is not sent again.';
    expect(end).toMatchObject({ state: 'failed', text });
  });

  it('is given up when it sends a value that is no event', async () => {
    const { peer } = await start((_call, wire) => {
      wire.event({ task: { id: 'task-1', contextId: 'context-1', status: { state: 'TASK_STATE_DANCING' } } });
      wire.end();
    });
    expect((await collect(peer.send(request(), never))).end).toMatchObject({
      state: 'failed',
      text: expect.stringContaining('state') as unknown,
    });
  });
});

describe('a peer call that is stopped', () => {
  it('waits for the id of its task, to cancel the task', async () => {
    const controller = new AbortController();
    const { peer, server } = await start(({ method }, wire) => {
      if (method === 'CancelTask') return wire.answer(snapshot('TASK_STATE_CANCELED')['task'] as never);
      controller.abort(new LangoError('canceled', 'enough'));
      setTimeout(() => wire.event(snapshot(WORKING)), 50);
    });
    const { end } = await collect(peer.send(request(), controller.signal));
    expect(end.state).toBe('canceled');
    expect(methods(server)).toEqual(['SendStreamingMessage', 'CancelTask']);
  });

  it('does not wait for a peer that never responds to the cancel', async () => {
    const { peer } = await start(({ method }, wire) => {
      if (method !== 'CancelTask') wire.event(snapshot(WORKING));
    });
    const controller = new AbortController();
    let last: PeerEvent | undefined;
    for await (last of peer.send(request(), controller.signal))
      if (last.type === 'task') controller.abort(new LangoError('canceled', 'enough'));
    expect(last).toMatchObject({ type: 'end', state: 'canceled' });
  });

  it('leaves the task running when the reader leaves the stream', async () => {
    const { peer, server } = await start((_call, wire) => wire.event(snapshot(WORKING)));
    for await (const event of peer.send(request(), never)) {
      if (event.type === 'task') break;
    }
    expect(methods(server)).toEqual(['SendStreamingMessage']);
  });
});
