import { expect } from '@jest/globals';
import { anthropicEvent } from '../../support/anthropic-wire.js';
import { DONE, openaiChunk, openaiEvent, openaiUsage } from '../../support/openai-wire.js';
import type { Quirk } from '../quirk.js';
import { answerIn, ask, type Answer } from '../strict-vendor.js';
import { MODEL_WIRES, responsesEvent, streamOf, type ModelWireName } from '../vendor-streams.js';

const HALF = 'First you take the old key, and then you';
const INCOMPLETE = `${HALF}\n\n[The answer is incomplete: the model failed before its end.]`;

type Named = Pick<Quirk, 'id' | 'vendor' | 'source' | 'quirk'>;

/** A vendor whose output ends before it is whole, and the same with a fallback that gives a whole one. */
function failing(wire: ModelWireName, named: Named, answer: Answer): readonly Quirk[] {
  const common = { ...named, wire, class: 2 };
  return [
    {
      ...common,
      id: `end-${named.id}`,
      right: 'The task fails with the reason; the text is kept and marked as incomplete.',
      async check() {
        const told = await ask({ wire, answers: [answer] });
        expect([told.state, told.requests.length]).toEqual(['failed', 1]);
        expect(await answerIn(told)).toBe(INCOMPLETE);
      },
    },
    {
      ...common,
      id: `end-${named.id}-fallback`,
      right: 'The fallback is asked, and its answer replaces the half one.',
      async check() {
        const told = await ask({
          wire,
          answers: ({ model }) => (model === 'm' ? answer : { text: 'The whole answer.' }),
          model: { fallbacks: ['other'] },
        });
        expect([told.state, await answerIn(told)]).toEqual(['completed', 'The whole answer.']);
      },
    },
  ];
}

const FAILED_REASONS = [
  [
    'error',
    'OpenRouter',
    'gethouston/houston#1211',
    'The vendor behind the gateway dies in the middle of its output.',
  ],
  [
    'abort',
    'vLLM',
    'vllm-project/vllm#57082',
    'A shutdown of the engine ends streams as if they were complete.',
  ],
  [
    'insufficient_system_resource',
    'DeepSeek',
    'agent0ai/agent-zero#1836',
    'The server runs out of resources.',
  ],
  ['network_error', 'Z.ai', 'earendil-works/pi#1509', 'The inference fails in the middle of the output.'],
  [
    'a_new_reason',
    'any',
    'RailtownAI/railtracks#1430',
    'The server gives a reason that no documentation names.',
  ],
] as const;

const chatFailures = FAILED_REASONS.flatMap(([stop, vendor, source, quirk]) =>
  failing('Chat Completions', { id: `chat-${stop}`, vendor, source, quirk }, { text: HALF, stop }),
);

const half = openaiChunk({ content: HALF });
const chatStreams: readonly (readonly [Named, string])[] = [
  [
    {
      id: 'done-alone',
      vendor: 'gateways',
      source: 'vercel/ai#19165',
      quirk: 'A gateway sends [DONE] after its vendor was lost, with neither a reason nor usage.',
    },
    half + DONE,
  ],
  [
    {
      id: 'native-reason',
      vendor: 'OpenRouter',
      source: 'earendil-works/pi#8511',
      quirk: 'The reason is "stop", and only native_finish_reason says that the vendor failed.',
    },
    half +
      openaiEvent({
        choices: [{ index: 0, delta: {}, finish_reason: 'stop', native_finish_reason: 'network_error' }],
      }) +
      DONE,
  ],
  [
    {
      id: 'choice-error',
      vendor: 'OpenRouter',
      source: 'razzant/claudexor#144',
      quirk: 'The error of the vendor is a member of the choice.',
    },
    half +
      openaiEvent({
        choices: [{ index: 0, delta: {}, finish_reason: 'error', error: { code: 502, message: 'upstream' } }],
      }) +
      DONE,
  ],
];

const responsesFailures: readonly (readonly [Named, string])[] = [
  ['incomplete', 'incomplete', {}, 'A response is incomplete without a reason.'],
  [
    'new-reason',
    'incomplete',
    { incomplete_details: { reason: 'a_new_reason' } },
    'A response is incomplete for a reason that no documentation names.',
  ],
  ['cancelled', 'cancelled', { status: 'cancelled' }, 'A response is cancelled at the server.'],
  [
    'failed',
    'failed',
    { status: 'failed', error: { code: 'server_error', message: 'oops' } },
    'A response fails in the middle of its output.',
  ],
].map(([id, event, response, quirk]) => [
  {
    id: `responses-${id as string}`,
    vendor: 'OpenAI',
    source: 'apache/airflow#72150',
    quirk: quirk as string,
  },
  streamOf('Responses', { text: HALF }).replace(/event: response\.completed[\s\S]*/, '') +
    responsesEvent(`response.${event as string}`, { response }),
]);

const messagesHalf = streamOf('Messages', { text: HALF }).replace(/event: message_delta[\s\S]*/, '');
const STOP = anthropicEvent({ type: 'message_stop' });
const messagesFailures: readonly (readonly [Named, string])[] = [
  [
    {
      id: 'messages-no-delta',
      vendor: 'Bifrost',
      source: 'maximhq/bifrost#6081',
      quirk: 'The stream ends after its last block, without the reason and without message_stop.',
    },
    messagesHalf,
  ],
  [
    {
      id: 'messages-no-reason',
      vendor: 'gateways',
      source: 'theopenco/llmgateway#2974',
      quirk: 'message_stop comes without any reason or count.',
    },
    messagesHalf + STOP,
  ],
  [
    {
      id: 'messages-new-reason',
      vendor: 'Anthropic',
      source: 'The page "Handling stop reasons" of the Claude API',
      quirk: 'The reason is one that the documentation does not name yet.',
    },
    streamOf('Messages', { text: HALF, stop: 'a_new_reason' }),
  ],
];

const streams = [
  ...chatStreams.flatMap(([named, stream]) => failing('Chat Completions', named, { stream })),
  ...responsesFailures.flatMap(([named, stream]) => failing('Responses', named, { stream })),
  ...messagesFailures.flatMap(([named, stream]) => failing('Messages', named, { stream })),
  ...MODEL_WIRES.flatMap((wire) => {
    const [whole] = streamOf(wire, { text: HALF }).split(
      /data: [^\n]*"finish_reason":"stop"|event: response\.output_item\.done|event: content_block_stop/,
    );
    const named = {
      id: `lost-${wire}`,
      vendor: 'any',
      source: 'NVIDIA-NeMo/Switchyard#796',
      quirk: 'The stream just ends.',
    };
    return failing(wire, named, { stream: whole! });
  }),
];

/** A call of an output that failed. */
const failedCalls = FAILED_REASONS.slice(0, 2).map(([stop, vendor, source]): Quirk => ({
  id: `end-chat-${stop}-call`,
  class: 2,
  wire: 'Chat Completions',
  vendor,
  source,
  quirk: 'The output fails after a call that is whole.',
  right: 'The call is not made.',
  async check() {
    const answer = { text: HALF, calls: [{ name: 'fs_list' }], stop };
    const told = await ask({ wire: 'Chat Completions', answers: [answer] });
    expect([told.state, told.requests.length]).toEqual(['failed', 1]);
    expect(told.outcome.events.some(({ type }) => type === 'activity')).toBe(false);
  },
}));

/** A vendor whose word for a whole output is its own. */
function good(wire: ModelWireName, named: Named, answer: Answer): Quirk {
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
  { answer, mark }: { answer: Answer; mark: RegExp },
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

export const ENDS: readonly Quirk[] = [
  ...chatFailures,
  ...streams,
  ...failedCalls,
  ...goodEnds,
  ...limits,
  ...refusals,
];
