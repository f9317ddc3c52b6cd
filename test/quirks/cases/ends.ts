import { expect } from '@jest/globals';
import { anthropicEvent } from '../../support/anthropic-wire.js';
import { DONE, openaiChunk, openaiEvent } from '../../support/openai-wire.js';
import { hangingEvents } from '../../support/scripted-server.js';
import type { Quirk } from '../quirk.js';
import { answerIn, ask, type VendorResponse } from '../strict-vendor.js';
import { MODEL_WIRES, responsesEvent, streamOf, type ModelWireName } from '../vendor-streams.js';

const HALF = 'First you take the old key, and then you';
const INCOMPLETE = `${HALF}\n\n[The answer is incomplete: the model failed before its end.]`;

type Named = Pick<Quirk, 'id' | 'vendor' | 'source' | 'quirk'>;

/** A vendor whose output ends before it is whole, and the same with a fallback that gives a whole one. */
function failing(wire: ModelWireName, named: Named, answer: VendorResponse): readonly Quirk[] {
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

const slow: Quirk = {
  ...{
    id: 'end-time-limit',
    class: 2,
    wire: 'Chat Completions',
    vendor: 'any',
    source: 'anomalyco/opencode#26170',
  },
  quirk: 'The vendor is still writing when the time of the task is over.',
  right: 'The text is kept and marked as incomplete.',
  async check() {
    const told = await ask({
      wire: 'Chat Completions',
      answers: [hangingEvents(half)],
      settings: { agent: { limits: { seconds: 1 } } },
    });
    expect(told.state).toBe('failed');
    expect(await answerIn(told)).toBe(`${HALF}\n\n[The answer is incomplete: the time of the task is over.]`);
  },
};

export const ENDS: readonly Quirk[] = [...chatFailures, ...streams, ...failedCalls, slow];
