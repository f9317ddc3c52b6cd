import { expect } from '@jest/globals';
import { listIn, objectIn, textIn, type JsonObject } from '../../../src/core/json.js';
import { anthropicStream, toolUseBlock } from '../../support/anthropic-wire.js';
import { DONE, openaiChunk } from '../../support/openai-wire.js';
import type { Quirk } from '../quirk.js';
import { ask, type VendorResponse, type Sent } from '../strict-vendor.js';
import type { VendorRule } from '../vendor-rules.js';
import { responsesEvent, type ModelWireName } from '../vendor-streams.js';

interface Row extends Pick<Quirk, 'vendor' | 'source' | 'quirk'> {
  readonly name: string;
  readonly wire?: ModelWireName;
  /** The first answer: a call of `fs_list` with members of this vendor's own. */
  readonly answer: VendorResponse;
  /** The members that go back with it, as part of the message, the call or the list of items. */
  readonly back: object;
  /** The name of the model. */
  readonly model?: string;
  /** Text in `back` that no other model may get. */
  readonly mark?: string;
}

const CALL = { name: 'fs_list' };

function chatStream(...deltas: readonly object[]): VendorResponse {
  const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'fs_list', arguments: '{}' } };
  const chunks = [...deltas, { tool_calls: [call] }].map((delta) => openaiChunk(delta));
  return { stream: [...chunks, openaiChunk({}, 'tool_calls'), DONE].join('') };
}

/** The members on the message of the answer, and on its call. */
const onMessage = (members: object): object => expect.objectContaining(members);
const onCall = (members: object): object => onMessage({ tool_calls: [expect.objectContaining(members)] });

const DETAILS = [
  { type: 'reasoning.text', text: 'MARK is why.', signature: 'S1', format: 'v1', index: 0 },
  { type: 'reasoning.encrypted', data: 'RU5D', id: 'r1', format: 'v1', index: 1 },
];

const ROWS: readonly Row[] = [
  ...['DeepSeek', 'Moonshot (Kimi)', 'Alibaba (Qwen)', 'Z.ai (GLM)', 'SGLang'].map((vendor) => ({
    name: vendor.split(/\W/, 1)[0]!,
    vendor,
    source:
      vendor === 'DeepSeek' ? 'Thinking Mode (api-docs.deepseek.com)' : 'NousResearch/hermes-agent#17212',
    quirk:
      'A model that thinks refuses, or loses its thread in, a message with calls without its `reasoning_content`.',
    answer: { thoughts: 'MARK: I look first, and then I answer.', calls: [CALL] },
    back: onMessage({ reasoning_content: 'MARK: I look first, and then I answer.' }),
  })),
  {
    name: 'DeepSeek-empty',
    vendor: 'DeepSeek',
    source: 'claude-code-best/claude-code#403',
    quirk: 'The thoughts may be empty, and are required nevertheless.',
    answer: { calls: [CALL], more: { reasoning_content: '' } },
    back: onMessage({ reasoning_content: '' }),
    mark: 'reasoning_content',
  },
  ...['vLLM', 'Groq'].map((vendor) => ({
    name: vendor,
    vendor,
    source: vendor === 'vLLM' ? 'vllm-project/vllm#27752' : 'vercel/ai#8057',
    quirk: 'The thoughts are in `reasoning`.',
    answer: chatStream({ reasoning: 'MARK: ' }, { reasoning: 'so.' }),
    back: onMessage({ reasoning: 'MARK: so.' }),
  })),
  ...['OpenRouter', 'MiniMax'].map((vendor) => ({
    name: vendor,
    vendor,
    source:
      vendor === 'OpenRouter' ? 'RooCodeInc/Roo-Code#9506' : 'Tool Use & Interleaved Thinking (MiniMax)',
    quirk: '`reasoning_details` come in pieces, and go back as whole items.',
    answer: chatStream(
      { reasoning_details: [{ ...DETAILS[0], text: 'MARK is ', signature: undefined }] },
      { reasoning_details: [{ ...DETAILS[0], text: 'why.', signature: null }] },
      { reasoning_details: [{ ...DETAILS[0], text: '' }] },
      { reasoning_details: [DETAILS[1]] },
    ),
    back: onMessage({ reasoning_details: DETAILS }),
  })),
  {
    name: 'Gemini',
    vendor: 'Google (Gemini)',
    source: 'openai/openai-python#2758',
    quirk: 'A call has a signature of its thoughts in `extra_content`, and is refused without it.',
    answer: {
      calls: [{ ...CALL, more: { extra_content: { google: { thought_signature: 'MARK==' } } } }],
    },
    back: onCall({ extra_content: { google: { thought_signature: 'MARK==' } } }),
  },
  {
    name: 'LiteLLM',
    vendor: 'LiteLLM',
    source: 'The page reasoning_content of docs.litellm.ai',
    quirk: 'A gateway puts the blocks of Anthropic beside the text, and signatures of Gemini on the call.',
    answer: chatStream(
      { thinking_blocks: [{ type: 'thinking', thinking: 'MARK ', signature: '' }] },
      { thinking_blocks: [{ type: 'thinking', thinking: 'so.', signature: 'S' }] },
      {
        tool_calls: [
          { index: 0, id: 'call_1', provider_specific_fields: { thought_signature: 'T' }, function: {} },
        ],
      },
    ),
    back: onMessage({
      thinking_blocks: [{ type: 'thinking', thinking: 'MARK so.', signature: 'S' }],
      tool_calls: [expect.objectContaining({ provider_specific_fields: { thought_signature: 'T' } })],
    }),
  },
  {
    name: 'Mistral',
    vendor: 'Mistral',
    source: 'vercel/ai#17930',
    quirk: 'Thoughts are parts of the content, in pieces, and go back as one part before the text.',
    answer: chatStream(
      { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'MARK ' }] }] },
      { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'so.' }], closed: true }] },
      { content: [{ type: 'text', text: 'I ' }] },
      { content: 'look.' },
    ),
    back: onMessage({
      content: [
        { type: 'thinking', thinking: [{ type: 'text', text: 'MARK so.' }], closed: true },
        { type: 'text', text: 'I look.' },
      ],
    }),
  },
  {
    name: 'MiniMax-M2',
    vendor: 'MiniMax',
    source: 'Tool Use & Interleaved Thinking (MiniMax)',
    quirk: 'Thoughts are in tags in the text, and the model loses its thread without them.',
    model: 'MiniMax-M2',
    answer: { text: '<think>MARK</think>\n\nI look.', calls: [CALL] },
    back: onMessage({ content: '<think>MARK</think>\n\nI look.' }),
  },
  {
    name: 'unknown',
    vendor: 'Servers to come',
    source: 'The class: members that nobody knows yet',
    quirk: 'A message, a call and its function have further members.',
    answer: chatStream(
      { x_state: { a: 'MARK' } },
      { tool_calls: [{ index: 0, id: 'call_1', x_call: [1], function: { x_name: 'n' } }] },
    ),
    back: onMessage({
      x_state: { a: 'MARK' },
      tool_calls: [
        expect.objectContaining({
          x_call: [1],
          function: expect.objectContaining({ x_name: 'n' }) as object,
        }),
      ],
    }),
  },
  {
    name: 'OpenAI-reasoning',
    wire: 'Responses',
    vendor: 'OpenAI',
    source: 'TanStack/ai#1212',
    quirk: 'A call is refused without the item of reasoning before it.',
    answer: { thoughts: 'why', calls: [CALL] },
    back: { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'ENCRYPTED' },
    mark: 'ENCRYPTED',
  },
  {
    name: 'OpenAI-compaction',
    wire: 'Responses',
    vendor: 'OpenAI',
    source: 'Compaction (developers.openai.com)',
    quirk: 'Items of other types hold encrypted content, which the next request is to hold too.',
    answer: {
      stream: responsesEvent('response.completed', {
        response: {
          status: 'completed',
          output: [
            { type: 'compaction', id: 'cmp_1', encrypted_content: 'MARK' },
            { type: 'function_call', call_id: 'c', name: 'fs_list', arguments: '{}' },
          ],
        },
      }),
    },
    back: { type: 'compaction', id: 'cmp_1', encrypted_content: 'MARK' },
  },
  {
    name: 'OpenAI-phase',
    wire: 'Responses',
    vendor: 'OpenAI',
    source: 'The guide to reasoning models (developers.openai.com)',
    quirk: 'A text before a call bears its phase, and the model stops early without it.',
    answer: {
      stream: [
        responsesEvent('response.completed', {
          response: {
            status: 'completed',
            output: [
              { type: 'message', phase: 'commentary', content: [{ type: 'output_text', text: 'I look.' }] },
              { type: 'function_call', call_id: 'c', name: 'fs_list', arguments: '{}' },
            ],
          },
        }),
      ].join(''),
    },
    back: { role: 'assistant', content: 'I look.', phase: 'commentary' },
    mark: 'commentary',
  },
  ...[
    { type: 'thinking', thinking: 'MARK', signature: 'SIGNED' },
    { type: 'redacted_thinking', data: 'MARK' },
    { type: 'compaction', content: 'MARK' },
  ].map((block) => ({
    name: `Anthropic-${block.type}`,
    wire: 'Messages' as const,
    vendor: 'Anthropic',
    source: 'Extended thinking (platform.claude.com)',
    quirk: `A block of type ${block.type} is required unchanged before the call of its answer.`,
    answer: {
      stream: anthropicStream({
        blocks: [{ start: block }, toolUseBlock('toolu_1', 'fs_list', '{}')],
        stopReason: 'tool_use',
      }),
    },
    back: onMessage({ content: [block, expect.objectContaining({ name: 'fs_list' })] }),
  })),
];

/** The messages or items of the assistant in a request. */
function repliesIn({ wire, body }: Sent): readonly JsonObject[] {
  const list = listIn(wire === 'Responses' ? body.input : body.messages).map(objectIn);
  return list.filter(
    ({ role, type }) => role === 'assistant' || /^(reasoning|compaction)$/.test(textIn(type)),
  );
}

/** Members that only their vendor understands. */
export const OPAQUE_MEMBERS: readonly Quirk[] = ROWS.map(
  ({ name, answer, back, mark = 'MARK', model = 'm', ...row }) => ({
    id: `opaque-${name}`,
    class: 4,
    wire: 'Chat Completions',
    ...row,
    right: 'The member goes back unchanged to the model that wrote it, and to no other one.',
    async check() {
      const told = await ask({
        wire: row.wire ?? 'Chat Completions',
        model: { name: model, fallbacks: ['other'] },
        // After the refusal of a filter, the other model is asked.
        answers: ({ n, wire }) =>
          [answer, { stop: wire === 'Messages' ? 'refusal' : 'content_filter' }][n] ?? {
            text: 'It is empty.',
          },
      });
      expect(told.refused).toEqual([]);
      expect([told.state, told.text]).toEqual(['completed', 'It is empty.']);
      expect(told.requests.map(({ model }) => model)).toEqual([model, model, 'other']);
      expect(repliesIn(told.requests[1]!)).toContainEqual(back);
      expect(JSON.stringify(told.requests[2]!.body)).not.toContain(mark);
    },
  }),
);

const lacksReasoning: VendorRule = ({ messages }) => {
  const answers = listIn(messages)
    .map(objectIn)
    .filter(({ role }) => role === 'assistant');
  return answers.some((message) => textIn(message.reasoning_content) === '')
    ? 'The `reasoning_content` in the thinking mode must be passed back to the API.'
    : undefined;
};

/** A vendor that requires its members over several turns and tasks of one conversation. */
export const OPAQUE_OVER_TASKS: readonly Quirk[] = [
  {
    id: 'opaque-DeepSeek-tasks',
    class: 4,
    wire: 'Chat Completions',
    vendor: 'DeepSeek',
    source: 'Thinking Mode (api-docs.deepseek.com)',
    quirk:
      'After a call, the thoughts of all messages are required in all later requests, also of later tasks.',
    right: 'The thoughts of each message go back in later tasks too.',
    async check() {
      const answers = ({ n }: Sent): VendorResponse =>
        n < 2 ? { thoughts: `thought ${n}`, calls: [CALL] } : { thoughts: 'last', text: 'Done.' };
      const asking = { wire: 'Chat Completions', rules: [lacksReasoning], answers } as const;
      const first = await ask(asking);
      const second = await ask({ ...asking, contextId: first.contextId });
      expect([...first.refused, ...second.refused]).toEqual([]);
      expect([first.state, second.state]).toEqual(['completed', 'completed']);
      expect(repliesIn(second.requests.at(-1)!)).toHaveLength(5);
    },
  },
];
