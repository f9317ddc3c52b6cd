import { describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import type { Settings } from 'node:http2';
import { constants } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RawCall } from '../support/raw-grpc.js';
import { RawGrpc, framedMessage } from '../support/raw-grpc.js';
import { scriptedAgent } from '../support/scripted-agent.js';
import type { TestServer } from '../support/server.js';
import { withServer } from '../support/server.js';

/** The limits for a peer that misuses gRPC, observed on the wire. */

interface Bounded {
  readonly server: TestServer;
  readonly port: number;
  readonly open: (settings?: Settings) => RawGrpc;
}

async function withLimits(
  limits: object,
  use: (bounded: Bounded) => Promise<void>,
  worker = scriptedAgent('worker'),
): Promise<void> {
  const settings = { server: { port: 0, grpc: { enabled: true, port: 0 }, limits } };
  await withServer({ agents: [worker], settings }, async (server) => {
    const port = server.address.grpcPort!;
    await use({ server, port, open: (more) => new RawGrpc(port, server.address.token!, more) });
  });
}

async function storedTasks({ server }: Bounded, state?: 'completed'): Promise<number> {
  const filter = state ? `?status=TASK_STATE_${state.toUpperCase()}` : '';
  const answer = await server.fetch(`/agents/worker/tasks${filter}`);
  return ((await answer.json()) as { readonly totalSize: number }).totalSize;
}

async function untilClosed(socket: Socket): Promise<void> {
  if (!socket.closed) await once(socket, 'close');
}

describe('a call whose deadline passes', () => {
  it('gets DEADLINE_EXCEEDED, also while events of its stream are on their way', async () => {
    const worker = scriptedAgent('worker', async (run) => {
      for (let count = 0; !run.signal.aborted && count < 500; count += 1) {
        await run.append({ type: 'activity', activity: { type: 'text', text: String(count) } });
      }
      return { state: 'completed' };
    });
    const use = async ({ open }: Bounded): Promise<void> => {
      using peer = open();
      for (const milliseconds of [5, 10, 20, 40]) {
        const { stream, answer } = peer.begin('sendStreamingMessage', { 'grpc-timeout': `${milliseconds}m` });
        stream.end(framedMessage('say hi'));
        expect(await answer).toMatchObject({ status: 'DEADLINE_EXCEEDED', code: 0 });
      }
    };
    await withLimits({}, use, worker);
  });
});

describe('a call whose message does not arrive', () => {
  it.each([
    ['nothing', Buffer.alloc(0)],
    ['half a frame', framedMessage('say hi').subarray(0, 20)],
    ['a message without an end', framedMessage('say hi')],
  ])(
    'gets a response after server.limits.bodySeconds, and its stream is closed: %s',
    async (_what, bytes) => {
      await withLimits({ bodySeconds: 0.3 }, async (bounded) => {
        using peer = bounded.open();
        const { stream, answer } = peer.begin();
        if (bytes.length > 0) stream.write(bytes);
        expect(await answer).toMatchObject({
          status: 'DEADLINE_EXCEEDED',
          message: 'The message did not arrive within 0.3 s.',
          reason: 'TIMEOUT',
          code: 0,
        });
        const next = peer.begin();
        next.stream.end(framedMessage('say hi'));
        expect(await next.answer).toMatchObject({ status: 'OK' });
        expect(await storedTasks(bounded)).toBe(1);
      });
    },
  );

  it('has its full time although wrong credentials slowed its address down', async () => {
    await withLimits({ bodySeconds: 0.3 }, async ({ server, open }) => {
      const headers = { authorization: 'Bearer wrong' };
      for (let n = 0; n < 20; n += 1) await fetch(`${server.address.origin}/tasks`, { headers });
      using peer = open();
      const { stream, answer } = peer.begin();
      stream.end(framedMessage('say hi'));
      expect(await answer).toMatchObject({ status: 'OK' });
    });
  });

  it('is refused before its message when its caller is unknown or its metadata is too large', async () => {
    await withLimits({ bodySeconds: 60, headerBytes: 2_048 }, async ({ open }) => {
      using peer = open();
      const unknown = peer.begin('sendMessage', { authorization: 'Bearer wrong' });
      expect(await unknown.answer).toMatchObject({ status: 'UNAUTHENTICATED', code: 0 });
      const large = peer.begin('sendMessage', { 'x-large': 'x'.repeat(3_000) });
      expect(await large.answer).toMatchObject({ status: 'RESOURCE_EXHAUSTED', code: 0 });
    });
  });

  it('does not delay the stop of the server: it is cut after server.limits.drainSeconds', async () => {
    await withLimits({ bodySeconds: 60, drainSeconds: 1 }, async ({ server, open }) => {
      using peer = open();
      const { stream, answer } = peer.begin();
      await peer.heard();
      const stopped = server.stop();
      await once(peer.session, 'goaway');
      expect(stream.closed).toBe(false);
      await stopped;
      expect(await answer).toMatchObject({ status: undefined, code: constants.NGHTTP2_CANCEL });
    });
  });
});

describe('a connection of gRPC', () => {
  it('has at most server.limits.callsPerConnection concurrent calls, and another connection has its own', async () => {
    await withLimits({ callsPerConnection: 3 }, async ({ open }) => {
      using first = open();
      // Before it hears of the limit.
      const calls = Array.from({ length: 8 }, () => first.begin());
      for (const { answer } of calls.slice(3))
        expect(await answer).toMatchObject({ code: constants.NGHTTP2_REFUSED_STREAM });
      expect(first.session.remoteSettings.maxConcurrentStreams).toBe(3);
      using second = open();
      const other = second.begin();
      other.stream.end(framedMessage('say hi'));
      expect(await other.answer).toMatchObject({ status: 'OK' });
      for (const { stream, answer } of calls.slice(0, 3)) {
        stream.close(constants.NGHTTP2_CANCEL);
        await answer;
      }
      const later = first.begin();
      later.stream.end(framedMessage('say hi'));
      expect(await later.answer).toMatchObject({ status: 'OK' });
    });
  });

  /** A client that grants no window reads no byte. */
  const DEAF = { initialWindowSize: 0 };

  function say(peer: RawGrpc): RawCall {
    const call = peer.begin();
    call.stream.end(framedMessage('say hi'));
    return call;
  }

  it('buffers at most server.limits.answerBytesPerConnection of unread responses, or one; the rest is refused', async () => {
    await withLimits({ answerBytesPerConnection: 1 }, async (bounded) => {
      using deaf = bounded.open(DEAF);
      const calls = Array.from({ length: 20 }, () => say(deaf));
      while ((await storedTasks(bounded, 'completed')) < calls.length) await sleep(20);
      using other = bounded.open();
      expect(await say(other).answer).toMatchObject({ status: 'OK' });
      deaf.session.settings({ initialWindowSize: 65_535 });
      const answers = await Promise.all(calls.map(({ answer }) => answer));
      const refused = answers.filter(({ status }) => status !== 'OK');
      expect(refused).toHaveLength(19);
      for (const answer of refused)
        expect(answer).toMatchObject({ status: 'RESOURCE_EXHAUSTED', reason: 'TOO_MANY', retrySeconds: 1 });
      expect(await say(deaf).answer).toMatchObject({ status: 'OK' });
    });
  });

  it('accepts calls again after calls with unread responses were canceled', async () => {
    await withLimits({ answerBytesPerConnection: 1 }, async (bounded) => {
      using deaf = bounded.open(DEAF);
      const { stream, answer } = say(deaf);
      while ((await storedTasks(bounded, 'completed')) === 0) await sleep(20);
      stream.close(constants.NGHTTP2_CANCEL);
      expect(await answer).toMatchObject({ status: undefined });
      deaf.session.settings({ initialWindowSize: 65_535 });
      expect(await say(deaf).answer).toMatchObject({ status: 'OK' });
    });
  });

  it('is cut when its peer sends nothing at all', async () => {
    await withLimits({ heartbeatSeconds: 0.1 }, async ({ port }) => {
      await untilClosed(connect(port, '127.0.0.1').resume());
    });
  });

  it('is closed after twenty heartbeats without a call, and not before', async () => {
    let isKept = false;
    const use = async ({ open }: Bounded): Promise<void> => {
      using busy = open();
      using idle = open();
      busy.begin();
      await once(idle.session, 'close');
      isKept = !busy.session.closed && !busy.session.destroyed;
    };
    // A busy machine may acknowledge the pings of the shorter heartbeat too late.
    for (const heartbeatSeconds of [0.15, 0.6]) if (!isKept) await withLimits({ heartbeatSeconds }, use);
    expect(isKept).toBe(true);
  });

  it('is cut after two heartbeats when its peer has vanished, and frees the slot of its stream', async () => {
    // Long enough for a loaded machine to acknowledge the pings of the connections that stay.
    await withLimits({ heartbeatSeconds: 1, streams: 1 }, async ({ server, port, open }) => {
      const wire = createServer((near) => {
        const far = connect(port, '127.0.0.1').on('error', () => {});
        near.pipe(far).pipe(near);
        near
          .on('error', () => {})
          .once('vanish', () => {
            near.unpipe(far);
            far.unpipe(near).resume();
          });
        void untilClosed(far).then(() => near.emit('cut'));
        wire.once('vanish', () => near.emit('vanish')).once('close', () => near.destroy());
        sockets.push(near);
      }).listen(0, '127.0.0.1');
      const sockets: Socket[] = [];
      await once(wire, 'listening');
      using peer = new RawGrpc((wire.address() as AddressInfo).port, server.address.token!);
      const held = peer.begin('sendStreamingMessage');
      held.stream.end(framedMessage('wait'));
      await once(held.stream, 'data');
      const cut = once(sockets[0]!, 'cut');
      wire.emit('vanish');
      await cut;
      using other = open();
      for (let status; status !== 'OK'; await sleep(20)) {
        const next = other.begin('sendStreamingMessage');
        next.stream.end(framedMessage('say hi'));
        ({ status } = await next.answer);
      }
      sockets[0]!.destroy();
      wire.close();
    });
  });
});

describe('the reader of a stream', () => {
  it('is cut when it reads nothing, not even the error', async () => {
    const chatter = scriptedAgent('worker', async (run) => {
      for (let n = 0; n < 100; n += 1) {
        const text = 'x'.repeat(10_000);
        await run.append({ type: 'text-delta', artifactId: 'answer', text, replace: n === 0 });
      }
      return { state: 'completed' };
    });
    // Long enough for a loaded machine to acknowledge the pings of the connection.
    const limits = { heartbeatSeconds: 1.5, streamBufferBytes: 50_000 };
    await withLimits(
      limits,
      async ({ open }) => {
        using peer = open();
        const { stream, answer } = peer.begin('sendStreamingMessage');
        stream.pause().end(framedMessage('go'));
        expect(await answer).toMatchObject({ status: undefined, code: constants.NGHTTP2_ENHANCE_YOUR_CALM });
      },
      chatter,
    );
  });
});

describe('the connections of a server', () => {
  it('are limited by server.limits.connections on each port; those beyond are closed, and a closed one makes room', async () => {
    await withLimits({ connections: 2 }, async ({ server, port }) => {
      for (const place of [port, Number(new URL(server.address.origin).port)]) {
        const open = () =>
          connect(place, '127.0.0.1')
            .on('error', () => {})
            .resume();
        // The gRPC server sends the first bytes.
        const isTaken = (socket: Socket): Promise<boolean> => {
          if (place !== port) socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n');
          return Promise.race([once(socket, 'data').then(() => true), untilClosed(socket).then(() => false)]);
        };
        const [first, second] = [open(), open()];
        await Promise.all([once(first, 'connect'), once(second, 'connect')]);
        await untilClosed(open());
        expect([first.closed, second.closed]).toEqual([false, false]);
        first.destroy();
        let third = open();
        while (!(await isTaken(third))) third = open();
        for (const socket of [second, third]) socket.destroy();
      }
    });
  });
});
