import { expect, it } from '@jest/globals';
import type { JsonObject } from '../../src/core/json.js';
import { thoughtsOf } from '../../src/core/activity.js';

const of = (...blocks: readonly JsonObject[]) =>
  thoughtsOf(blocks.map((block) => ({ type: 'opaque', provider: 'x', block })));

it.each<[string, JsonObject, string]>([
  ['Anthropic', { type: 'thinking', thinking: 'So.', signature: 'c2ln' }, 'So.'],
  ['Anthropic, hidden', { type: 'redacted_thinking', data: 'ZGF0YQ==' }, ''],
  [
    'OpenAI',
    {
      ...{ type: 'reasoning', id: 'rs_1', encrypted_content: 'gAAA' },
      summary: [{ type: 'summary_text', text: 'So.' }],
    },
    'So.',
  ],
  ['DeepSeek', { type: 'chat-message', members: { reasoning_content: 'So.' } }, 'So.'],
  [
    'OpenRouter, which says it twice',
    {
      type: 'chat-message',
      members: {
        reasoning: 'So.',
        reasoning_details: [
          { type: 'reasoning.text', text: 'So.', signature: 'c2ln' },
          { type: 'reasoning.encrypted', data: 'gAAA' },
        ],
      },
    },
    'So.',
  ],
  [
    'Mistral',
    {
      type: 'chat-message',
      members: { parts: [{ type: 'thinking', thinking: [{ type: 'text', text: 'So.' }] }] },
    },
    'So.',
  ],
  ['a package of the AI SDK', { type: 'part', part: { type: 'reasoning', text: 'So.' } }, 'So.'],
  ['tags', { type: 'thoughts', text: '<think>\nSo.\n</think>' }, 'So.'],
  [
    'Gemini',
    { type: 'chat-call', members: { extra_content: { google: { thought_signature: 'c2ln' } } } },
    '',
  ],
  ['a search of the vendor', { type: 'server_tool_use', name: 'web_search', input: { text: 'x' } }, ''],
])('the thoughts of a model are read in the form of %s', (_, block, text) => {
  expect(of(block)).toBe(text);
});

it('several thoughts are told in their order, each once', () => {
  const say = (thinking: string) => ({ type: 'thinking', thinking });
  expect(of(say('One.'), say('Two.'), say('One.'))).toBe('One.\n\nTwo.');
});
