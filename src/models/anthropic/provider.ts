import type { Anthropic } from '@anthropic-ai/sdk';
import { loadPackage } from '../../core/errors.js';
import {
  addUsage,
  NO_USAGE,
  type AnswerBlock,
  type ModelMessage,
  type ModelProvider,
  type ModelRequest,
  type Usage,
} from '../../core/model.js';
import { withOwnIds } from '../conversation.js';
import { toAnswer } from '../ends.js';
import { exchangeText } from '../exchange.js';
import { ModelFailure, type Endpoint } from '../failure.js';
import type { OutputEvent } from '../retry.js';
import { ThoughtSplitter, withoutThoughts } from '../thoughts.js';
import { createVendorProvider, sdkSettings, type VendorContext, type VendorOptions } from '../vendor.js';
import { AnthropicOutputReader } from './output-reader.js';
import { toAnthropicRequest } from './request.js';

const DEFAULT_BASE_URL = 'https://api.anthropic.com';

const MAX_PAUSES = 8;

/** Claude through the Messages API. Loads the vendor's SDK at the first call. Throws like `createVendorProvider`. */
export function createAnthropicProvider(options: VendorOptions): ModelProvider {
  const { baseUrl = DEFAULT_BASE_URL } = options;
  return createVendorProvider(options, {
    name: 'anthropic',
    vendor: 'Anthropic',
    baseUrl,
    keyVariable: 'ANTHROPIC_API_KEY',
    ownUrl: DEFAULT_BASE_URL,
    api: 'messages',
    open: (endpoint) => openClient(options, endpoint),
    output: streamOutput,
  });
}

type Context = VendorContext<Anthropic>;

async function openClient(options: VendorOptions, endpoint: Endpoint): Promise<Anthropic> {
  const { Anthropic } = await loadPackage('@anthropic-ai/sdk', () => import('@anthropic-ai/sdk'));
  const { apiKey = '' } = options;
  return new Anthropic({ ...sdkSettings(options, endpoint), apiKey, openTelemetry: false });
}

/** Streams one output. After each pause of the model, another request continues it. */
async function* streamOutput(request: ModelRequest, context: Context): AsyncGenerator<OutputEvent, void> {
  const client = await context.connect();
  let content: readonly AnswerBlock[] = [];
  let usage = NO_USAGE;
  const splitter = new ThoughtSplitter();
  for (let pauses = 0; pauses <= MAX_PAUSES; pauses++) {
    const reader = new AnthropicOutputReader(context.origin, context.endpoint);
    const next = continuation(request, content, usage);
    const body = toAnthropicRequest(next, context);
    try {
      yield* exchangeText({
        ...context,
        ...{ reader, splitter },
        signal: request.signal,
        maxTokens: next.maxTokens,
        send: (signal) => client.messages.create(body, { signal }).asResponse(),
      });
    } catch (error) {
      if (error instanceof ModelFailure) error.usage = addUsage(usage, error.usage ?? NO_USAGE);
      throw error;
    }
    const ended = reader.ended();
    content = withOwnIds([...content, ...ended.content]);
    usage = addUsage(usage, ended.usage);
    const isPaused = ended.reason === 'pause_turn';
    if (!isPaused || usage.output >= request.maxTokens) {
      // A pause ends the output only when the limit is used up.
      const reason = isPaused ? 'max_tokens' : ended.reason;
      const { maxTokens } = request;
      const { endpoint } = context;
      const whole = { ...ended, reason, content: withoutThoughts(content, splitter.thoughts), usage };
      yield { type: 'end', answer: toAnswer(whole, { maxTokens, endpoint }) };
      return;
    }
  }
  throw new ModelFailure('bad-answer', `The model paused more than ${MAX_PAUSES} times in one answer.`);
}

/** The request that continues a paused output: it holds the output so far, and the limit is lowered by its tokens. */
function continuation(request: ModelRequest, content: readonly AnswerBlock[], usage: Usage): ModelRequest {
  const begun: ModelMessage = { role: 'assistant', author: '', content };
  return {
    ...request,
    messages: [...request.messages, begun],
    maxTokens: request.maxTokens - usage.output,
  };
}
