import { expect } from '@jest/globals';
import { anthropicEvent } from '../../support/anthropic-wire.js';
import { DONE, openaiChunk, openaiUsage } from '../../support/openai-wire.js';
import type { Quirk } from '../quirk.js';
import { answerIn, ask, type VendorResponse } from '../strict-vendor.js';
import { streamOf, type ModelWireName } from '../vendor-streams.js';

type Named = Pick<Quirk, 'id' | 'vendor' | 'source' | 'quirk'>;

const HALF = 'First you take the old key, and then you';
const half = openaiChunk({ content: HALF });
const STOP = anthropicEvent({ type: 'message_stop' });

/** A vendor whose word for a whole output is its own. */
function good(wire: ModelWireName, named: Named, answer: VendorResponse): Quirk {
  return {
    ...named,
    ...{ class: 2, wire, id: `good-${named.id}` },
    right: 'The answer is whole, and not marked.',
    async check() {
      const told = await ask({ wire, answers: [answer] });
      expect([told.state, told.requests.length, await answerIn(told)]).toEqual(['completed', 1, HALF]);
    },
  };
}

const GOOD_REASONS = [
  ['eos', 'Together', 'vibrantlabsai/ragas#1548'],
  ['eos_token', 'TGI and watsonx', 'huggingface/text-generation-inference#2344'],
  ['end', 'local servers', 'earendil-works/pi#2107'],
  ['STOP', 'Gemini', 'The FinishReason reference of Gemini'],
  ['function_call', 'OpenAI', 'The Chat Completions reference of OpenAI'],
  ['tool_calls', 'vLLM', 'vllm-project/vllm#53255'],
  ['end_turn', 'gateways to Anthropic', 'The page "Handling stop reasons" of the Claude API'],
  ['stop_sequence', 'TGI', 'huggingface/text-generation-inference#2344'],
  ['COMPLETE', 'Cohere', 'The chat reference of Cohere'],
  ['eosFound', 'LM Studio', 'The SDK reference of LM Studio'],
] as const;

const goodEnds: readonly Quirk[] = [
  ...GOOD_REASONS.map(([stop, vendor, source]) =>
    good(
      'Chat Completions',
      {
        id: `chat-${stop}`,
        vendor,
        source,
        quirk: `The reason of a whole output without calls is "${stop}".`,
      },
      { text: HALF, stop },
    ),
  ),
  good(
    'Chat Completions',
    {
      id: 'empty-reason',
      vendor: 'GenieX',
      source: 'qualcomm/GenieX#1246',
      quirk: 'All reasons are empty texts; only [DONE] ends the stream.',
    },
    { stream: openaiChunk({ content: HALF }, '') + DONE },
  ),
  good(
    'Chat Completions',
    {
      id: 'usage-alone',
      vendor: 'proxies of Gemini',
      source: 'can1357/oh-my-pi#9433',
      quirk: 'The reason is never sent; usage and [DONE] end the stream.',
    },
    { stream: half + openaiUsage({ prompt_tokens: 9, completion_tokens: 9 }) + DONE },
  ),
  good(
    'Chat Completions',
    {
      id: 'null-text',
      vendor: 'DashScope',
      source: 'The chat reference of Alibaba Cloud Model Studio',
      quirk: 'The reason is the text "null" until the output ends.',
    },
    { stream: openaiChunk({ content: HALF }, 'null') + openaiChunk({}, 'stop') + DONE },
  ),
  good(
    'Chat Completions',
    {
      id: 'no-done',
      vendor: 'TGI',
      source: 'huggingface/text-generation-inference#2221',
      quirk: 'The stream ends after its reason, without [DONE].',
    },
    { stream: half + openaiChunk({}, 'stop') },
  ),
  good(
    'Messages',
    {
      id: 'no-message-stop',
      vendor: 'gateways',
      source: 'esengine/DeepSeek-Reasonix#8756',
      quirk: 'The stream ends after its reason, without message_stop.',
    },
    { stream: streamOf('Messages', { text: HALF }).replace(STOP, '') },
  ),
  good(
    'Messages',
    {
      id: 'messages-no-reason-but-usage',
      vendor: 'gateways',
      source: 'theopenco/llmgateway#2974',
      quirk: 'The reason is null, while the last event counts the tokens.',
    },
    {
      stream: streamOf('Messages', { text: HALF }).replace('"stop_reason":"end_turn"', '"stop_reason":null'),
    },
  ),
  good(
    'Responses',
    {
      id: 'responses-in-progress',
      vendor: 'local servers',
      source: 'jundot/omlx#2817',
      quirk: 'A response is completed with the status "in_progress".',
    },
    { text: HALF, more: { status: 'in_progress' } },
  ),
  good(
    'Responses',
    {
      id: 'responses-no-status',
      vendor: 'Bifrost',
      source: 'maximhq/bifrost#4679',
      quirk: 'A completed response has no status.',
    },
    { stream: streamOf('Responses', { text: HALF }).replace('"status":"completed","usage"', '"usage"') },
  ),
];

/** An output at a limit: its text is kept, with a mark. */
function limited(
  wire: ModelWireName,
  named: Named,
  { answer, mark }: { answer: VendorResponse; mark: RegExp },
): Quirk {
  return {
    ...named,
    ...{ class: 2, wire, id: `limit-${named.id}` },
    right: 'The text is given, with a mark that says that it was cut.',
    async check() {
      const told = await ask({ wire, answers: [answer] });
      expect([told.state, told.requests.length]).toEqual(['completed', 1]);
      expect((await answerIn(told)).replace(HALF, '')).toMatch(mark);
    },
  };
}

const AT_LENGTH =
  /^\n\n\[The answer was cut off at the limit of its length \(agent\.limits\.answerTokens\)\.\]$/;
const AT_WINDOW = /^\n\n\[The answer was cut off because the context window of the model is full\.\]$/;

const LIMIT_REASONS = [
  ['length', 'OpenAI', 'symfony/ai#2194', AT_LENGTH],
  ['MAX_TOKENS', 'Gemini', 'The FinishReason reference of Gemini', AT_LENGTH],
  ['max_tokens', 'gateways to Anthropic', 'maximhq/bifrost#4679', AT_LENGTH],
  ['maxPredictedTokensReached', 'LM Studio', 'The SDK reference of LM Studio', AT_LENGTH],
  ['model_length', 'Mistral', 'The chat reference of Mistral', AT_WINDOW],
  ['model_context_window_exceeded', 'Z.ai', 'anomalyco/opencode#18918', AT_WINDOW],
  ['contextLengthReached', 'LM Studio', 'The SDK reference of LM Studio', AT_WINDOW],
] as const;

const limits: readonly Quirk[] = [
  ...LIMIT_REASONS.map(([stop, vendor, source, mark]) =>
    limited(
      'Chat Completions',
      { id: `chat-${stop}`, vendor, source, quirk: `The reason of an output at its limit is "${stop}".` },
      { answer: { text: HALF, stop }, mark },
    ),
  ),
  limited(
    'Messages',
    {
      id: 'messages-window',
      vendor: 'Anthropic',
      source: 'The page "Handling stop reasons" of the Claude API',
      quirk: 'The window is full in the middle of the text.',
    },
    { answer: { text: HALF, stop: 'model_context_window_exceeded' }, mark: AT_WINDOW },
  ),
  limited(
    'Responses',
    {
      id: 'responses-stop-reason',
      vendor: 'Bifrost',
      source: 'maximhq/bifrost#4679',
      quirk: 'A response at its limit is completed, and only its stop_reason tells.',
    },
    { answer: { text: HALF, more: { stop_reason: 'length' } }, mark: AT_LENGTH },
  ),
  limited(
    'Responses',
    {
      id: 'responses-item',
      vendor: 'vLLM',
      source: 'vllm-project/vllm#24561',
      quirk: 'A response at its limit is completed, and only its item is incomplete.',
    },
    {
      answer: {
        stream: streamOf('Responses', { text: HALF }).replace(
          /(output_item\.done","output_index":0,"item":\{)/,
          '$1"status":"incomplete",',
        ),
      },
      mark: AT_LENGTH,
    },
  ),
  limited(
    'Responses',
    {
      id: 'responses-count',
      vendor: 'oMLX and Unsloth',
      source: 'unslothai/unsloth#10177',
      quirk: 'A response at its limit is completed, and only its count of tokens tells.',
    },
    {
      answer: { text: HALF, more: { usage: { input_tokens: 9, output_tokens: 8_192 } } },
      mark: AT_LENGTH,
    },
  ),
];

const REFUSALS = [
  ['Chat Completions', 'content_filter', 'Azure', 'theopenco/llmgateway#2974'],
  ['Chat Completions', 'sensitive', 'Z.ai', 'earendil-works/pi#1509'],
  ['Chat Completions', 'SAFETY', 'Gemini', 'The FinishReason reference of Gemini'],
  ['Responses', 'content_filter', 'OpenAI', 'apache/airflow#72150'],
  ['Messages', 'refusal', 'Anthropic', 'brightwave-inc/tidebreak#555'],
] as const;

const refusals = REFUSALS.map(([wire, stop, vendor, source]): Quirk => ({
  id: `refusal-${wire}-${stop}`,
  class: 2,
  wire,
  vendor,
  source,
  quirk: `A filter ends the output in the middle of the text, with the reason "${stop}".`,
  right: 'The task is rejected; the text is kept with a mark.',
  async check() {
    const told = await ask({ wire, answers: [{ text: HALF, stop }] });
    expect(told.state).toBe('rejected');
    expect(await answerIn(told)).toMatch(
      /^First .* then you\n\n\[The answer ends here: .* declined to go on\.\]$/,
    );
  },
}));

export const GOOD_ENDS: readonly Quirk[] = [...goodEnds, ...limits, ...refusals];
