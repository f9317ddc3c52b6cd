import type { Anthropic } from '@anthropic-ai/sdk';
import { loadPackage } from '../../core/errors.js';
import {
  addUsage,
  NO_USAGE,
  type AnswerBlock,
  type ModelMessage,
  type ModelProvider,
  type ModelRequest,
} from '../../core/model.js';
import { withOwnIds } from '../conversation.js';
import type { Ended } from '../ends.js';
import { endEvent, eventsOf, streamText } from '../exchange.js';
import { badAnswer, ModelFailure } from '../failure.js';
import type { OutputEvent } from '../retry.js';
import { ThoughtSplitter } from '../thoughts.js';
import { createVendorProvider, sdkSettings, type VendorContext, type VendorOptions } from '../vendor.js';
import { AnthropicOutputReader } from './output-reader.js';
import { toAnthropicRequest } from './request.js';

const DEFAULT_BASE_URL = 'https://api.anthropic.com';

const MAX_PAUSES = 8;

/** Claude through the Messages API. Loads the vendor's SDK at the first call. Throws like `createVendorProvider`. */
export function createAnthropicProvider(options: VendorOptions): ModelProvider {
  return createVendorProvider(options, {
    name: 'anthropic',
    vendor: 'Anthropic',
    keyVariable: 'ANTHROPIC_API_KEY',
    ownUrl: DEFAULT_BASE_URL,
    api: 'messages',
    async open(endpoint) {
      const { Anthropic } = await loadPackage('@anthropic-ai/sdk', () => import('@anthropic-ai/sdk'));
      const { apiKey = '' } = options;
      return new Anthropic({ ...sdkSettings(options, endpoint), apiKey, openTelemetry: false });
    },
    output: streamOutput,
  });
}

type Context = VendorContext<Anthropic>;

/** Streams one output. After each pause of the model, another request continues it, with what is left of the limit. */
async function* streamOutput(request: ModelRequest, context: Context): AsyncGenerator<OutputEvent, void> {
  const client = await context.connect();
  const splitter = new ThoughtSplitter();
  const all = { ...context, splitter, signal: request.signal, maxTokens: request.maxTokens };
  let content: readonly AnswerBlock[] = [];
  let usage = NO_USAGE;
  for (let pauses = 0; pauses <= MAX_PAUSES; pauses++) {
    const reader = new AnthropicOutputReader();
    const begun: ModelMessage = { role: 'assistant', author: '', content };
    const maxTokens = request.maxTokens - usage.output;
    const next = { ...request, messages: [...request.messages, begun], maxTokens };
    const body = toAnthropicRequest(next, context);
    const events = eventsOf((signal) => client.messages.create(body, { signal }).asResponse());
    let ended: Ended;
    try {
      ended = yield* streamText({ ...all, reader, maxTokens, events });
    } catch (error) {
      if (error instanceof ModelFailure) error.usage = addUsage(usage, error.usage ?? NO_USAGE);
      throw error;
    }
    content = withOwnIds([...content, ...ended.content]);
    usage = addUsage(usage, ended.usage);
    const isPaused = ended.reason === 'pause_turn';
    if (isPaused && usage.output < request.maxTokens) continue;
    // A pause ends the output only when the limit is used up.
    const reason = isPaused ? 'max_tokens' : ended.reason;
    yield endEvent({ ...ended, reason, content, usage }, all);
    return;
  }
  throw badAnswer(`The model paused more than ${MAX_PAUSES} times in one answer.`);
}
