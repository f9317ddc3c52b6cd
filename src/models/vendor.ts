import type { ModelProvider, ModelRequest } from '../core/model.js';
import type { Endpoint, VendorOptions } from './endpoint.js';
import { openEndpoint } from './endpoint.js';
import type { AnswerEvent } from './retry.js';
import { streamCall } from './retry.js';

const DEFAULT_MAX_RETRIES = 3;
const DEFAULT_SILENCE_MS = 300_000;

/** What one vendor's provider is, besides what all have. */
interface Vendor<Client> extends Omit<Parameters<typeof openEndpoint>[0], 'model' | 'apiKey'> {
  /** "anthropic": with the model's name it is the provider's id. */
  readonly name: string;
  /** Loads the vendor's SDK; called at the first request. */
  readonly open: (endpoint: Endpoint) => Promise<Client>;
  /** One attempt at an answer. */
  readonly answer: (request: ModelRequest, context: VendorContext<Client>) => AsyncIterable<AnswerEvent>;
}

export interface VendorContext<Client> {
  readonly id: string;
  readonly endpoint: Endpoint;
  readonly silenceMs: number;
  connect(): Promise<Client>;
}

/** A provider that asks a vendor as often as it takes. Throws `LangoError` `invalid-config` when `baseUrl` is no web address. */
export function createVendorProvider<Client>(
  { model, apiKey, timeoutMs, maxRetries, logger }: VendorOptions,
  { name, open, answer, ...place }: Vendor<Client>,
): ModelProvider {
  const id = `${name}/${model}`;
  const endpoint = openEndpoint({ ...place, model, apiKey });
  let client: Promise<Client> | undefined;
  const context: VendorContext<Client> = {
    id,
    endpoint,
    silenceMs: timeoutMs ?? DEFAULT_SILENCE_MS,
    connect: () => (client ??= open(endpoint)),
  };
  return {
    id,
    stream: (request) =>
      streamCall({
        attempt: () => answer(request, context),
        maxRetries: maxRetries ?? DEFAULT_MAX_RETRIES,
        signal: request.signal,
        logger,
      }),
  };
}
