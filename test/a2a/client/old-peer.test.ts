import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Peer } from '../../../src/core/agent.js';
import { LangoError } from '../../../src/core/errors.js';
import { silentLogger } from '../../../src/core/logger.js';
import { createAddressCheck } from '../../../src/http/address-check.js';
import { createEgress } from '../../../src/http/egress.js';
import { ask, collect, textsOf } from '../../suites/peer.js';
import { withServer } from '../../support/server.js';
import type { OldServer, OldTransport } from './old-server.js';
import { startOldServer } from './old-server.js';
import { loadPeers } from './load-peers.js';

const LOOPBACK = ['127.0.0.1'];

describe.each<OldTransport>(['JSONRPC', 'HTTP+JSON', 'GRPC'])('X5 a peer of A2A 0.3 over %s', (transport) => {
  let server: OldServer;
  let peer: Peer;
  const never = new AbortController().signal;

  beforeAll(async () => {
    server = await startOldServer(transport);
    const { peers, skipped } = await loadPeers([{ kind: 'remote', url: server.origin }], {
      fetch: createEgress({ allowPrivate: LOOPBACK, timeoutMs: 60_000, logger: silentLogger }),
      grpc: { addressOf: createAddressCheck(LOOPBACK) },
      retry: { attempts: 3, firstDelayMs: 10, pollMs: 20 },
    });
    expect(skipped).toEqual([]);
    peer = peers[0]!;
  });

  afterAll(() => server.close());

  it('is loaded from its card of 0.3', () => {
    expect(peer).toMatchObject({ name: 'old-timer', description: 'Does as it always did.' });
    expect(peer.skills.map(({ id }) => id)).toEqual(['talk']);
  });

  it('streams its output', async () => {
    const { all, end } = await collect(peer.send(ask('stream'), never));
    if (transport === 'JSONRPC')
      expect(all.filter(({ type }) => type === 'text-delta').length).toBeGreaterThan(1);
    expect(textsOf(all)).toBe('one two');
    expect(end).toMatchObject({ state: 'completed', text: 'one two' });
  });

  it('asks a question, and accepts the reply in the same task', async () => {
    const question = ask('ask');
    const asked = await collect(peer.send(question, never));
    expect(asked.end).toMatchObject({ state: 'input-required', text: 'which one?' });
    expect(asked.end.questions).toHaveLength(1);
    const task = asked.all.find((event) => event.type === 'task');
    // Nothing of its answer came in chunks, which the SDK's codec of 0.3 loses: the stream has all.
    expect(server.reads).not.toContain(task!.taskId);
    const place = { taskId: task!.taskId, contextId: question.contextId, isReply: true };
    const answered = await collect(peer.send(ask('this one', place), never));
    expect(answered.end).toMatchObject({ state: 'completed', text: 'you said this one' });
  });

  it('receives the cancellation of a task', async () => {
    const canceling = new AbortController();
    let id = '';
    for await (const event of peer.send(ask('wait'), canceling.signal)) {
      if (event.type !== 'task') continue;
      id = event.taskId;
      canceling.abort(new LangoError('canceled', 'not needed any more'));
    }
    expect(server.canceled).toContain(id);
  });
});

describe('X5 a peer of A2A 0.3', () => {
  it('becomes a sub-agent like any other, by configuration alone', async () => {
    const old = await startOldServer('GRPC');
    const remoteAgents = [{ name: 'veteran', url: old.origin, allowPrivate: true }];
    await withServer(
      { settings: { server: { port: 0 }, a2a: { enabled: true, remoteAgents } } },
      async (server) => {
        const status = (await (await server.fetch('/lango/agents')).json()) as {
          readonly peers: readonly object[];
        };
        expect(status.peers).toContainEqual(
          expect.objectContaining({ name: 'veteran', state: 'ready', kind: 'remote' }),
        );
      },
    );
    await old.close();
  });
});
