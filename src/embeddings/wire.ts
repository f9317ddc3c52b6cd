import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { isLangoError, LangoError } from '../core/errors.js';
import type { Logger } from '../core/logger.js';
import { LONGEST_ASKED_MS, retryAfterMs, retryDelayMs } from '../core/retry.js';
import { oneLine } from '../core/text.js';
import { toUnitVectors } from './vectors.js';

/** Options of a provider that speaks HTTP. */
export interface WireOptions {
  readonly model: string;
  /** The dimension of the vectors, for models with a choice. */
  readonly dimension?: number;
  /** Absent for servers without authentication. */
  readonly apiKey?: string;
  /** The vendor's own URL by default. */
  readonly baseUrl?: string;
  /** Maximum retries after an overload or a lost connection. */
  readonly maxRetries: number;
  readonly fetch: typeof fetch;
  readonly logger: Logger;
}

type Wire = WireOptions & { readonly baseUrl: string };
type WireBody = Readonly<Record<string, unknown>> & { readonly input: readonly string[] };

const answerSchema = z.object({
  data: z.array(z.object({ index: z.int().min(0), embedding: z.array(z.number()).min(1) })).min(1),
});

const LONGEST_QUOTE = 300;

/** Requests vectors from `{baseUrl}/embeddings`, with retries. Both vendors use the same answer format. */
export async function requestVectors(
  options: Wire,
  body: WireBody,
  signal: AbortSignal,
): Promise<readonly Float32Array[]> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await attempt(options, body, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!isLangoError(error) || !error.retryable || failures > options.maxRetries) throw error;
      const delayMs = retryDelayMs(failures, error.retryAfterMs);
      if (delayMs > LONGEST_ASKED_MS) throw error;
      options.logger.warn('an embedding call failed and is repeated', { reason: error.message, delayMs });
      await sleep(delayMs, undefined, { signal });
    }
  }
}

async function attempt(options: Wire, body: WireBody, signal: AbortSignal): Promise<readonly Float32Array[]> {
  const url = new URL(`${options.baseUrl.replace(/\/+$/, '')}/embeddings`);
  const response = await options.fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(options.apiKey === undefined ? {} : { authorization: `Bearer ${options.apiKey}` }),
    },
    body: JSON.stringify(body),
    signal,
  });
  if (!response.ok) throw await failureOf(response, options, url);
  const parsed = answerSchema.safeParse(await response.json().catch(() => undefined));
  const data = parsed.data?.data.toSorted((a, b) => a.index - b.index);
  if (data?.length !== body.input.length || data.some(({ index }, at) => index !== at)) {
    throw new LangoError('unavailable', `${url.host} did not answer with a vector for each text.`, {
      hint: 'Check embedding.baseUrl and embedding.model.',
    });
  }
  return toUnitVectors(data.map(({ embedding }) => embedding));
}

async function failureOf(response: Response, { apiKey, model }: WireOptions, url: URL): Promise<LangoError> {
  const { status } = response;
  const text = oneLine(await response.text().catch(() => ''));
  const said = (apiKey ? text.replaceAll(apiKey, '[API key]') : text).slice(0, LONGEST_QUOTE);
  const words = said === '' || /<html|<!doctype/i.test(said) ? '' : ` It says: ${said}`;
  if (status === 401 || status === 403) {
    return new LangoError('invalid-config', `${url.host} refuses the key for embeddings (HTTP ${status}).`, {
      hint: 'Set embedding.apiKey to a key that may use it.',
    });
  }
  if (status === 408 || status === 409 || status === 429 || status >= 500) {
    const asked = retryAfterMs(response.headers);
    return new LangoError('unavailable', `${url.host} cannot embed right now (HTTP ${status}).${words}`, {
      retryable: true,
      ...(asked === undefined ? {} : { retryAfterMs: asked }),
    });
  }
  return new LangoError(
    'invalid-config',
    `${url.host} rejects the embedding request (HTTP ${status}).${words}`,
    {
      hint: `Check embedding.model ("${model}"), embedding.dimension and embedding.baseUrl.`,
    },
  );
}
