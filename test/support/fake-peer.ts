import type { Peer, PeerDirectory, PeerEvent, PeerRequest } from '../../src/core/agent.js';
import { NO_USAGE } from '../../src/core/model.js';

/** A peer that plays the same events at each send, and the directory that holds it. */
export function fakePeer(
  name: string,
  events: readonly PeerEvent[],
  requests: PeerRequest[] = [],
): PeerDirectory {
  const peer: Peer = {
    name,
    description: `Is ${name}.`,
    skills: [],
    isRemote: false,
    async *send(request) {
      requests.push(request);
      yield* events;
    },
    cancel: async () => {},
  };
  return directoryOf(peer);
}

/** A directory with one peer. */
export function directoryOf(peer: Peer): PeerDirectory {
  const get = (name: string): Peer | undefined => (name === peer.name ? peer : undefined);
  return { list: () => [peer], get, ready: async () => {}, wait: async (name) => get(name) };
}

export function ending(
  author: string,
  text: string,
  state: 'completed' | 'failed' | 'canceled' = 'completed',
): PeerEvent {
  return { type: 'end', state, text, author, questions: [], usage: NO_USAGE, fromOutside: false };
}
