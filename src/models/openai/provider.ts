import type { OpenAI } from 'openai';
import { loadPackage } from '../../core/errors.js';
import type { ModelProvider, ModelRequest } from '../../core/model.js';
import { exchangeText } from '../exchange.js';
import type { Endpoint } from '../failure.js';
import type { AnswerEvent } from '../retry.js';
import { createVendorProvider, sdkSettings, type VendorContext, type VendorOptions } from '../vendor.js';
import { OpenaiAnswerReader } from './answer-reader.js';
import { toOpenaiRequest } from './request.js';

const DEFAULT_BASE_URL = 'https://api.openai.com/v1';

/**
 * Any server that speaks Chat Completions: OpenAI, Ollama, vLLM and others. Loads the vendor's SDK at the
 * first call, not before. Throws `LangoError` `invalid-config` when `baseUrl` is not an HTTP or HTTPS URL.
 */
export function createOpenaiProvider(options: VendorOptions): ModelProvider {
  return createVendorProvider(options, {
    name: 'openai',
    vendor: options.baseUrl === undefined ? 'OpenAI' : 'The model server',
    baseUrl: options.baseUrl ?? DEFAULT_BASE_URL,
    keyVariable: 'OPENAI_API_KEY',
    open: (endpoint) => openClient(options, endpoint),
    answer,
  });
}

type Context = VendorContext<OpenAI>;

async function openClient(options: VendorOptions, endpoint: Endpoint): Promise<OpenAI> {
  const { OpenAI } = await loadPackage('openai', () => import('openai'));
  const { apiKey } = options;
  return new OpenAI({
    ...sdkSettings(options, endpoint),
    // The SDK requires a key. For a server without one, `defaultHeaders` removes the header.
    apiKey: apiKey ?? 'none',
    defaultHeaders: apiKey === undefined ? { Authorization: null } : {},
    adminAPIKey: null,
    organization: null,
    project: null,
  });
}

async function* answer(request: ModelRequest, context: Context): AsyncGenerator<AnswerEvent, void> {
  const client = await context.connect();
  const reader = new OpenaiAnswerReader(context.endpoint);
  const body = toOpenaiRequest(request, context.endpoint, context.id);
  yield* exchangeText({
    ...context,
    reader,
    signal: request.signal,
    maxTokens: request.maxTokens,
    send: (signal) => client.chat.completions.create(body, { signal }).asResponse(),
  });
  yield { type: 'end', answer: reader.answer() };
}
