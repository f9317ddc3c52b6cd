import { expect } from '@jest/globals';
import { listIn, objectIn, textIn, type JsonObject } from '../../../src/core/json.js';
import type { Quirk } from '../quirk.js';
import { ask, type Sent } from '../strict-vendor.js';
import type { VendorRule } from '../vendor-rules.js';
import { MODEL_WIRES, type ModelWireName } from '../vendor-streams.js';

const objects = (value: unknown): readonly JsonObject[] => listIn(value).map(objectIn);

/** The ids of all calls in a request, then those of all results. */
function idsIn({ wire, body }: Pick<Sent, 'wire' | 'body'>): readonly [string[], string[]] {
  if (wire === 'Responses') {
    const ids = (type: string) =>
      objects(body.input).flatMap((item) => (item.type === type ? [textIn(item.call_id)] : []));
    return [ids('function_call'), ids('function_call_output')];
  }
  const messages = objects(body.messages);
  if (wire === 'Chat Completions')
    return [
      messages.flatMap((message) => objects(message.tool_calls)).map(({ id }) => textIn(id)),
      messages.filter(({ role }) => role === 'tool').map((message) => textIn(message.tool_call_id)),
    ];
  const blocks = messages.flatMap(({ content }) => objects(content));
  return [
    blocks.filter(({ type }) => type === 'tool_use').map(({ id }) => textIn(id)),
    blocks.filter(({ type }) => type === 'tool_result').map((block) => textIn(block.tool_use_id)),
  ];
}

/** Mistral refuses any other id, on whatever wire. */
const nineCharacters =
  (wire: ModelWireName): VendorRule =>
  (body) => {
    const [calls, results] = idsIn({ wire, body });
    if ([...calls, ...results].every((id) => /^[a-zA-Z0-9]{9}$/.test(id))) return undefined;
    return 'Tool call id was abc but must be a-z, A-Z, 0-9, with a length of 9.';
  };

const GIVEN = {
  'Kimi, which numbers its functions': 'functions.fs_list:0',
  'Anthropic, whose ids begin with toolu_': 'toolu_01A09q90qw90lq917835lq9',
  'OpenAI Responses, by ids of 60 characters and more': `fc_${'0123456789'.repeat(7)}`,
  'Gemini, by names': 'function-call-1234567890123456789',
  'Bedrock behind a gateway': 'tooluse_7bQ-abc/DEF+ghi==',
  'a server that gives none': '',
  'a model that writes anything': 'id with "quotes" | 日本',
};

/** The ids of one vendor's calls are refused by another one. */
export const CALL_IDS: readonly Quirk[] = [
  ...Object.entries(GIVEN).flatMap(([writer, id], at) =>
    MODEL_WIRES.map((wire): Quirk => ({
      id: `call-ids-${at + 1}-${wire}`,
      class: 8,
      wire,
      vendor: 'Mistral',
      source: ['langchain-ai/langchain#37756', 'maximhq/bifrost#5097'][at % 2]!,
      quirk: `The vendor takes only ids of nine letters and digits, not those of ${writer}.`,
      right: 'Each request has ids of nine letters and digits, the same ones for the same calls.',
      async check() {
        const told = await ask({
          wire,
          rules: [nineCharacters(wire)],
          answers: [
            { calls: [{ name: 'fs_list', id }] },
            { calls: [{ name: 'fs_list', id: `${id}b` }] },
            { text: 'Done.' },
          ],
        });
        expect([told.state, told.refused]).toEqual(['completed', []]);
        const [one, two] = told.requests.slice(1).map((sent) => idsIn(sent));
        expect(two![0]).toEqual([one![0][0], expect.stringMatching(/^[a-zA-Z0-9]{9}$/)]);
        expect(two![1]).toEqual(two![0]);
      },
    })),
  ),
  ...MODEL_WIRES.map((wire): Quirk => ({
    id: `call-ids-repeated-${wire}`,
    class: 8,
    wire,
    vendor: 'llama.cpp, Jan and others',
    source: '1jehuang/jcode#890',
    quirk: 'The server numbers the calls of each answer anew, and gives two calls of one answer the same id.',
    right: 'Each call keeps its own result, and all ids of a request differ.',
    async check() {
      const call = (text: string) => ({ name: 'crypto_hash', id: 'call_0', arguments: { text } });
      const told = await ask({
        wire,
        answers: [{ calls: [call('a'), call('b')] }, { calls: [call('c')] }, { text: 'Done.' }],
      });
      expect([told.state, told.refused]).toEqual(['completed', []]);
      const [calls, results] = idsIn(told.requests.at(-1)!);
      expect(results).toEqual(calls);
      expect(new Set(calls).size).toBe(3);
      expect(new Set(told.results).size).toBe(3);
      expect(told.results.every((text) => /[0-9a-f]{64}/.test(text))).toBe(true);
    },
  })),
  ...MODEL_WIRES.map((wire): Quirk => ({
    id: `call-ids-tasks-${wire}`,
    class: 8,
    wire,
    vendor: 'All vendors with a cache',
    source: 'mastra-ai/mastra#14589',
    quirk: 'The cache of a prompt ends at the first byte that differs.',
    right: 'A later task sends the calls of an earlier one with the same ids.',
    async check() {
      const answers = [{ calls: [{ name: 'fs_list', id: 'functions.fs_list:0' }] }, { text: 'Done.' }];
      const first = await ask({ wire, answers });
      const second = await ask({ wire, answers, contextId: first.contextId });
      const known = idsIn(first.requests.at(-1)!)[0];
      expect(known).toHaveLength(1);
      expect(idsIn(second.requests[0]!)[0]).toEqual(known);
    },
  })),
  {
    id: 'call-ids-Kimi',
    class: 8,
    wire: 'Chat Completions',
    vendor: 'Moonshot (Kimi K2)',
    source: 'vybestack/llxprt-code#713',
    quirk: 'The model reads the name of a function out of its id, and counts on over the whole conversation.',
    right: 'A model of this name gets ids of its own form, numbered from 0.',
    async check() {
      const told = await ask({
        wire: 'Chat Completions',
        model: { name: 'moonshotai/Kimi-K2.5' },
        answers: [
          { calls: [{ name: 'fs_list', id: 'x' }] },
          { calls: [{ name: 'crypto_hash', arguments: { text: 'a' } }] },
          { text: 'Done.' },
        ],
      });
      expect(idsIn(told.requests.at(-1)!)[0]).toEqual(['functions.fs_list:0', 'functions.crypto_hash:1']);
    },
  },
  ...MODEL_WIRES.flatMap((wire) =>
    ['fs_list<|channel|>commentary', 'fs list', '', 'x'.repeat(90), '日本'].map((name, at): Quirk => ({
      id: `call-names-${at + 1}-${wire}`,
      class: 3,
      wire,
      vendor: 'vLLM, Ollama and others',
      source: 'vllm-project/vllm#26083',
      quirk: `A model calls ${JSON.stringify(name.slice(0, 30))}, a name that the vendor refuses in the next request.`,
      right: 'The call goes back under a name that every vendor takes.',
      async check() {
        const told = await ask({ wire, answers: [{ calls: [{ name }] }, { text: 'Done.' }] });
        expect([told.refused, told.state, told.text]).toEqual([[], 'completed', 'Done.']);
      },
    })),
  ),
];
