import type { CreateFetch } from '../core/http.js';
import type { JsonObject } from '../core/json.js';
import type { Logger } from '../core/logger.js';
import type { ModelProvider } from '../core/model.js';
import { createOfflineProvider } from './offline/provider.js';
import type { OpenaiOptions } from './openai/provider.js';
import { windowTokensOf } from './prices.js';

/** The settings of a model, without its secrets. */
interface ModelSettings extends Omit<OpenaiOptions, 'model' | 'apiKey' | 'timeoutMs' | 'fetch' | 'logger'> {
  readonly provider: 'offline' | 'anthropic' | 'openai' | 'ai-sdk';
  readonly name?: string | undefined;
  readonly timeoutSeconds: number;
  /** The name of its secrets. */
  readonly key: string;
  /** Of a package of the AI SDK. */
  readonly package?: string | undefined;
  readonly factory?: string | undefined;
  readonly options?: unknown;
  readonly providerOptions?: unknown;
}

interface ModelParts {
  /** By the names of secrets. */
  readonly secrets: {
    readonly modelKeys: ReadonlyMap<string, string>;
    readonly modelOptions: ReadonlyMap<string, JsonObject>;
  };
  /** The folders in which packages are looked for. */
  readonly folders: readonly string[];
  /** Makes the options of the offline model. */
  readonly offline: () => Parameters<typeof createOfflineProvider>[0];
  readonly createFetch: CreateFetch;
  readonly logger: Logger;
}

/** A response that is no stream: an error, or a whole output of a server that does not stream. */
const LARGEST_BODY_BYTES = 2 * 1024 * 1024;

/** Makes the provider of a model. A new vendor is a folder here and a line below. Loads the libraries of that vendor alone. */
export async function createProvider(settings: ModelSettings, parts: ModelParts): Promise<ModelProvider> {
  const { provider, name: model = '', baseUrl, timeoutSeconds, key, ...rest } = settings;
  const { secrets, createFetch, logger } = parts;
  if (provider === 'offline') return createOfflineProvider(parts.offline());
  const timeoutMs = 1_000 * timeoutSeconds;
  const options = {
    ...{ ...rest, model, baseUrl, timeoutMs, apiKey: secrets.modelKeys.get(key) },
    windowTokens: rest.windowTokens ?? windowTokensOf(model),
    fetch: createFetch({
      ...{ configuredUrl: baseUrl, timeoutMs, idleMs: timeoutMs, maxBytes: LARGEST_BODY_BYTES },
      // The vendors' libraries ask for a stream in the body, not by the Accept header.
      streams: 'always',
    }),
    logger,
  };
  switch (provider) {
    case 'anthropic':
      return (await import('./anthropic/provider.js')).createAnthropicProvider(options);
    case 'openai':
      return (await import('./openai/provider.js')).createOpenaiProvider(options);
    case 'ai-sdk':
      return (await import('./ai-sdk/provider.js')).createAiSdkProvider({
        ...options,
        package: rest.package!,
        options: { ...(rest.options as JsonObject | undefined), ...secrets.modelOptions.get(key) },
        providerOptions: rest.providerOptions as JsonObject | undefined,
        folders: parts.folders,
      });
  }
}
