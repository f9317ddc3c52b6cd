import type { Caller } from '../core/identity.js';
import type { KeepingNode } from '../core/keeping-nodes.js';
import { createOwnerClient } from './client.js';

/** A node of `a2a.keptAt`. */
interface KeptAt {
  readonly url: string;
}

interface KeepingNodesOptions<Node extends KeptAt> {
  /** By the kind of data. */
  readonly keptAt: Readonly<Record<string, Node | undefined>>;
  /** The address of this node on its cards. */
  readonly baseUrl: string | undefined;
  /** Makes the function that sends requests to a node on behalf of an owner. */
  readonly fetchFor: (node: Node) => (caller: Caller) => Promise<typeof fetch>;
}

/** Makes the function that finds the node which keeps a kind of data; undefined when this node keeps it. */
export function createKeepingNodes<Node extends KeptAt>(options: KeepingNodesOptions<Node>) {
  const { keptAt, baseUrl, fetchFor } = options;
  return (kind: string): KeepingNode | undefined => {
    const node = keptAt[kind];
    if (!node || (baseUrl !== undefined && new URL(node.url).origin === new URL(baseUrl).origin))
      return undefined;
    const fetchAs = fetchFor(node);
    return {
      url: node.url,
      async clientFor(table, { tenant, owner }, signal) {
        const send = await fetchAs({ tenant, owner });
        return createOwnerClient(table, {
          url: node.url,
          fetch: (input, init) => send(input, { ...init, ...(signal && { signal }) }),
        });
      },
    };
  };
}
