import { afterEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { OUTCOME_UNKNOWN } from '../../../src/a2a/client/watch.js';
import { fromAgentExecutor } from '../../../src/a2a/server/executor-adapter.js';
import type { Agent, Peer } from '../../../src/core/agent.js';
import { silentLogger } from '../../../src/core/logger.js';
import { textOf } from '../../../src/core/message.js';
import { NO_USAGE } from '../../../src/core/model.js';
import type { Run, RunEnd } from '../../../src/core/run.js';
import { createAddressCheck } from '../../../src/http/address-check.js';
import { createEgress } from '../../../src/http/egress.js';
import { OUR_EXTENSIONS } from '../../../src/core/extensions.js';
import { ask, collect, describePeer, type EndOf } from '../../suites/peer.js';
import { TOKEN, startA2aNode, type A2aNode } from '../../support/a2a-node.js';
import { scriptedAgent } from '../../support/scripted-agent.js';
import { ScriptedExecutor } from './scripted-executor.js';
import { loadPeers } from './load-peers.js';

const egress = createEgress({ allowPrivate: ['127.0.0.1'], timeoutMs: 60_000, logger: silentLogger });

/** The stock executor as an agent of ours. It answers "marks" and "approve" with what only our agents can do. */
function agentOf(executor: ScriptedExecutor): Agent {
  const profile = { name: 'scripted', description: 'Does what the first word says.', skills: [] };
  const stock = fromAgentExecutor({ executor, profile });
  return {
    profile,
    async run(run) {
      switch (textOf(run.inputs.at(-1)!.message.parts)) {
        case 'marks':
          return marks(run);
        case 'approve':
          return approve();
        default:
          return stock.run(run);
      }
    },
  };
}

async function marks(run: Run): Promise<RunEnd> {
  const activity = { type: 'tool-call', tool: 'fs_read', arguments: { path: 'a' } } as const;
  await run.append({ type: 'activity', activity }, 'deep-agent');
  run.emit({ type: 'text-delta', artifactId: 'answer', text: 'marked', replace: true }, 'deep-agent');
  await run.append({ type: 'turn-start', step: 't' });
  await run.append({
    type: 'turn-end',
    step: 't',
    content: [],
    stopReason: 'end',
    usage: { ...NO_USAGE, input: 7, output: 3, cached: 1 },
  });
  return { state: 'completed' };
}

function approve(): RunEnd {
  const question = {
    hash: 'h1',
    kind: 'approval',
    text: 'Run ls?',
    author: 'scripted',
    tool: 'exec',
    arguments: { command: 'ls' },
  } as const;
  return { state: 'input-required', text: 'Run ls?', questions: [question] };
}

async function peerOf(node: A2aNode, kind: 'local' | 'remote'): Promise<Peer> {
  const source =
    kind === 'local'
      ? { kind, name: 'scripted', handler: node.handlers.get('scripted')! }
      : { kind, url: `${node.origin}/agents/scripted`, token: TOKEN };
  const { peers, skipped } = await loadPeers([source], {
    fetch: egress,
    retry: { attempts: 3, firstDelayMs: 10, pollMs: 20 },
  });
  expect(skipped).toEqual([]);
  return peers[0]!;
}

for (const kind of ['local', 'remote'] as const) {
  describePeer(`on our own server, ${kind}`, async () => {
    const executor = new ScriptedExecutor();
    const node = await startA2aNode({ agents: [agentOf(executor)] });
    const peer = await peerOf(node, kind);
    return { peer, executor, prefix: kind === 'local' ? '' : 'scripted/', close: () => node.stop() };
  });
}

describe('a peer of this process and one of another server', () => {
  const never = new AbortController().signal;
  let node: A2aNode;

  afterEach(() => node.stop());

  it('report the same end of a task that had ended before they followed it again', async () => {
    node = await startA2aNode({ agents: [agentOf(new ScriptedExecutor())] });
    const ends: EndOf[] = [];
    for (const kind of ['local', 'remote'] as const) {
      const peer = await peerOf(node, kind);
      const request = ask('marks');
      const { all, end } = await collect(peer.send(request, never));
      const { taskId } = all.find((event) => event.type === 'task')!;
      const again = await collect(peer.send({ ...request, taskId }, never));
      expect(again.end).toEqual(end);
      ends.push(end);
    }
    expect(ends[0]!.usage).toEqual({ input: 7, output: 3, cached: 1 });
    // All that an agent of another server says is from outside.
    expect(ends[1]).toEqual({ ...ends[0], fromOutside: true });
  });

  it('name the entries that hold the content, those of the task that wrote it first, only within a process', async () => {
    const activity = { type: 'text', text: 'relayed '.repeat(30) } as const;
    const relays = scriptedAgent('scripted', async (run) => {
      run.emit({ type: 'activity', activity, from: ['further below', 4, 4] });
      run.emit({
        type: 'artifact',
        artifact: { id: 'a', parts: [{ kind: 'data', data: [1] }] },
        append: false,
      });
      return { state: 'completed' };
    });
    node = await startA2aNode({ agents: [relays] });
    const origins = async (kind: 'local' | 'remote') => {
      const { all } = await collect((await peerOf(node, kind)).send(ask('go'), never));
      const { taskId } = all.find((event) => event.type === 'task')!;
      const shown = all.filter(({ type }) => type === 'activity' || type === 'artifact');
      expect(shown).toMatchObject([{ activity }, { artifact: { id: 'a' } }]);
      return shown.map((event) =>
        'from' in event && event.from
          ? event.from.with(0, event.from[0] === taskId ? 'own' : event.from[0])
          : 'none',
      );
    };
    expect(await origins('local')).toEqual([
      ['further below', 4, 4],
      ['own', 4, 4],
    ]);
    expect(await origins('remote')).toEqual(['none', 'none']);
  });

  it('send an executor the same request', async () => {
    const profile = { name: 'scripted', description: 'Does what the first word says.', skills: [] };
    const agent = fromAgentExecutor({ executor: new ScriptedExecutor(), profile });
    node = await startA2aNode({ agents: [agent] });
    const sent: { readonly message: object; readonly extensions?: unknown }[] = [];
    for (const kind of ['local', 'remote'] as const) {
      const { all } = await collect((await peerOf(node, kind)).send(ask('stream'), never));
      const { taskId } = all.find((event) => event.type === 'task')!;
      const [first] = await node.store.read(taskId, 0, 1);
      if (first?.body.type !== 'message') throw new Error('the log does not begin with a message');
      const { request, message } = first.body;
      sent.push({ ...request, message: { ...message, id: '' } });
    }
    const [local, { extensions, ...remote } = { message: {} }] = sent;
    expect(remote).toEqual(local);
    expect(local).toMatchObject({ configuration: { returnImmediately: true } });
    // The extensions for which a request over the wire asks.
    expect(extensions).toEqual(OUR_EXTENSIONS);
  });
});

/** A fetch that leaves only the gRPC interface on the card of a peer. */
const grpcOnly: typeof fetch = async (input, init) => {
  const card = (await (await egress(input, init)).json()) as {
    readonly supportedInterfaces: readonly { readonly protocolBinding: string }[];
  };
  const supportedInterfaces = card.supportedInterfaces.filter((one) => one.protocolBinding === 'GRPC');
  return Response.json({ ...card, supportedInterfaces });
};

describePeer('on our own server, over gRPC', async () => {
  const executor = new ScriptedExecutor();
  const node = await startA2aNode({ agents: [agentOf(executor)], grpc: true });
  const source = { kind: 'remote', url: `${node.origin}/agents/scripted`, token: TOKEN } as const;
  const { peers, skipped } = await loadPeers([source], {
    fetch: grpcOnly,
    grpc: { addressOf: createAddressCheck(['127.0.0.1']) },
    retry: { attempts: 3, firstDelayMs: 10, pollMs: 20 },
  });
  expect(skipped).toEqual([]);
  return { peer: peers[0]!, executor, prefix: 'scripted/', close: () => node.stop() };
});

describe('a peer that is reached over gRPC', () => {
  it('is not called at a private address that is not allowed', async () => {
    const node = await startA2aNode({ agents: [agentOf(new ScriptedExecutor())], grpc: true });
    const { peers } = await loadPeers([{ kind: 'remote', url: node.origin, token: TOKEN }], {
      fetch: grpcOnly,
      grpc: { addressOf: createAddressCheck([]) },
      retry: { attempts: 0 },
    });
    const { end } = await collect(peers[0]!.send(ask('stream'), new AbortController().signal));
    await node.stop();
    expect(end).toMatchObject({ state: 'failed', text: expect.stringContaining('private or loopback') });
  });

  it.each([
    ['as a stream', true],
    ['to be polled', false],
  ])('is given up when it accepts the connection and sends nothing: %s', async (_how, streaming) => {
    const sockets: Socket[] = [];
    const silent = createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const supportedInterfaces = [
      { url: `127.0.0.1:${port}`, protocolBinding: 'GRPC', protocolVersion: '1.0' },
    ];
    const json = { name: 'far', description: 'Far.', version: '1', skills: [], capabilities: { streaming } };
    const { peers } = await loadPeers([{ kind: 'remote', url: 'http://127.0.0.1' }], {
      fetch: () => Promise.resolve(Response.json({ ...json, supportedInterfaces })),
      grpc: { addressOf: createAddressCheck(['127.0.0.1']), timeoutMs: 200, idleMs: 200 },
    });
    const { end } = await collect(peers[0]!.send(ask('stream'), new AbortController().signal));
    silent.close();
    for (const socket of sockets) socket.destroy();
    const text = `127.0.0.1:${port} was silent for 200 ms.${OUTCOME_UNKNOWN}`;
    expect(end).toMatchObject({ state: 'failed', text });
  });

  it('is refused when its card sends us to another host', async () => {
    const json = { name: 'far', description: 'Far.', version: '1', skills: [], capabilities: {} };
    const supportedInterfaces = [
      { url: 'evil.example:443', protocolBinding: 'GRPC', protocolVersion: '1.0' },
    ];
    const { skipped } = await loadPeers([{ kind: 'remote', url: 'https://far.example' }], {
      fetch: () => Promise.resolve(Response.json({ ...json, supportedInterfaces })),
      grpc: { addressOf: createAddressCheck([]) },
    });
    expect(skipped[0]?.reason).toContain('not on the host of https://far.example');
  });
});

interface Cuts {
  /** The number of streams that are still to be cut, and of those that were. */
  left: number;
  made: number;
  readonly onRead: () => void;
}

/** A fetch that breaks each event stream after two reads, as long as cuts are left. */
function breaking(cuts: Cuts, seen: (string | null)[]): typeof fetch {
  return async (input, init) => {
    const response = await egress(input, init);
    if (response.headers.get('content-type') !== 'text/event-stream') return response;
    seen.push(new Headers(init?.headers).get('last-event-id'));
    if (cuts.left === 0) return response;
    cuts.left -= 1;
    let reads = 0;
    const fuse = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        cuts.onRead();
        if (++reads <= 2) return controller.enqueue(chunk);
        cuts.made += 1;
        controller.error(new Error('cable pulled'));
      },
    });
    return new Response(response.body?.pipeThrough(fuse) ?? null, response);
  };
}

describe('a peer on our own server', () => {
  it('yields every text exactly once although its connection breaks again and again', async () => {
    const words = Array.from({ length: 40 }, (_, at) => ` word${at}`);
    let read = Promise.withResolvers<void>();
    const onRead = (): void => {
      read.resolve();
      read = Promise.withResolvers();
    };
    const cuts = { left: 5, made: 0, onRead };
    const talker: Agent = {
      profile: { name: 'talker', description: 'Talks.', skills: [] },
      async run(run) {
        for (const [at, text] of words.entries()) {
          const { promise } = read;
          await run.append({ type: 'text-delta', artifactId: 'a', text, replace: at === 0 });
          // Waits until the reader has read on, so that each stream has enough reads.
          if (cuts.made < 5) await promise;
        }
        return { state: 'completed' };
      },
    };
    const node = await startA2aNode({ agents: [talker] });
    const cursors: (string | null)[] = [];
    const { peers } = await loadPeers([{ kind: 'remote', url: node.origin, token: TOKEN }], {
      fetch: breaking(cuts, cursors),
      retry: { attempts: 3, firstDelayMs: 1, pollMs: 5 },
    });
    const { all, end } = await collect(peers[0]!.send(ask('go'), new AbortController().signal));
    await node.stop();
    expect(all.flatMap((event) => (event.type === 'text-delta' ? [event.text] : [])).join('')).toBe(
      words.join(''),
    );
    expect(end).toMatchObject({ state: 'completed', text: words.join('') });
    expect(cursors).toHaveLength(6);
    expect(cursors.slice(1).every((cursor) => Number(cursor) > 0)).toBe(true);
  });
});
