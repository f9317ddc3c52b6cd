import type { Config } from '../config/config.js';
import type { Secrets } from '../config/secrets.js';
import type { Logger } from '../core/logger.js';
import type { ModelProvider } from '../core/model.js';
import { createEgress } from '../http/egress.js';
import { createAnthropicProvider } from '../models/anthropic/provider.js';
import { createOfflineProvider } from '../models/offline/provider.js';
import { createOpenaiProvider } from '../models/openai/provider.js';

/** The configured model provider. A new one is a folder in models/ and a line here. */
export function createModel(
  { model, egress }: Config,
  { modelApiKey }: Secrets,
  logger: Logger,
): ModelProvider {
  if (model.provider === 'offline') return createOfflineProvider();
  const timeoutMs = 1_000 * model.timeoutSeconds;
  const allowPrivate = [...egress.allowPrivate, ...(model.baseUrl ? [new URL(model.baseUrl).host] : [])];
  const options = {
    model: model.name ?? '',
    maxRetries: model.maxRetries,
    timeoutMs,
    fetch: createEgress({ allowPrivate, timeoutMs, logger }),
    logger,
    ...(model.baseUrl ? { baseUrl: model.baseUrl } : {}),
  };
  return model.provider === 'anthropic'
    ? createAnthropicProvider({ ...options, apiKey: modelApiKey ?? '' })
    : createOpenaiProvider({ ...options, ...(modelApiKey ? { apiKey: modelApiKey } : {}) });
}
