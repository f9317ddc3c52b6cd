import { describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import type { SendMessageRequest } from '@a2a-js/sdk';
import { request } from '../suites/a2a-operations.js';
import type { Way } from '../support/a2a-transports.js';
import { remoteWaysTo } from '../support/a2a-transports.js';
import { scriptedAgent } from '../support/scripted-agent.js';
import type { TestServer } from '../support/server.js';
import { startServer, withServer } from '../support/server.js';

/** The limits of a request, set in the configuration and observed over each transport. */

const GRPC = { enabled: true, port: 0 };

interface Bounded {
  readonly server: TestServer;
  readonly ways: readonly Way[];
}

async function withLimits(limits: object, use: (bounded: Bounded) => Promise<void>): Promise<void> {
  const settings = { server: { port: 0, grpc: GRPC, limits } };
  await withServer({ agents: [scriptedAgent('worker')], settings }, async (server) => {
    await use({ server, ways: await remoteWaysTo(server.address.origin, 'worker') });
  });
}

const token = ({ server }: Bounded): string => server.address.token!;

function withData(value: unknown): SendMessageRequest {
  const data = {
    content: { $case: 'data' as const, value },
    metadata: undefined,
    filename: '',
    mediaType: '',
  };
  return request('say hi', { parts: [data] });
}

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let n = 0; n < depth; n += 1) value = [value];
  return value;
}

const keys = (count: number): unknown =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, n]));

describe('a request over every transport', () => {
  it.each([
    {
      limits: { bodyBytes: 4_000 },
      message: request('x'.repeat(5_000)),
      reason: /larger than|max/i,
    },
    { limits: { jsonDepth: 20 }, message: withData(nested(30)), reason: /deeper than 20/ },
    { limits: { jsonKeys: 20 }, message: withData(keys(30)), reason: /more than 20/ },
    { limits: {}, message: withData(Array(25_000).fill([])), reason: /more than 25000 lists and objects/ },
  ])('is refused over server.limits $limits, and stores nothing', async ({ limits, message, reason }) => {
    await withLimits(limits, async (bounded) => {
      const saying = { token: token(bounded) };
      for (const way of bounded.ways) {
        const { transport } = way;
        const failure: unknown = await transport
          .sendMessage(message, way.options(saying))
          .catch((error: unknown) => error);
        expect([way.name, String(failure)]).toEqual([way.name, expect.stringMatching(reason)]);
        const { totalSize } = await transport.listTasks(
          { tenant: '', contextId: '', status: 0, pageToken: '', statusTimestampAfter: undefined },
          way.options(saying),
        );
        expect([way.name, totalSize]).toEqual([way.name, 0]);
      }
      for (const way of bounded.ways) {
        await expect(
          way.transport.sendMessage(request('say hi'), way.options(saying)),
        ).resolves.toBeDefined();
      }
    });
  });

  it('is refused over server.limits.headerBytes, and stores nothing', async () => {
    await withLimits({ headerBytes: 2_048 }, async (bounded) => {
      const extensions = `urn:${'x'.repeat(3_000)}`;
      for (const way of bounded.ways) {
        const { name, transport } = way;
        const long = way.options({ token: token(bounded), extensions });
        const failure: unknown = await transport
          .sendMessage(request('say hi'), long)
          .catch((error: unknown) => error);
        expect([name, String(failure)]).toEqual([
          name,
          expect.stringMatching(/431|headers are too large|larger than 2048 bytes/),
        ]);
      }
    });
  });

  it('is refused over server.limits.streams, and stores nothing', async () => {
    await withLimits({ streams: 1 }, async (bounded) => {
      const saying = { token: token(bounded) };
      const [first] = bounded.ways;
      const held = first!.transport.sendMessageStream(request('wait'), first!.options(saying));
      await held.next();
      for (const way of bounded.ways) {
        const { name, transport } = way;
        const next = transport.sendMessageStream(request('say hi'), way.options(saying)).next();
        const failure: unknown = await next.catch((error: unknown) => error);
        expect([name, String(failure)]).toEqual([name, expect.stringMatching(/stream/)]);
      }
      await held.return();
    });
  });
});

describe('a client that sends its request slowly', () => {
  const talk = async ({ server }: Bounded, words: string): Promise<string> => {
    const { port } = new URL(server.address.origin);
    const socket = connect(Number(port), '127.0.0.1');
    await once(socket, 'connect');
    socket.write(words);
    return text(socket);
  };

  it('is cut after server.limits.headerSeconds', async () => {
    await withLimits({ headerSeconds: 0.2 }, async (bounded) => {
      expect(await talk(bounded, 'GET / HTTP/1.1\r\nHo')).toMatch(/^HTTP\/1\.1 408/);
    });
  });

  it('is cut after server.limits.bodySeconds', async () => {
    await withLimits({ bodySeconds: 0.2 }, async (bounded) => {
      const head = [
        'POST /agents/worker/message:send HTTP/1.1',
        'Host: localhost',
        `Authorization: Bearer ${token(bounded)}`,
        'Content-Type: application/json',
        'Content-Length: 99',
      ];
      const answer = await talk(bounded, `${head.join('\r\n')}\r\n\r\n{`);
      expect(answer).toMatch(/^HTTP\/1\.1 408/);
      expect(answer).toContain('0.2 s');
    });
  });
});

describe('a2a.cardBytes', () => {
  it('leaves out a remote agent with a larger card, and reports the reason', async () => {
    const far = await startServer({ agents: [scriptedAgent('worker')] });
    try {
      const url = `${far.address.origin}/agents/worker`;
      const remoteAgents = [{ name: 'far', url, token: far.address.token!, allowPrivate: true }];
      const settings = { server: { port: 0 }, a2a: { enabled: true, cardBytes: 200, remoteAgents } };
      await withServer({ settings }, async (server) => {
        await server.log.saying('The card is larger than 200 bytes.');
      });
    } finally {
      await far.stop();
    }
  });
});
