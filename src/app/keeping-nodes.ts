import type { Config } from '../config/config.js';
import type { ReadKeys } from '../core/card.js';
import type { KeepingNode } from '../core/keeping-nodes.js';
import type { Logger } from '../core/logger.js';
import { createOwnerClient } from '../owners/client.js';
import { fetchForOwners } from './peers.js';

interface KeepingParts {
  readonly config: Config;
  readonly keys: ReadKeys;
  readonly logger: Logger;
}

/** One request. A large answer comes in several, of some hundred kilobytes each. */
const REQUEST_MS = 5_000;

/**
 * Finds the node that `a2a.keptAt` names for a kind of data. Each request names its owner. Undefined when this node keeps
 * the data.
 */
export function findKeepingNode(
  kind: keyof Config['a2a']['keptAt'],
  { config, keys, logger }: KeepingParts,
): KeepingNode | undefined {
  const { keptAt, baseUrl } = config.a2a;
  const node = keptAt[kind];
  if (!node || (baseUrl !== undefined && new URL(node.url).origin === new URL(baseUrl).origin))
    return undefined;
  const fetchAs = fetchForOwners(node, { keys, config, timeoutMs: REQUEST_MS, logger });
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
}
