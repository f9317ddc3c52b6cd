import type { RefreshingDirectory } from '../a2a/client/directory.js';
import { createPeerDirectory } from '../a2a/client/directory.js';
import type { CardSource } from '../a2a/client/load.js';
import type { PublishedAgent } from '../a2a/server/routes.js';
import type { Config } from '../config/config.js';
import type { Secrets } from '../config/secrets.js';
import type { Agent } from '../core/agent.js';
import type { Logger } from '../core/logger.js';
import { createAddressCheck } from '../http/address-check.js';
import { createEgress } from '../http/egress.js';

export interface Sources {
  readonly subAgents: readonly Agent[];
  readonly published: ReadonlyMap<string, PublishedAgent>;
  readonly config: Config;
  readonly secrets: Secrets;
  readonly logger: Logger;
}

/** Local and remote agents in one directory: they load through one path (requirement X2). */
export function createPeers(sources: Sources): RefreshingDirectory {
  const { a2a } = sources.config;
  const timeoutMs = 1_000 * a2a.connectSeconds;
  return createPeerDirectory(cardSources(sources), {
    fetch: createEgress({ allowPrivate: privateHosts(sources.config), timeoutMs, logger: sources.logger }),
    grpc: { addressOf: createAddressCheck(privateNames(sources.config)) },
    timeoutMs,
    cardBytes: a2a.cardBytes,
    logger: sources.logger,
  });
}

function cardSources({ subAgents, published, config, secrets }: Sources): readonly CardSource[] {
  const local = subAgents.map(({ profile: { name } }): CardSource => {
    return { kind: 'local', name, handler: published.get(name)!.handler };
  });
  const remote = (config.a2a.enabled ? config.a2a.remoteAgents : []).map(({ name, url }): CardSource => {
    const token = secrets.remoteTokens.get(name);
    return { kind: 'remote', name, url, ...(token ? { token } : {}) };
  });
  return [...local, ...remote];
}

function privateHosts({ a2a, egress }: Config): readonly string[] {
  const peers = a2a.remoteAgents.filter(({ allowPrivate }) => allowPrivate);
  return [...egress.allowPrivate, ...peers.map(({ url }) => new URL(url).host)];
}

/** The gRPC port of a peer is another than that of its card: what is allowed is its host. */
function privateNames({ a2a, egress }: Config): readonly string[] {
  const peers = a2a.remoteAgents.filter(({ allowPrivate }) => allowPrivate);
  return [...egress.allowPrivate, ...peers.map(({ url }) => new URL(url).hostname.replace(/^\[|\]$/g, ''))];
}
