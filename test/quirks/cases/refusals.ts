import { expect } from '@jest/globals';
import { openaiEvent } from '../../support/openai-wire.js';
import type { Quirk } from '../quirk.js';
import { ask, type VendorResponse, type Sent } from '../strict-vendor.js';
import { MODEL_WIRES, type ModelWireName, type VendorAnswer } from '../vendor-streams.js';

const AZURE = {
  error: {
    message:
      "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
    type: null,
    param: 'prompt',
    code: 'content_filter',
    status: 400,
    innererror: {
      code: 'ResponsibleAIPolicyViolation',
      content_filter_result: { violence: { filtered: true, severity: 'high' }, hate: { filtered: false } },
    },
  },
};
const BY_FILTER: Readonly<Record<ModelWireName, VendorAnswer>> = {
  'Chat Completions': { text: 'I', stop: 'content_filter' },
  Responses: { text: 'I', stop: 'content_filter' },
  Messages: {
    stop: 'refusal',
    more: { stop_details: { type: 'refusal', category: 'bio', explanation: 'About enzymes.' } },
  },
};

interface Row extends Pick<Quirk, 'vendor' | 'source' | 'quirk'> {
  readonly name: string;
  readonly wires: readonly ModelWireName[];
  readonly answer: (wire: ModelWireName) => VendorResponse;
  /** The state of the refused task. Default: "rejected". */
  readonly state?: string;
  /** The part of the reason that the operator reads. */
  readonly says: RegExp;
}

const refusedBy = (status: number, body: unknown) => () => ({ status, body });

const ROWS: readonly Row[] = [
  {
    name: 'filter',
    wires: MODEL_WIRES,
    vendor: 'Anthropic, OpenAI and others',
    source: 'vellum-ai/vellum-assistant#38280',
    quirk: 'A classifier ends an answer, and refuses every later request that holds the same message.',
    answer: (wire) => BY_FILTER[wire],
    says: /Refused by the model's vendor: (content_filter|bio: About enzymes)/,
  },
  {
    name: 'own',
    wires: ['Chat Completions'],
    vendor: 'OpenAI',
    source: 'zed-industries/zed#31220',
    quirk: 'The model declines in a text of its own, and goes on to decline while it reads that text.',
    answer: () => ({ more: { refusal: 'I cannot help with that.' } }),
    says: /I cannot help/,
  },
  {
    name: 'Azure',
    wires: ['Chat Completions', 'Responses'],
    vendor: 'Azure OpenAI',
    source: 'The page on content filtering (learn.microsoft.com)',
    quirk: 'A content filter refuses the request with status 400, and names its category in `innererror`.',
    answer: refusedBy(400, AZURE),
    says: /violence \(high\)/,
  },
  {
    name: 'Azure-stream',
    wires: ['Chat Completions'],
    vendor: 'Azure OpenAI',
    source: 'The page on content filtering (learn.microsoft.com)',
    quirk: 'A content filter stops an answer, and names its category beside the reason of the end.',
    answer: () => ({
      stream: openaiEvent({
        choices: [
          {
            index: 0,
            delta: { content: 'First you' },
            finish_reason: 'content_filter',
            content_filter_results: { violence: { filtered: true, severity: 'medium' } },
          },
        ],
      }),
    }),
    says: /First you[^]*violence \(medium\)/,
  },
  {
    name: 'DeepSeek',
    wires: ['Chat Completions'],
    vendor: 'DeepSeek',
    source: 'deepseek-ai/awesome-deepseek-integration (reports of "Content Exists Risk")',
    quirk: 'A filter refuses the request as an invalid one, and only the text says why.',
    answer: refusedBy(400, { error: { message: 'Content Exists Risk', type: 'invalid_request_error' } }),
    says: /Content Exists Risk/,
  },
  {
    name: 'DashScope',
    wires: ['Chat Completions'],
    vendor: 'Alibaba (DashScope)',
    source: 'Error messages (help.aliyun.com)',
    quirk: 'A filter refuses the request with a code of its own.',
    answer: refusedBy(400, {
      error: { code: 'data_inspection_failed', message: 'Input data may contain inappropriate content.' },
    }),
    says: /inappropriate content/,
  },
  {
    name: 'OpenRouter',
    wires: ['Chat Completions'],
    vendor: 'OpenRouter',
    source: 'Errors (openrouter.ai/docs)',
    quirk:
      'A moderation refuses the request with status 403, as a wrong key has, and gives reasons in `metadata`.',
    answer: refusedBy(403, {
      error: {
        code: 403,
        message: 'Your chosen model requires moderation and your input was flagged.',
        metadata: { reasons: ['harassment'], flagged_input: 'FLAGGED' },
      },
    }),
    says: /harassment/,
  },
  {
    name: 'unknown',
    wires: MODEL_WIRES,
    vendor: 'All vendors',
    source: 'griffinwork40/agent-afk#290',
    quirk: 'A request is refused for something in the newest message that nobody foresaw.',
    answer: refusedBy(400, { error: { message: 'Bad thing 17.', type: 'invalid_request_error' } }),
    state: 'failed',
    says: /Bad thing 17/,
  },
];

const holdsFlagged = ({ body }: Sent): boolean => JSON.stringify(body).includes('FLAGGED');

/** A vendor that refuses each request that holds the word. */
const refusing =
  (answer: VendorResponse): ((sent: Sent) => VendorResponse) =>
  (sent) =>
    holdsFlagged(sent) ? answer : { text: 'Paris.' };

/** One refusal ends a conversation for good when later requests repeat what was refused. */
export const REFUSALS: readonly Quirk[] = [
  ...ROWS.flatMap(({ name, wires, answer, state = 'rejected', says, ...row }) =>
    wires.map((wire): Quirk => ({
      id: `refusal-${name}-${wire}`,
      class: 3,
      wire,
      ...row,
      right: 'The operator reads why, and later requests of the conversation leave the refused exchange out.',
      async check() {
        const before = await ask({ wire, message: 'my name is Kim', answers: [{ text: 'Hello Kim.' }] });
        const { contextId } = before;
        const answers = refusing(answer(wire));
        const refused = await ask({ wire, contextId, message: 'FLAGGED', answers });
        expect(refused.state).toBe(state);
        expect(refused.text).toMatch(says);
        const after = await ask({ wire, contextId, message: 'the capital of France?', answers });
        expect([after.state, after.text, after.refused]).toEqual(['completed', 'Paris.', []]);
        expect(JSON.stringify(after.requests[0]!.body)).toContain('my name is Kim');
      },
    })),
  ),
  ...MODEL_WIRES.map((wire): Quirk => ({
    id: `refusal-after-calls-${wire}`,
    class: 3,
    wire,
    vendor: 'Anthropic, OpenAI and others',
    source: 'vellum-ai/vellum-assistant#38280',
    quirk: 'A filter refuses the result of a call, which stays in the conversation.',
    right: 'The message, its calls and their results are left out of later requests.',
    async check() {
      const write = { name: 'fs_write', arguments: { path: 'a.txt', content: 'FLAGGED' } };
      const refused = await ask({
        wire,
        answers: ({ n }) => (n === 0 ? { calls: [write] } : BY_FILTER[wire]),
      });
      const { contextId } = refused;
      const after = await ask({ wire, contextId, answers: refusing(BY_FILTER[wire]) });
      expect([refused.state, after.state]).toEqual(['rejected', 'completed']);
    },
  })),
];

/** Vendors say which refusals another model may answer. */
export const REFUSAL_FALLBACKS: readonly Quirk[] = [
  ...MODEL_WIRES.flatMap((wire): readonly Quirk[] => {
    const answers = ({ model }: Sent): VendorResponse =>
      model === 'm' ? BY_FILTER[wire] : { text: 'A harmless answer.' };
    const common = {
      class: 10,
      wire,
      vendor: 'Anthropic, OpenAI and others',
      source: 'Refusals and fallback (platform.claude.com)',
      quirk: 'A classifier refuses what another model answers; the vendor says to ask one.',
    };
    return [
      {
        ...common,
        id: `refusal-fallback-${wire}`,
        right: 'The fallback is asked, its answer replaces what came before, and the model does not rest.',
        async check() {
          const asking = { wire, answers, model: { fallbacks: ['other'] } };
          for (let round = 0; round < 2; round++) {
            const told = await ask(asking);
            expect([told.state, told.text]).toEqual(['completed', 'A harmless answer.']);
            expect(told.requests.map(({ model }) => model)).toEqual(['m', 'other']);
          }
        },
      },
      {
        ...common,
        id: `refusal-fallback-off-${wire}`,
        right: '`model.fallbackOnRefusal: false` leaves the refusal as it is.',
        async check() {
          const model = { fallbacks: ['other'], fallbackOnRefusal: false };
          const told = await ask({ wire, answers, model });
          expect([told.state, told.requests.length]).toEqual(['rejected', 1]);
        },
      },
    ];
  }),
  {
    id: 'refusal-fallback-Azure',
    class: 10,
    wire: 'Chat Completions',
    vendor: 'Azure OpenAI',
    source: 'The page on content filtering (learn.microsoft.com)',
    quirk: 'A filter refuses the request with an error.',
    right: 'The fallback is asked.',
    async check() {
      const told = await ask({
        wire: 'Chat Completions',
        answers: ({ model }) => (model === 'm' ? { status: 400, body: AZURE } : { text: 'Fine.' }),
        model: { fallbacks: ['other'] },
      });
      expect([told.state, told.text]).toEqual(['completed', 'Fine.']);
    },
  },
  {
    id: 'refusal-fallback-own',
    class: 10,
    wire: 'Chat Completions',
    vendor: 'OpenAI',
    source: 'Structured outputs (developers.openai.com)',
    quirk: 'The model itself declines, and no filter.',
    right: 'The refusal stands; no other model is asked.',
    async check() {
      const told = await ask({
        wire: 'Chat Completions',
        answers: [{ more: { refusal: 'I will not.' } }],
        model: { fallbacks: ['other'] },
      });
      expect([told.state, told.requests.length]).toEqual(['rejected', 1]);
    },
  },
  ...(
    [
      ['a larger window', 'claude-haiku-4-5', 'claude-opus-5-5', 2],
      ['a smaller window', 'claude-opus-5-5', 'claude-haiku-4-5', 1],
      ['an unknown window', 'claude-haiku-4-5', 'somebody', 2],
    ] as const
  ).map(([what, name, next, requests]): Quirk => ({
    id: `length-fallback-${requests}-${next}`,
    class: 10,
    wire: 'Messages',
    vendor: 'Anthropic',
    source: 'appstrate/appstrate#464',
    quirk: `The conversation is too long for the model, and the fallback has ${what}.`,
    right: requests === 2 ? 'The fallback is asked.' : 'The fallback is not asked.',
    async check() {
      const told = await ask({
        wire: 'Messages',
        answers: ({ model }) =>
          model === name
            ? {
                status: 400,
                body: {
                  type: 'error',
                  error: {
                    type: 'invalid_request_error',
                    message: 'prompt is too long: 210000 tokens > 200000',
                  },
                },
              }
            : { text: 'It fits.' },
        model: { name, fallbacks: [next] },
      });
      expect(told.requests.some(({ model }) => model === next)).toBe(requests === 2);
      expect(told.state).toBe(requests === 2 ? 'completed' : 'failed');
    },
  })),
];
