import { extendRoster } from '../agents/agent-specs.js';
import { roleOf } from '../agents/partition.js';
import type { Config } from '../config/config.js';
import type { Secrets } from '../config/secrets.js';
import type { Logger } from '../core/logger.js';
import type { ModelProvider } from '../core/model.js';
import { createEgress } from '../http/egress.js';
import { createOfflineProvider } from '../models/offline/provider.js';
import { allowedHosts } from './allowed-hosts.js';

/** The configured model provider. A new one is a folder in models/ and a line here; only the one in use is loaded. */
export async function createModel(
  { agent, model, egress }: Config,
  { modelApiKey }: Secrets,
  logger: Logger,
): Promise<ModelProvider> {
  if (model.provider === 'offline') {
    const roster = extendRoster(agent.roster, agent.ownAgents);
    return createOfflineProvider((tool) => roleOf(tool, roster));
  }
  const timeoutMs = 1_000 * model.timeoutSeconds;
  const options = {
    model: model.name ?? '',
    maxRetries: model.maxRetries,
    timeoutMs,
    fetch: createEgress({
      allowPrivate: allowedHosts(egress, model.baseUrl),
      timeoutMs,
      idleMs: timeoutMs,
      logger,
    }),
    logger,
    ...(model.baseUrl ? { baseUrl: model.baseUrl } : {}),
  };
  if (model.provider === 'anthropic') {
    const { createAnthropicProvider } = await import('../models/anthropic/provider.js');
    return createAnthropicProvider({ ...options, apiKey: modelApiKey ?? '' });
  }
  const { createOpenaiProvider } = await import('../models/openai/provider.js');
  return createOpenaiProvider({ ...options, ...(modelApiKey ? { apiKey: modelApiKey } : {}) });
}
