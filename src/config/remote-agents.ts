import type { PeerSecrets } from '../core/credential.js';
import { finding, type Finding } from '../core/findings.js';
import type { RemoteAgentConfig } from './config.js';
import type { LoadedConfig } from './load.js';

type UsedAgent = Readonly<{ agent: RemoteAgentConfig; values: PeerSecrets }>;

/** The remote agents that the server uses, with the values of their credentials: none unless `a2a.enabled`. */
export function usedRemoteAgents({ config: { a2a }, secrets }: LoadedConfig): readonly UsedAgent[] {
  const used = a2a.enabled ? a2a.remoteAgents : [];
  return used.map((agent) => ({ agent, values: secrets.remotes.get(agent.name) ?? {} }));
}

/** Finds lists of agents that have no effect, as `a2a.enabled` or `agent.multiAgent` says. */
export function unusedListFindings(loaded: Pick<LoadedConfig, 'config' | 'origins'>): readonly Finding[] {
  const { a2a, agent } = loaded.config;
  if (!agent.multiAgent) {
    const text = 'is not used with agent.multiAgent: false, which runs one agent';
    return [
      ...(agent.ownAgents.length === 0 ? [] : finding(['agent', 'ownAgents'], text)),
      ...(a2a.remoteAgents.length === 0 || !a2a.enabled ? [] : finding(['a2a', 'remoteAgents'], text)),
    ];
  }
  if (a2a.remoteAgents.length === 0 || a2a.enabled || loaded.origins.has('a2a.enabled')) return [];
  const text = 'is not used without a2a.enabled: true; set a2a.enabled to false to keep the list for later';
  return finding(['a2a', 'remoteAgents'], text);
}
