import { z } from 'zod';
import { isLangoError, LangoError } from '../../../core/errors.js';
import type { Logger } from '../../../core/logger.js';
import type { EmbeddingProvider } from '../../../core/model.js';
import { LONGEST_ASKED_MS, retryAfterMs, retryDelayMs } from '../../../core/retry.js';
import { oneLine } from '../../../core/text.js';
import { pause } from '../../../core/time.js';
import type { EmbeddingSettings } from '../settings.js';
import { minSimilarityOf, toUnitVectors } from './vectors.js';

/** The vendors. Their requests differ in a few members; the address, `/embeddings`, and the response are the same. */
const VENDORS = {
  /** OpenAI, and every server with its embeddings API: Ollama, vLLM, LM Studio, llama.cpp. */
  openai: {
    baseUrl: 'https://api.openai.com/v1',
    dimensionField: 'dimensions',
    members: () => ({ encoding_format: 'float' }),
  },
  /** Voyage AI, which computes different vectors for queries and for documents. */
  voyage: {
    baseUrl: 'https://api.voyageai.com/v1',
    dimensionField: 'output_dimension',
    members: (purpose: string) => ({ input_type: purpose, truncation: true }),
  },
} as const;

/** The settings say what each of them means. */
interface HttpEmbeddingOptions extends Pick<
  EmbeddingSettings,
  'minSimilarity' | 'dimension' | 'apiKey' | 'baseUrl' | 'maxRetries'
> {
  readonly vendor: keyof typeof VENDORS;
  readonly model: string;
  readonly fetch: typeof fetch;
  readonly logger: Logger;
}

const TEXTS_PER_REQUEST = 64;
const MAX_QUOTE_CHARACTERS = 300;

const responseSchema = z.object({
  data: z.array(z.object({ index: z.int().min(0), embedding: z.array(z.number()).min(1) })).min(1),
  usage: z
    .object({ total_tokens: z.int().min(0) })
    .optional()
    .catch(undefined),
});

/** Creates a provider that asks a vendor's API, with retries. */
export function createHttpEmbeddings(options: HttpEmbeddingOptions): EmbeddingProvider {
  const { vendor, model, dimension, maxRetries, logger } = options;
  const { dimensionField, members } = VENDORS[vendor];
  return {
    id: `${vendor}/${model}${dimension === undefined ? '' : `/${dimension}`}`,
    batch: TEXTS_PER_REQUEST,
    minSimilarity: options.minSimilarity ?? minSimilarityOf(model),
    async embed(input, { purpose, signal, onTokens }) {
      const body = { model, input, ...members(purpose), [dimensionField]: dimension };
      for (let failures = 1; ; failures += 1) {
        try {
          const { vectors, tokens } = await requestVectors(options, body, signal);
          onTokens?.(tokens);
          return vectors;
        } catch (error) {
          signal.throwIfAborted();
          if (!isLangoError(error) || !error.retryable || failures > maxRetries) throw error;
          const delayMs = retryDelayMs(failures, error.retryAfterMs);
          if (delayMs > LONGEST_ASKED_MS) throw error;
          logger.warn('an embedding call failed and is repeated', { reason: error.message, delayMs });
          await pause(delayMs, { signal });
          signal.throwIfAborted();
        }
      }
    },
  };
}

async function requestVectors(
  options: HttpEmbeddingOptions,
  body: { readonly input: readonly string[] },
  signal: AbortSignal,
): Promise<{ readonly vectors: readonly Float32Array[]; readonly tokens: number }> {
  const { vendor, apiKey, baseUrl = VENDORS[vendor].baseUrl } = options;
  const url = new URL(`${baseUrl.replace(/\/+$/, '')}/embeddings`);
  const response = await options.fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
    },
    body: JSON.stringify(body),
    signal,
  });
  if (!response.ok) throw await failureOf(response, options, url);
  const parsed = responseSchema.safeParse(await response.json().catch(() => undefined));
  const data = parsed.data?.data.toSorted((a, b) => a.index - b.index);
  if (data?.length !== body.input.length || data.some(({ index }, at) => index !== at))
    throw new LangoError('unavailable', `${url.host} did not respond with a vector for each text.`, {
      hint: 'Check embedding.baseUrl and embedding.model.',
    });
  const tokens = parsed.data?.usage?.total_tokens ?? 0;
  return { vectors: toUnitVectors(data.map(({ embedding }) => embedding)), tokens };
}

async function failureOf(response: Response, { apiKey, model }: HttpEmbeddingOptions, url: URL) {
  const { status } = response;
  const text = oneLine(await response.text().catch(() => ''));
  const said = (apiKey ? text.replaceAll(apiKey, '[API key]') : text).slice(0, MAX_QUOTE_CHARACTERS);
  const words = said === '' || /<html|<!doctype/i.test(said) ? '' : ` It says: ${said}`;
  if (status === 401 || status === 403) {
    return new LangoError('invalid-config', `${url.host} refuses the key for embeddings (HTTP ${status}).`, {
      hint: 'Set embedding.apiKey to a key that may use it.',
    });
  }
  if (status === 408 || status === 409 || status === 429 || status >= 500) {
    return new LangoError('unavailable', `${url.host} cannot embed right now (HTTP ${status}).${words}`, {
      retryable: true,
      retryAfterMs: retryAfterMs(response.headers),
    });
  }
  const rejects = `${url.host} rejects the embedding request (HTTP ${status}).${words}`;
  return new LangoError('invalid-config', rejects, {
    hint: `Check embedding.model ("${model}"), embedding.dimension and embedding.baseUrl.`,
  });
}
