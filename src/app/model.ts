import { extendRoster } from '../agents/agent-specs.js';
import { roleOf } from '../agents/partition.js';
import type { Config } from '../config/config.js';
import type { Secrets } from '../config/secrets.js';
import type { Logger } from '../core/logger.js';
import type { ModelProvider, Distiller } from '../core/model.js';
import { createEgress } from '../http/egress.js';
import { createDistiller } from '../models/distiller.js';
import { createOfflineProvider } from '../models/offline/provider.js';

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
      allowPrivate: egress.allowPrivate,
      configuredUrl: model.baseUrl,
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

export interface DistillerSources {
  readonly config: Config;
  readonly secrets: Secrets;
  /** The model of the program that uses Lango as a library; undefined for the configured one. */
  readonly model: ModelProvider | undefined;
  readonly logger: Logger;
}

/** Makes a distiller that asks `modelName`, else the agents' model. Undefined with the offline model: it cannot sum up. */
export async function openDistiller(
  { config, secrets, model, logger }: DistillerSources,
  modelName: string | undefined,
): Promise<Distiller | undefined> {
  if (model) return createDistiller(model);
  if (config.model.provider === 'offline') return undefined;
  const name = modelName ?? config.model.name;
  const own = { ...config.model, ...(name === undefined ? {} : { name }) };
  return createDistiller(await createModel({ ...config, model: own }, secrets, logger));
}
