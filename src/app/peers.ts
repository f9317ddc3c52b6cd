import type { RefreshingDirectory } from '../a2a/client/directory.js';
import { createPeerDirectory } from '../a2a/client/directory.js';
import type { CardSource } from '../a2a/client/load.js';
import type { PublishedAgent } from '../a2a/server/operations.js';
import type { Agent, PeerDirectory } from '../core/agent.js';
import type { Logger } from '../core/logger.js';
import type { ListChange, RemoteList } from './remote-sources.js';
import { RemoteSources } from './remote-sources.js';

export interface PeerOptions extends RemoteList {
  readonly subAgents: readonly Agent[];
  readonly published: ReadonlyMap<string, PublishedAgent>;
  readonly logger: Logger;
}

export interface Peers {
  readonly directory: RefreshingDirectory;
  /** Takes the remote agents of this list in the place of those before. Never rejects. */
  take(list: RemoteList): Promise<ListChange>;
}

/** Local and remote agents in one directory: they load through one path (requirement X2). */
export function createPeers({ subAgents, published, config, secrets, logger }: PeerOptions): Peers {
  const local = subAgents.map(({ profile: { name } }): CardSource => {
    return { kind: 'local', name, handler: published.get(name)!.handler };
  });
  const remote = new RemoteSources(config, logger);
  remote.take({ config, secrets });
  const sources = (): readonly CardSource[] => [...local, ...remote.list()];
  const directory = createPeerDirectory(sources(), {
    ...remote.way,
    timeoutMs: 1_000 * config.a2a.connectSeconds,
    cardBytes: config.a2a.cardBytes,
    logger,
  });
  return {
    directory,
    async take(list) {
      const change = remote.take(list);
      await directory.replace(sources());
      return change;
    },
  };
}

/** The directory for those who are made before it: it is asked only once a task runs. */
export function lateDirectory(peers: () => PeerDirectory): PeerDirectory {
  return {
    list: () => peers().list(),
    get: (name) => peers().get(name),
    wait: (name, signal) => peers().wait(name, signal),
  };
}

/** Looks at all peers now, and again and again. Gives the way to stop. */
export async function keepFresh(peers: RefreshingDirectory, seconds: number): Promise<() => void> {
  await peers.refresh();
  const refreshing = setInterval(() => void peers.refresh(), 1_000 * seconds);
  return () => clearInterval(refreshing);
}
