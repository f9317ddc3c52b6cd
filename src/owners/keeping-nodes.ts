import type { Caller } from '../core/identity.js';
import type { KeepingNode } from '../core/keeping-nodes.js';
import { createOwnerClient } from './client.js';

interface KeptAtSettings<Node> {
  /** By the kind of data. */
  readonly keptAt: Readonly<Record<string, Node | undefined>>;
  /** The address of this node on its cards. */
  readonly baseUrl?: string | undefined;
}

/**
 * Makes the function that finds the node which keeps a kind of data; undefined when this node keeps it. `fetchFor` makes
 * the function that sends requests to a node on behalf of an owner.
 */
export function createKeepingNodes<Node extends { readonly url: string }>(
  { keptAt, baseUrl }: KeptAtSettings<Node>,
  fetchFor: (node: Node) => (caller: Caller) => Promise<typeof fetch>,
) {
  return (kind: string): KeepingNode | undefined => {
    const node = keptAt[kind];
    if (!node || (baseUrl !== undefined && new URL(node.url).origin === new URL(baseUrl).origin))
      return undefined;
    const fetchAs = fetchFor(node);
    return {
      url: node.url,
      async clientFor(table, { tenant, owner, scopes }, signal) {
        const send = await fetchAs({ tenant, owner, ...(scopes && { scopes }) });
        return createOwnerClient(table, {
          url: node.url,
          fetch: (input, init) => send(input, { ...init, ...(signal && { signal }) }),
        });
      },
    };
  };
}
