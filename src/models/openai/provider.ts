import type { OpenAI } from 'openai';
import { loadPackage } from '../../core/errors.js';
import type { ModelProvider, ModelRequest } from '../../core/model.js';
import { endEvent, eventsOf, streamText } from '../exchange.js';
import { ThoughtSplitter } from '../thoughts.js';
import { createVendorProvider, sdkSettings, type VendorContext, type VendorOptions } from '../vendor.js';
import { OpenaiOutputReader } from './output-reader.js';
import { toOpenaiRequest } from './request.js';
import { ResponsesReader } from './responses-reader.js';
import { toResponsesRequest } from './responses-request.js';

const DEFAULT_BASE_URL = 'https://api.openai.com/v1';

export interface OpenaiOptions extends VendorOptions {
  /** Default: `auto`, which uses Responses for reasoning models at OpenAI's own address, and else Chat Completions. */
  readonly api?: 'auto' | 'chat' | 'responses';
}

/** The models that do not reason. The Responses API refuses to include their reasoning. */
const WITHOUT_REASONING = /^(ft:)?(gpt-[34]|chatgpt)/;

/** OpenAI, and any server that speaks Chat Completions or Responses. Throws like `createVendorProvider`. */
export function createOpenaiProvider(options: OpenaiOptions): ModelProvider {
  const { api = 'auto', model, baseUrl = DEFAULT_BASE_URL } = options;
  // Over Chat Completions, OpenAI's newer models accept functions only without reasoning, or not at all.
  const reasons = URL.parse(baseUrl)?.hostname === 'api.openai.com' && !WITHOUT_REASONING.test(model);
  const spoken = api === 'auto' ? (reasons ? 'responses' : 'chat') : api;
  return createVendorProvider(options, {
    name: 'openai',
    vendor: options.baseUrl === undefined ? 'OpenAI' : 'The model server',
    keyVariable: 'OPENAI_API_KEY',
    ownUrl: DEFAULT_BASE_URL,
    api: spoken,
    async open(endpoint) {
      const { OpenAI } = await loadPackage('openai', () => import('openai'));
      const { apiKey } = options;
      return new OpenAI({
        ...sdkSettings(options, endpoint),
        // The SDK requires a key. For a server without one, `defaultHeaders` removes the header.
        apiKey: apiKey ?? 'none',
        defaultHeaders: apiKey === undefined ? { Authorization: null } : {},
        ...{ adminAPIKey: null, organization: null, project: null },
      });
    },
    output: (request, context) => streamOutput(APIS[spoken], request, context),
  });
}

/** One API of OpenAI: its path, the form of its requests, and the reader of its outputs. */
const APIS = {
  chat: { Reader: OpenaiOutputReader, path: '/chat/completions', toBody: toOpenaiRequest },
  responses: { Reader: ResponsesReader, path: '/responses', toBody: toResponsesRequest },
};

/** The models that lose their thread without the thoughts in tags that they wrote. The templates of others cut them off. */
const NEEDS_THOUGHTS = /minimax/i;

async function* streamOutput(
  { Reader, path, toBody }: (typeof APIS)[keyof typeof APIS],
  request: ModelRequest,
  context: VendorContext<OpenAI>,
) {
  const client = await context.connect();
  const body = toBody(request, context);
  const { signal, maxTokens } = request;
  const exchange = {
    ...{ ...context, signal, maxTokens, reader: new Reader(), splitter: new ThoughtSplitter() },
    events: eventsOf((signal) => client.post(path, { body, signal, stream: true }).asResponse()),
  };
  const ended = yield* streamText(exchange);
  yield endEvent(ended, exchange, NEEDS_THOUGHTS.test(context.endpoint.model) ? context.origin : undefined);
}
