import { describe, expect, it } from '@jest/globals';
import { AnthropicOutputReader } from '../../src/models/anthropic/output-reader.js';
import type { OutputReader } from '../../src/models/exchange.js';
import { OpenaiOutputReader } from '../../src/models/openai/output-reader.js';
import { ResponsesReader } from '../../src/models/openai/responses-reader.js';

const endpoint = { place: 'x', model: 'm', baseUrl: 'http://x', apiKey: undefined, keyVariable: 'K' };
const ODD = [5, true, [], {}, [null], { a: 1 }];

function fed<Reader extends OutputReader>(reader: Reader, ...events: readonly object[]): Reader {
  for (const event of events) reader.accept({ name: '', data: JSON.stringify(event) }, endpoint);
  return reader;
}

const anthropic = (): AnthropicOutputReader => new AnthropicOutputReader();
const chat = (): OpenaiOutputReader => new OpenaiOutputReader();
const responses = (): ResponsesReader => new ResponsesReader();

const chatCall = (index: number, given: object, id: unknown = `c${index}`): object => ({
  choices: [{ delta: { tool_calls: [{ index, id, function: given }] } }],
});
const block = (index: number, content_block: object): object => ({
  type: 'content_block_start',
  index,
  content_block,
});
const item = (output_index: number, given: object): object => ({
  type: 'response.output_item.done',
  output_index,
  item: given,
});

/** A value whose type the vendor's protocol does not name counts as missing, and nothing of it is kept. */
describe('a response whose members have wrong types', () => {
  it.each(ODD)('has no text that is %j', (odd) => {
    const said = fed(anthropic(), block(0, { type: 'text', text: odd }));
    expect(said.ended().content).toEqual([]);
    expect(fed(chat(), { choices: [{ delta: { content: odd, refusal: odd } }] }).ended().content).toEqual([]);
    const output = [{ type: 'message', content: [{ text: odd }] }];
    expect(fed(responses(), { type: 'response.completed', response: { output } }).ended().content).toEqual(
      [],
    );
  });

  it.each(ODD)('has no name, id or reason that is %j', (odd) => {
    const call = { type: 'function-call', id: expect.stringMatching(/^call_/), name: '', arguments: {} };
    const used = fed(anthropic(), block(0, { type: 'tool_use', id: odd, name: odd }));
    expect(used.ended().content).toEqual([{ ...call, isCut: true }]);
    const chosen = { choices: [{ delta: {}, finish_reason: odd }] };
    const called = fed(chat(), chatCall(0, { name: odd }, odd), chosen);
    expect([called.ended().content, called.isWhole]).toEqual([[{ ...call, isCut: true }], false]);
    const given = { type: 'function_call', call_id: odd, name: odd, arguments: odd };
    expect(fed(responses(), item(0, given)).ended().content).toEqual([call]);
  });

  it.each([...ODD, -5, 1e308, 'x'].filter((odd) => odd !== 5))('has no token count that is %j', (odd) => {
    const none = { input: 0, output: 0, cached: 0 };
    const usage = { input_tokens: odd, output_tokens: odd, cache_read_input_tokens: odd };
    expect(fed(anthropic(), { type: 'message_start', message: { usage } }).ended().usage).toEqual(none);
    const counts = { prompt_tokens: odd, completion_tokens: odd, prompt_tokens_details: odd };
    expect(fed(chat(), { usage: counts }).ended().usage).toEqual(none);
    const response = { usage: { ...usage, input_tokens_details: odd } };
    expect(fed(responses(), { type: 'response.completed', response }).ended().usage).toEqual(none);
  });
});

describe('an endless response', () => {
  const many = Array.from({ length: 1_001 }, (_, n) => n);
  it.each<readonly [string, () => unknown]>([
    ['chat', () => fed(chat(), ...many.map((n) => chatCall(n, { name: 'x' })))],
    ['anthropic', () => fed(anthropic(), ...many.map((n) => block(n, { type: 'tool_use' })))],
    ['responses', () => fed(responses(), ...many.map((n) => item(n, { type: 'function_call' })))],
  ])('ends at 1,000 calls: %s', (_, feed) => {
    expect(feed).toThrow('more than 1000 blocks');
  });

  const pieces = Array<string>(11).fill('x'.repeat(100_000));
  it.each<readonly [string, () => unknown]>([
    [
      'a text of chat',
      () => fed(chat(), ...pieces.map((content) => ({ choices: [{ delta: { content } }] }))),
    ],
    ['arguments of chat', () => fed(chat(), ...pieces.map((text) => chatCall(0, { arguments: text })))],
    [
      'arguments of Anthropic',
      () =>
        fed(
          anthropic(),
          block(0, { type: 'tool_use' }),
          ...pieces.map((partial_json) => ({
            type: 'content_block_delta',
            index: 0,
            delta: { type: 'input_json_delta', partial_json },
          })),
        ),
    ],
    [
      'a text of Responses',
      () => fed(responses(), ...pieces.map((delta) => ({ type: 'response.output_text.delta', delta }))),
    ],
  ])('ends at a million characters: %s', (_, feed) => {
    expect(feed).toThrow('more than 1048576 characters');
  });
});
