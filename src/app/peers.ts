import { RefreshingDirectory } from '../a2a/client/directory.js';
import type { CardSource } from '../a2a/client/load.js';
import { connectRules, fetchForOwners, remoteSources } from '../a2a/client/remote-sources.js';
import type { LoadedConfig } from '../config/load.js';
import { unusedListFindings, usedRemoteAgents } from '../config/remote-agents.js';
import type { CapabilityContext, SettingsGroups } from '../core/capability.js';
import { keyOf } from '../core/findings.js';
import { createAddressCheck } from '../http/address-check.js';
import { ownOwner } from '../http/identity.js';
import { JwtKeys, keysFromFile, keysFromUrl } from '../http/jwt-keys.js';
import { signAssertion } from '../http/node-assertion.js';
import { createTokenRequest } from '../http/oauth-client.js';
import { clientCertificate } from '../http/tls.js';
import { createOwnerClient } from '../owners/client.js';
import { egressOf, type Parts } from './node.js';

/** The directory of this node's peers, empty until `replace` is called with the sources of their cards. */
export function createDirectory(node: Parts<'config' | 'settings' | 'logger' | 'stopping'>) {
  const { awaySeconds, cardBytes, idleSeconds } = node.config.a2a;
  const connecting = connectParts(node);
  return new RefreshingDirectory([], {
    ...connectRules(connecting),
    timeoutMs: connecting.timeoutMs,
    cardBytes,
    waitMs: 1_000 * awaySeconds,
    leaveMs: 1_000 * awaySeconds,
    signal: node.stopping,
    limits: { idleMs: 1_000 * idleSeconds },
    logger: node.logger,
  });
}

/** The sub-agents of this node as sources of cards: they become peers by the same path as remote agents (requirement X2). */
export function localSources(node: Parts<'subAgents' | 'published'>): readonly CardSource[] {
  const names = node.subAgents.map(({ profile }) => profile.name);
  return names.map((name) => ({ kind: 'local', name, handler: node.published.get(name)!.handler }));
}

type CallingParts = Parts<'config' | 'settings' | 'keys' | 'logger'>;

/**
 * The remote agents of `list` as sources of cards. A reload may have read the list and its credentials anew; all other
 * settings are those that the node was started with.
 */
export function openRemoteSources(list: LoadedConfig, node: CallingParts & Parts<'guard' | 'hidden'>) {
  const { guard, hidden, logger } = node;
  for (const { path, text } of unusedListFindings(list)) logger.warn(`${keyOf(path)} ${text}`);
  return remoteSources(usedRemoteAgents(list), {
    ...connectParts(node),
    ...callingParts(node),
    ...{ guard, hidden, owner: ownOwner(node.config.auth), createTokenRequest, clientCertificate, logger },
    openKeys: ({ jwks, keys: file }, send, ofAgent) => {
      if (jwks === undefined && file === undefined) return undefined;
      const load = jwks === undefined ? keysFromFile(file!) : keysFromUrl(jwks, send);
      // Keys are loaded again after five minutes, or when a key is not among them.
      return new JwtKeys({ load, refreshSeconds: 300, cooldownSeconds: 10, logger: ofAgent }).find;
    },
  });
}

function connectParts(node: Parts<'config' | 'settings' | 'logger'>) {
  const { a2a, egress } = node.config;
  return {
    createFetch: egressOf(node),
    addressCheck: (hosts: readonly string[]) => createAddressCheck([...egress.allowPrivate, ...hosts]),
    timeoutMs: 1_000 * a2a.connectSeconds,
  };
}

function callingParts(node: CallingParts): Parameters<typeof fetchForOwners>[1] {
  return {
    createFetch: egressOf(node),
    sign: async (audience, caller, task) => {
      const { current: key } = await node.keys();
      return signAssertion({ key, audience, caller, task });
    },
  };
}

/** The time limit for what a tool asks a node of `a2a.keptAt`. Large data comes in several, of some hundred kilobytes each. */
const KEPT_CALL_MS = 5_000;

/** Makes the function that finds the node which `a2a.keptAt` names for a kind of data; undefined when this node keeps it. */
export function keepingNodesOf(
  node: CallingParts,
  timeoutMs = KEPT_CALL_MS,
): CapabilityContext<SettingsGroups>['keepingNode'] {
  const { keptAt, baseUrl } = node.config.a2a;
  return (kind) => {
    const other = keptAt[kind];
    if (!other || (baseUrl !== undefined && new URL(other.url).origin === new URL(baseUrl).origin))
      return undefined;
    const { url } = other;
    const fetchAs = fetchForOwners(other, callingParts(node), timeoutMs);
    return {
      url,
      async clientFor(table, { tenant, owner, scopes }, signal) {
        const send = await fetchAs({ tenant, owner, ...(scopes && { scopes }) });
        const fetch: typeof send = (input, init) => send(input, { ...init, ...(signal && { signal }) });
        return createOwnerClient(table, { url, fetch });
      },
    };
  };
}
