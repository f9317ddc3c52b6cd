import { expect } from '@jest/globals';
import { anthropicEvent } from '../../support/anthropic-wire.js';
import { openaiEvent } from '../../support/openai-wire.js';
import { reset, status, type Reply } from '../../support/scripted-server.js';
import { doings } from '../../support/server.js';
import type { Quirk } from '../quirk.js';
import { answerIn, ask, type VendorResponse, type Told } from '../strict-vendor.js';
import { MODEL_WIRES, responsesEvent, streamOf, type ModelWireName } from '../vendor-streams.js';

const WHOLE = { text: 'The whole answer.' };
const HALF = 'The whole';

/** The seconds of the waits that the person was told of. */
function waits({ outcome }: Told): readonly number[] {
  return doings(outcome).flatMap((line) => Number(/trying again in (\d+) s\./.exec(line)?.[1] ?? []));
}

/** A model that fails `times` times in a row, with many retries allowed. */
function failing(
  wire: ModelWireName,
  answer: VendorResponse,
  { times, maxRetries = 10 }: { times: number; maxRetries?: number },
): Promise<Told> {
  const answers = ({ n }: { n: number }): VendorResponse => (n < times ? answer : WHOLE);
  return ask({ wire, answers, model: { maxRetries } });
}

const busy = (code: number, headers: Record<string, string> = {}): Reply =>
  status(code, { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }, headers);

/** An overload in the middle of a stream that has a text. */
const MIDDLE: Readonly<Record<ModelWireName, (half: string) => string>> = {
  'Chat Completions': (half) => half + openaiEvent({ error: { type: 'server_error', message: 'busy' } }),
  Responses: (half) => half + responsesEvent('error', { code: 'server_error', message: 'busy' }),
  Messages: (half) =>
    half + anthropicEvent({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }),
};

const inTheMiddle = (wire: ModelWireName): VendorResponse => {
  const [half] = streamOf(wire, { text: HALF }).split(
    /data: [^\n]*"finish_reason":"stop"|event: response\.output_item\.done|event: content_block_stop/,
  );
  return { stream: MIDDLE[wire](half!) };
};

const OVERLOADS = [
  ['Chat Completions', 503, 'OpenAI', 'The page "Error codes" of the OpenAI API'],
  ['Chat Completions', 429, 'Groq', 'openclaw/openclaw#16176'],
  ['Responses', 503, 'OpenAI', 'The page "Error codes" of the OpenAI API'],
  ['Messages', 529, 'Anthropic', 'The page "Errors" of the Claude API'],
  ['Messages', 503, 'gateways', 'The page "Errors" of the Claude API'],
] as const;

const sustained = OVERLOADS.map(([wire, code, vendor, source]): Quirk => ({
  ...{ id: `overload-${code}-${wire}`, class: 16, wire, vendor, source },
  quirk: `The vendor answers HTTP ${code} for half a minute.`,
  right: 'The waits grow, the person sees each of them, and the task completes.',
  async check() {
    const told = await failing(wire, busy(code), { times: 6 });
    expect([told.state, told.text, told.requests.length]).toEqual(['completed', WHOLE.text, 7]);
    expect(waits(told)).toEqual(waits(told).toSorted((a, b) => a - b));
    expect([Math.max(...waits(told)) >= 8, waits(told).length >= 4]).toEqual([true, true]);
  },
}));

const middles = MODEL_WIRES.map((wire): Quirk => ({
  ...{
    id: `overload-middle-${wire}`,
    class: 16,
    wire,
    vendor: 'any',
    source: 'The page "Errors" of the Claude API',
  },
  quirk: 'The vendor reports an overload in the middle of its output, again and again.',
  right: 'The task completes with one whole text.',
  async check() {
    const told = await failing(wire, inTheMiddle(wire), { times: 5 });
    expect([told.state, await answerIn(told), told.requests.length]).toEqual(['completed', WHOLE.text, 6]);
  },
}));

const limits = MODEL_WIRES.flatMap((wire): readonly Quirk[] => {
  const common = { class: 16, wire, vendor: 'any', quirk: 'The vendor stays overloaded.' };
  return [
    {
      ...{ ...common, id: `overload-bound-${wire}`, source: 'openclaw/openclaw#16176' },
      right: 'The retries end at model.maxRetries, with the reason.',
      async check() {
        const told = await failing(wire, busy(503), { times: 99, maxRetries: 2 });
        expect([told.state, told.requests.length]).toEqual(['failed', 3]);
        expect(told.text).toMatch(/cannot respond right now/);
      },
    },
    {
      ...{ ...common, id: `server-error-${wire}`, source: 'DarriEy/Auramaur#406' },
      quirk: 'The vendor answers HTTP 500 to this request, and will at each further attempt.',
      right: 'The task fails after three retries, and not after minutes.',
      async check() {
        const told = await failing(wire, busy(500), { times: 99, maxRetries: 10 });
        expect([told.state, told.requests.length]).toEqual(['failed', 4]);
      },
    },
    {
      ...{ ...common, id: `overload-fallback-${wire}`, source: 'brightwave-inc/tidebreak#555' },
      right: 'A fallback is asked after three retries, before long waits.',
      async check() {
        const answers = ({ model }: { model: string }): VendorResponse => (model === 'm' ? busy(503) : WHOLE);
        const told = await ask({ wire, answers, model: { maxRetries: 10, fallbacks: ['other'] } });
        expect([told.state, told.text]).toEqual(['completed', WHOLE.text]);
        expect(told.requests.map(({ model }) => model)).toEqual(['m', 'm', 'm', 'm', 'other']);
      },
    },
    {
      ...{ ...common, id: `overload-last-${wire}`, source: 'brightwave-inc/tidebreak#555' },
      right: 'The last model of the chain is waited for.',
      async check() {
        const answers = ({ model, n }: { model: string; n: number }): VendorResponse =>
          model === 'm' || n < 9 ? busy(503) : WHOLE;
        const told = await ask({ wire, answers, model: { maxRetries: 10, fallbacks: ['last'] } });
        expect([told.state, told.text, told.requests.length]).toEqual(['completed', WHOLE.text, 10]);
      },
    },
  ];
});

const waiting: readonly Quirk[] = [
  {
    ...{
      id: 'retry-after-minutes',
      class: 16,
      wire: 'Messages',
      vendor: 'Anthropic',
      source: '1jehuang/jcode#1183',
    },
    quirk: 'The vendor asks for a wait of some minutes.',
    right: 'It is waited for, and the person sees how long.',
    async check() {
      const told = await failing('Messages', busy(429, { 'retry-after': '200' }), { times: 1 });
      expect([told.state, told.requests.length, waits(told)]).toEqual(['completed', 2, [200]]);
    },
  },
  {
    ...{
      id: 'retry-after-zero',
      class: 16,
      wire: 'Messages',
      vendor: 'Gateways',
      source: 'The class: a constant advice, RFC 9110, section 10.2.3',
    },
    quirk: 'The vendor asks for no wait at each of many refusals.',
    right: 'The waits grow nevertheless.',
    async check() {
      const told = await failing('Messages', busy(529, { 'retry-after': '0' }), { times: 6 });
      expect([told.state, told.requests.length]).toEqual(['completed', 7]);
      expect(Math.max(...waits(told))).toBeGreaterThanOrEqual(8);
    },
  },
  {
    ...{
      id: 'retry-after-hours',
      class: 16,
      wire: 'Chat Completions',
      vendor: 'OpenAI',
      source: 'github/copilot-cli#2760',
    },
    quirk: 'The vendor asks for a wait of three hours.',
    right: 'The task fails at once.',
    async check() {
      const told = await failing('Chat Completions', busy(429, { 'retry-after': '10800' }), { times: 1 });
      expect([told.state, told.requests.length]).toEqual(['failed', 1]);
    },
  },
  {
    ...{
      id: 'unreachable',
      class: 16,
      wire: 'Chat Completions',
      vendor: 'local servers',
      source: 'mims-harvard/ToolUniverse#217',
    },
    quirk: 'The server closes each connection.',
    right: 'The task fails after three retries, so that a wrong address shows soon.',
    async check() {
      const told = await failing('Chat Completions', reset, { times: 99 });
      expect([told.state, told.requests.length]).toEqual(['failed', 4]);
    },
  },
  ...(['abort', 'a_new_reason'] as const).flatMap((stop): readonly Quirk[] => [
    {
      ...{
        id: `retried-${stop}`,
        class: 2,
        wire: 'Chat Completions',
        vendor: 'vLLM',
        source: 'vllm-project/vllm#57082',
      },
      quirk: `An output ends with "${stop}".`,
      right: 'It is asked for again like after an overload, and the whole text replaces the half.',
      async check() {
        const told = await failing('Chat Completions', { text: HALF, stop }, { times: 2 });
        expect([told.state, await answerIn(told), told.requests.length]).toEqual([
          'completed',
          WHOLE.text,
          3,
        ]);
        expect(told.outcome.end.usage).toMatchObject({ input: 30, output: 15 });
      },
    },
    {
      ...{
        id: `retried-few-${stop}`,
        class: 2,
        wire: 'Chat Completions',
        vendor: 'vLLM',
        source: 'vllm-project/vllm#57082',
      },
      quirk: `Each output ends with "${stop}", and is charged.`,
      right: 'There are three retries at most.',
      async check() {
        const told = await failing('Chat Completions', { text: HALF, stop }, { times: 99 });
        expect([told.state, told.requests.length]).toEqual(['failed', 4]);
      },
    },
  ]),
];

export const OVERLOAD: readonly Quirk[] = [...sustained, ...middles, ...limits, ...waiting];
