import { expect } from '@jest/globals';
import type { CardSource } from '../../../src/a2a/client/load.js';
import type { Peer } from '../../../src/core/agent.js';
import { silentLogger } from '../../../src/core/logger.js';
import { createEgress } from '../../../src/http/egress.js';
import { describePeer } from '../../suites/peer.js';
import type { CardChanges } from './stock-server.js';
import { startStockServer } from './stock-server.js';
import { loadPeers } from './load-peers.js';

const egress = createEgress({ allowPrivate: ['127.0.0.1'], timeoutMs: 60_000, logger: silentLogger });

async function load(source: CardSource): Promise<Peer> {
  const { peers, skipped } = await loadPeers([source], {
    fetch: egress,
    retry: { attempts: 3, firstDelayMs: 10, pollMs: 20 },
  });
  expect(skipped).toEqual([]);
  return peers[0]!;
}

const remote: readonly [string, CardChanges][] = [
  ['over JSON-RPC', { bindings: ['JSONRPC'] }],
  ['over HTTP+JSON', { bindings: ['HTTP+JSON'] }],
];
for (const [name, changes] of remote) {
  describePeer(name, async () => {
    const server = await startStockServer(changes);
    const peer = await load({ kind: 'remote', url: server.origin });
    return { ...server, peer, prefix: 'scripted/' };
  });
}
