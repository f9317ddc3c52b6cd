import { expect } from '@jest/globals';
import { DONE, openaiChunk, openaiEvent } from '../../support/openai-wire.js';
import { doings } from '../../support/server.js';
import type { Quirk } from '../quirk.js';
import { ask, type VendorResponse, type Told } from '../strict-vendor.js';
import { MODEL_WIRES, type ModelWireName } from '../vendor-streams.js';

type Named = Pick<Quirk, 'id' | 'vendor' | 'source' | 'quirk'>;

const NOTE = 'Your last answer was empty';
const WHOLE = { text: 'Forty-two.' };
const AGAIN = 'lango-agent: text "The model gave an empty answer; asking it again.\\n"';

const bodyOf = (told: Told, request: number) => JSON.stringify(told.requests[request]!.body);

/** A model whose first answer holds nothing, and whose second one is whole. */
function askedAgain(wire: ModelWireName, named: Named, empty: VendorResponse): Quirk {
  return {
    ...named,
    ...{ class: 9, wire, id: `empty-${named.id}` },
    right: 'It is asked once more with a note; the person sees that, and pays for both.',
    async check() {
      const told = await ask({ wire, answers: [empty, WHOLE] });
      expect([told.state, told.text, told.refused]).toEqual(['completed', WHOLE.text, []]);
      expect([bodyOf(told, 0).includes(NOTE), bodyOf(told, 1).includes(NOTE)]).toEqual([false, true]);
      expect(doings(told.outcome)).toEqual([AGAIN]);
      const usage = wire === 'Messages' ? { input: 50, output: 14 } : { input: 20, output: 10 };
      expect(told.outcome.end.usage).toMatchObject(usage);
    },
  };
}

const empties = MODEL_WIRES.flatMap(
  (wire) =>
    [
      askedAgain(
        wire,
        {
          id: `nothing-${wire}`,
          vendor: 'any',
          source: 'cynative/cynative#276',
          quirk: 'A model ends an answer without a word.',
        },
        {},
      ),
      askedAgain(
        wire,
        {
          id: `blank-${wire}`,
          vendor: 'any',
          source: 'nugget/thane-ai-agent#168',
          quirk: 'The answer of a model is a line break.',
        },
        { text: '\n' },
      ),
      askedAgain(
        wire,
        {
          id: `thoughts-${wire}`,
          vendor: 'any',
          source: 'NousResearch/hermes-agent#6488',
          quirk: 'A model thinks and then ends without an answer.',
        },
        { thoughts: 'I know.' },
      ),
      {
        ...{ id: `empty-after-results-${wire}`, class: 9, wire, vendor: 'Anthropic' },
        source: 'The page "Handling stop reasons" of the Claude API',
        quirk: 'A model takes the results of its calls for the end of its turn.',
        right: 'It is asked once more, after the results.',
        async check() {
          const told = await ask({ wire, answers: [{ calls: [{ name: 'fs_list' }] }, {}, WHOLE] });
          expect([told.state, told.text, told.refused]).toEqual(['completed', WHOLE.text, []]);
          expect(told.results).toEqual([expect.stringMatching(/empty/)]);
          expect(bodyOf(told, 2)).toContain(NOTE);
        },
      },
      {
        ...{
          id: `empty-twice-${wire}`,
          class: 9,
          wire,
          vendor: 'any',
          source: 'googleapis/python-genai#1789',
        },
        quirk: 'A model gives an empty answer again and again.',
        right: 'The task fails after the second one.',
        async check() {
          const told = await ask({ wire, answers: [{}] });
          expect([told.state, told.requests.length]).toEqual(['failed', 2]);
          expect(told.text).toMatch(/gave an empty answer/);
        },
      },
      {
        ...{
          id: `empty-fallback-${wire}`,
          class: 9,
          wire,
          vendor: 'any',
          source: 'googleapis/python-genai#1789',
        },
        quirk: 'A model gives an empty answer again and again.',
        right: 'The fallback is asked.',
        async check() {
          const told = await ask({
            wire,
            answers: ({ model }) => (model === 'm' ? {} : WHOLE),
            model: { fallbacks: ['other'] },
          });
          expect([told.state, told.text]).toEqual(['completed', WHOLE.text]);
          expect(told.requests.map(({ model }) => model)).toEqual(['m', 'm', 'other']);
          expect(bodyOf(told, 2)).not.toContain(NOTE);
        },
      },
      {
        ...{
          id: `empty-forgotten-${wire}`,
          class: 9,
          wire,
          vendor: 'any',
          source: 'nugget/thane-ai-agent#168',
        },
        quirk: 'An answer is empty in the middle of a conversation.',
        right: 'Later requests of the conversation hold neither it nor the note.',
        async check() {
          const { contextId } = await ask({ wire, answers: [{}, WHOLE] });
          const told = await ask({ wire, answers: [{ text: 'Fine.' }], contextId });
          expect([told.state, told.refused, bodyOf(told, 0).includes(NOTE)]).toEqual([
            'completed',
            [],
            false,
          ]);
        },
      },
    ] satisfies readonly Quirk[],
);

const malformed: readonly (readonly [Named, VendorResponse])[] = [
  [
    {
      id: 'gemini',
      vendor: 'Gemini',
      source: 'langchain-ai/langgraph#6574',
      quirk: 'The API cannot read the call of its own model: MALFORMED_FUNCTION_CALL.',
    },
    { stop: 'MALFORMED_FUNCTION_CALL' },
  ],
  [
    {
      id: 'gemini-filter',
      vendor: 'Gemini',
      source: 'pydantic/pydantic-ai#3300',
      quirk: 'The same, as "function_call_filter: MALFORMED_FUNCTION_CALL", after a text.',
    },
    { text: 'I write.', stop: 'function_call_filter: MALFORMED_FUNCTION_CALL' },
  ],
  [
    {
      id: 'openrouter',
      vendor: 'OpenRouter',
      source: 'UKGovernmentBEIS/inspect_ai#2990',
      quirk: 'The same, in native_finish_reason alone.',
    },
    {
      stream:
        openaiEvent({
          choices: [
            { index: 0, delta: {}, finish_reason: 'stop', native_finish_reason: 'MALFORMED_FUNCTION_CALL' },
          ],
        }) + DONE,
    },
  ],
];

const calls = malformed.flatMap(([named, answer]): readonly Quirk[] => {
  const common = { ...named, class: 9, wire: 'Chat Completions' } as const;
  return [
    {
      ...common,
      id: `malformed-${named.id}`,
      right: 'It is asked up to twice more, with a note about the call.',
      async check() {
        const told = await ask({ wire: 'Chat Completions', answers: [answer, answer, WHOLE] });
        expect([told.state, told.text, told.requests.length]).toEqual(['completed', WHOLE.text, 3]);
        expect(bodyOf(told, 2)).toContain('Your last call could not be read');
      },
    },
    {
      ...common,
      id: `malformed-${named.id}-thrice`,
      right: 'The task fails after the third time, and says why.',
      async check() {
        const told = await ask({ wire: 'Chat Completions', answers: [answer] });
        expect([told.state, told.requests.length]).toEqual(['failed', 3]);
        expect(told.text).toMatch(/could not read \(".*MALFORMED_FUNCTION_CALL"\)/);
      },
    },
  ];
});

/** An output without a text that is not asked for again. */
function final(
  wire: ModelWireName,
  named: Named,
  { answer, state, text }: { answer: VendorResponse; state: string; text: RegExp },
): Quirk {
  return {
    ...named,
    ...{ class: 9, wire, id: `final-${named.id}` },
    right: 'It is not asked again.',
    async check() {
      const told = await ask({ wire, answers: [answer, WHOLE] });
      expect([told.state, told.requests.length]).toEqual([state, 1]);
      expect(told.text).toMatch(text);
    },
  };
}

const LIMITS = {
  'Chat Completions': 'length',
  Responses: 'max_output_tokens',
  Messages: 'max_tokens',
} as const;
const REFUSALS = {
  'Chat Completions': 'content_filter',
  Responses: 'content_filter',
  Messages: 'refusal',
} as const;

const finals = MODEL_WIRES.flatMap((wire) => [
  final(
    wire,
    {
      id: `limit-${wire}`,
      vendor: 'any',
      source: 'BerriAI/litellm#37710',
      quirk: 'The thoughts of a model use up the limit of the output.',
    },
    { answer: { thoughts: 'So.', stop: LIMITS[wire] }, state: 'failed', text: /agent\.limits\.answerTokens/ },
  ),
  final(
    wire,
    {
      id: `refusal-${wire}`,
      vendor: 'any',
      source: 'brightwave-inc/tidebreak#555',
      quirk: 'A filter ends the output before its first word.',
    },
    { answer: { stop: REFUSALS[wire] }, state: 'rejected', text: /declined/ },
  ),
]);

const reasons = [
  askedAgain(
    'Chat Completions',
    {
      id: 'tool-calls',
      vendor: 'vLLM',
      source: 'vllm-project/vllm#53255',
      quirk: 'The reason is "tool_calls", and no call was sent.',
    },
    { stop: 'tool_calls' },
  ),
  {
    ...askedAgain(
      'Chat Completions',
      {
        id: 'no-usage',
        vendor: 'any',
        source: 'earendil-works/pi#8511',
        quirk: 'An empty answer reports no usage.',
      },
      {},
    ),
    right: 'It is asked once more with a note.',
    async check() {
      const told = await ask({
        wire: 'Chat Completions',
        answers: [{ stream: openaiChunk({}, 'stop') + DONE }, WHOLE],
      });
      expect([told.state, told.text, told.requests.length]).toEqual(['completed', WHOLE.text, 2]);
    },
  },
] satisfies readonly Quirk[];

export const EMPTY_ANSWERS: readonly Quirk[] = [...empties, ...calls, ...finals, ...reasons];
