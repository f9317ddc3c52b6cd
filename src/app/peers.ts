import type { RefreshingDirectory } from '../a2a/client/directory.js';
import { createPeerDirectory } from '../a2a/client/directory.js';
import type { CardTrust } from '../a2a/client/card-trust.js';
import type { CardSource } from '../a2a/client/load.js';
import type { PublishedAgent } from '../a2a/server/routes.js';
import type { Config } from '../config/config.js';
import type { Secrets } from '../config/secrets.js';
import type { Agent, PeerDirectory } from '../core/agent.js';
import type { Logger } from '../core/logger.js';
import { createAddressCheck } from '../http/address-check.js';
import { createEgress } from '../http/egress.js';
import { JwtKeys } from '../http/jwt-keys.js';
import { keysFromFile, keysFromUrl } from '../http/key-sources.js';

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
  const egress = createEgress({
    allowPrivate: privateHosts(sources.config),
    timeoutMs,
    logger: sources.logger,
    privateHint: 'If that is meant, set allowPrivate: true in its entry of a2a.remoteAgents.',
  });
  return createPeerDirectory(cardSources(sources, egress), {
    fetch: egress,
    grpc: { addressOf: createAddressCheck(privateNames(sources.config)), timeoutMs },
    timeoutMs,
    cardBytes: a2a.cardBytes,
    logger: sources.logger,
  });
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

function cardSources(sources: Sources, egress: typeof fetch): readonly CardSource[] {
  const { subAgents, published, config, secrets, logger } = sources;
  const local = subAgents.map(({ profile: { name } }): CardSource => {
    return { kind: 'local', name, handler: published.get(name)!.handler };
  });
  const remote = (config.a2a.enabled ? config.a2a.remoteAgents : []).map(
    ({ name, url, verify }): CardSource => {
      const token = secrets.remoteTokens.get(name);
      const trust = verify && trustOf(verify, egress, logger.child({ agent: name }));
      return { kind: 'remote', name, url, trust, ...(token ? { token } : {}) };
    },
  );
  return [...local, ...remote];
}

type Verify = NonNullable<Config['a2a']['remoteAgents'][number]['verify']>;

/** Keys are read again after five minutes, or when one is not among them. */
const KEY_TIMES = { refreshSeconds: 300, cooldownSeconds: 10 };

function trustOf({ jwks, keys, hash }: Verify, egress: typeof fetch, logger: Logger): CardTrust {
  const load = jwks === undefined ? keys && keysFromFile(keys) : keysFromUrl(jwks, egress);
  const trusted = load && new JwtKeys({ load, ...KEY_TIMES, logger });
  return {
    ...(hash === undefined ? {} : { hash }),
    ...(trusted ? { findKey: (header, token) => trusted.find(header, token) } : {}),
  };
}

function privateHosts({ a2a, egress }: Config): readonly string[] {
  return [
    ...egress.allowPrivate,
    ...privatePeers(a2a)
      .flatMap(addresses)
      .map((url) => new URL(url).host),
  ];
}

/** Where it is, and where its keys are. */
function addresses({ url, verify }: Config['a2a']['remoteAgents'][number]): readonly string[] {
  return verify?.jwks === undefined ? [url] : [url, verify.jwks];
}

/** The gRPC port of a peer is another than that of its card: what is allowed is its host. */
function privateNames({ a2a, egress }: Config): readonly string[] {
  return [
    ...egress.allowPrivate,
    ...privatePeers(a2a).map(({ url }) => new URL(url).hostname.replace(/^\[|\]$/g, '')),
  ];
}

function privatePeers({ remoteAgents }: Config['a2a']): Config['a2a']['remoteAgents'] {
  return remoteAgents.filter(({ allowPrivate }) => allowPrivate);
}
