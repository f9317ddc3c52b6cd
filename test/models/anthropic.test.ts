import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../src/core/json.js';
import { answerText, type ModelMessage, type ModelProvider } from '../../src/core/model.js';
import { originOf, type Tuning } from '../../src/models/vendor.js';
import { describeModelWire } from '../suites/model-wire.js';
import {
  anthropicEvent,
  anthropicStream,
  anthropicWire,
  textBlock,
  toolUseBlock,
} from '../support/anthropic-wire.js';
import {
  answerOf,
  collect,
  errorOf,
  modelRequest,
  READ_FILE,
  sentId,
  userMessage,
} from '../support/model-requests.js';
import { API_KEY } from '../support/model-wire.js';
import { events, ScriptedServer, status } from '../support/scripted-server.js';

describeModelWire('The Anthropic provider', anthropicWire);

const THINKING = { type: 'thinking', thinking: 'Let me see.', signature: 'c2lnbmVk' };
const REDACTED = { type: 'redacted_thinking', data: 'b3BhcXVl' };
const THOUGHTS = [
  {
    start: { type: 'thinking', thinking: '', signature: '' },
    deltas: [
      { type: 'thinking_delta', thinking: 'Let me ' },
      { type: 'thinking_delta', thinking: 'see.' },
      { type: 'signature_delta', signature: 'c2lnbmVk' },
    ],
  },
  { start: REDACTED },
];
const CACHE_MARK = { type: 'ephemeral' };

describe('the Anthropic provider', () => {
  let server: ScriptedServer;
  let provider: ModelProvider;
  beforeEach(async () => {
    server = await ScriptedServer.open();
    provider = anthropicWire.create({ baseUrl: server.url, apiKey: API_KEY });
  });
  afterEach(() => server[Symbol.asyncDispose]());

  const hello = events(anthropicWire.answer({ texts: ['hello'], stop: 'end' }));
  const answered = (...content: readonly object[]): ModelMessage =>
    ({ role: 'assistant', author: 'agent', content }) as unknown as ModelMessage;
  /** The messages without their cache marks. */
  /** The origin of the blocks of this model at this server. */
  const origin = () => originOf(provider.id, { api: 'messages', baseUrl: server.url, ownUrl: '' });

  const sentMessages = (number: number) =>
    JSON.parse(
      JSON.stringify(server.requests[number]!.body.messages, (key, value: unknown) =>
        key === 'cache_control' ? undefined : value,
      ),
    ) as { role: string; content: JsonObject[] }[];

  it('calls the Messages API in its version', async () => {
    server.willReply(hello);
    await answerOf(provider, modelRequest());
    const [request] = server.requests;
    expect(request!.path).toBe('/v1/messages');
    expect(request!.headers['anthropic-version']).toMatch(/^\d{4}-\d\d-\d\d$/);
    expect(request!.body).toEqual({
      model: 'claude-test',
      max_tokens: 1_000,
      stream: true,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'hello', cache_control: CACHE_MARK }] }],
    });
  });

  it('marks the stable prefix for the cache: the functions and the last stable block', async () => {
    server.willReply(hello);
    const system = [
      { text: 'identity', stable: true },
      { text: '', stable: true },
      { text: 'rules', stable: true },
      { text: 'the time', stable: false },
    ];
    const list = { ...READ_FILE, name: 'fs_list' };
    await answerOf(provider, modelRequest({ system, functions: [READ_FILE, list] }));
    const { body } = server.requests[0]!;
    expect(body.system).toEqual([
      { type: 'text', text: 'identity' },
      { type: 'text', text: 'rules', cache_control: CACHE_MARK },
      { type: 'text', text: 'the time' },
    ]);
    expect(body.tools).toEqual([
      { name: 'fs_read', description: READ_FILE.description, input_schema: READ_FILE.parameters },
      {
        name: 'fs_list',
        description: READ_FILE.description,
        input_schema: READ_FILE.parameters,
        cache_control: CACHE_MARK,
      },
    ]);
  });

  it('declares functions that were called earlier when none is offered any more, and allows no call of them', async () => {
    server.willReply(hello);
    const results = [{ id: 'a', name: 'fs_read', content: 'text of a', isError: false }];
    const call = { type: 'function-call', id: 'a', name: 'fs_read', arguments: { path: 'a' } } as const;
    const messages = [userMessage('go'), answered(call), { role: 'results', results } as const];
    await answerOf(provider, modelRequest({ functions: [], messages }));
    const { body } = server.requests[0]!;
    expect(body.tools).toMatchObject([{ name: 'fs_read', input_schema: { type: 'object' } }]);
    expect(body.tool_choice).toEqual({ type: 'none' });
  });

  it('sends all results of parallel calls in one user message, with errors and images', async () => {
    server.willReply(hello);
    const call = (id: string) => ({ type: 'function-call', id, name: 'fs_read', arguments: { path: id } });
    const image = { kind: 'file', bytes: 'aW1hZ2U=', mediaType: 'image/png' } as const;
    await answerOf(
      provider,
      modelRequest({
        messages: [
          userMessage('go'),
          answered({ type: 'text', text: 'I look.' }, call('a'), call('b'), call('c')),
          {
            role: 'results',
            results: [
              { id: 'a', name: 'fs_read', content: 'text of a', isError: false },
              { id: 'b', name: 'fs_read', content: 'no such file', isError: true },
              { id: 'c', name: 'fs_read', content: '', isError: false, images: [image] },
            ],
          },
        ],
      }),
    );
    expect(sentMessages(0)).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'go' }] },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'I look.' },
          { type: 'tool_use', id: sentId('a'), name: 'fs_read', input: { path: 'a' } },
          { type: 'tool_use', id: sentId('b'), name: 'fs_read', input: { path: 'b' } },
          { type: 'tool_use', id: sentId('c'), name: 'fs_read', input: { path: 'c' } },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: sentId('a'), content: [{ type: 'text', text: 'text of a' }] },
          {
            type: 'tool_result',
            tool_use_id: sentId('b'),
            content: [{ type: 'text', text: 'no such file' }],
            is_error: true,
          },
          {
            type: 'tool_result',
            tool_use_id: sentId('c'),
            content: [
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aW1hZ2U=' } },
            ],
          },
        ],
      },
    ]);
  });

  it('sends images, and describes other files as text', async () => {
    server.willReply(hello);
    await answerOf(
      provider,
      modelRequest({
        messages: [
          {
            role: 'user',
            parts: [
              { kind: 'file', bytes: 'aW1hZ2U=', mediaType: 'image/jpeg' },
              { kind: 'file', bytes: 'aW1hZ2U=', mediaType: 'image/tiff' },
              { kind: 'file', bytes: 'aW1hZ2U=', mediaType: 'application/pdf', filename: 'a.pdf' },
              { kind: 'file', url: 'https://example.org/a.png', mediaType: 'image/png' },
              { kind: 'data', data: { answer: 42 } },
            ],
          },
        ],
      }),
    );
    expect(sentMessages(0)[0]!.content).toEqual([
      { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: 'aW1hZ2U=' } },
      { type: 'text', text: '[file (image/tiff, 5 bytes), contents not shown]' },
      { type: 'text', text: '[file "a.pdf" (application/pdf, 5 bytes), contents not shown]' },
      { type: 'text', text: '[file (image/png) at https://example.org/a.png]' },
      { type: 'text', text: '{"answer":42}' },
    ]);
  });

  it('keeps thinking blocks unchanged, and sends them back in their place', async () => {
    server.willReply(
      events(
        anthropicStream({
          blocks: [...THOUGHTS, textBlock('I look.'), toolUseBlock('toolu_1', 'fs_read', '{}')],
          stopReason: 'tool_use',
        }),
      ),
      hello,
    );
    const { content } = await answerOf(provider, modelRequest());
    expect(content).toEqual([
      { type: 'opaque', provider: origin(), block: THINKING },
      { type: 'opaque', provider: origin(), block: REDACTED },
      { type: 'text', text: 'I look.' },
      { type: 'function-call', id: 'toolu_1', name: 'fs_read', arguments: {} },
    ]);
    const results = [{ id: 'toolu_1', name: 'fs_read', content: 'ok', isError: false }];
    await answerOf(
      provider,
      modelRequest({ messages: [userMessage('go'), answered(...content), { role: 'results', results }] }),
    );
    expect(sentMessages(1)[1]!.content).toEqual([
      THINKING,
      REDACTED,
      { type: 'text', text: 'I look.' },
      { type: 'tool_use', id: sentId('toolu_1'), name: 'fs_read', input: {} },
    ]);
  });

  it('sends a thinking budget within the output limit, and none for work that another model began', async () => {
    const call = { type: 'function-call', id: 'a', name: 'fs_read', arguments: {} };
    const thought = { type: 'opaque', provider: origin(), block: THINKING };
    const result = { id: 'a', name: 'fs_read', content: 'text', isError: false };
    const results = { role: 'results', results: [result] } as const;
    const go = userMessage('go');
    const ask = async (thinking: Tuning['thinking'], maxTokens: number, ...messages: ModelMessage[]) => {
      server.willReply(hello);
      const thinker = anthropicWire.create({ baseUrl: server.url, apiKey: API_KEY, thinking });
      await answerOf(thinker, modelRequest({ messages: [go, ...messages], maxTokens }));
      return server.requests.at(-1)!.body.thinking;
    };
    const budget = { type: 'enabled', budget_tokens: 2_999 };
    expect(await ask(8_000, 3_000)).toEqual(budget);
    expect(await ask(8_000, 3_000, answered(thought, call), results)).toEqual(budget);
    expect(await ask(8_000, 3_000, answered(call), results)).toBeUndefined();
    expect(await ask(8_000, 1_000)).toBeUndefined();
    expect(await ask('off', 1_000)).toEqual({ type: 'disabled' });
    expect(await ask('adaptive', 1_000)).toEqual({ type: 'adaptive' });
  });

  it('does not send thinking blocks of another model, nor a message that ends with one', async () => {
    server.willReply(hello);
    const foreign = { type: 'opaque', provider: 'anthropic/claude-other', block: THINKING };
    const own = { ...foreign, provider: origin() };
    const text = { type: 'text', text: 'yes' };
    await answerOf(
      provider,
      modelRequest({
        messages: [
          userMessage('a'),
          answered(foreign, text, own),
          userMessage('b'),
          answered(own),
          userMessage('c'),
        ],
      }),
    );
    expect(sentMessages(0)).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'a' }] },
      { role: 'assistant', content: [text] },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'b' },
          { type: 'text', text: 'c' },
        ],
      },
    ]);
  });

  it('drops a thinking block that was cut short', async () => {
    const [thought] = THOUGHTS;
    const cut = { start: thought!.start, deltas: thought!.deltas!.slice(0, 1) };
    server.willReply(events(anthropicStream({ blocks: [cut], stopReason: 'max_tokens' })));
    await expect(answerOf(provider, modelRequest())).resolves.toMatchObject({
      content: [],
      stopReason: 'max-tokens',
    });
  });

  it('counts tokens written to and read from the cache as input', async () => {
    server.willReply(
      events(
        anthropicStream({
          blocks: [textBlock('so')],
          stopReason: 'end_turn',
          usage: {
            start: { input_tokens: 3, cache_creation_input_tokens: 40, cache_read_input_tokens: 500 },
            end: { output_tokens: 9, input_tokens: null, cache_read_input_tokens: null },
          },
        }),
      ),
    );
    const { usage } = await answerOf(provider, modelRequest());
    expect(usage).toEqual({ input: 543, output: 9, cached: 500, written: 40 });
  });

  it('reads a stop sequence as an end, and an unknown stop reason as a failure', async () => {
    const ended = (stopReason: string) => events(anthropicStream({ blocks: [textBlock('so')], stopReason }));
    server.willReply(ended('stop_sequence'), ended('something_new'));
    await expect(answerOf(provider, modelRequest())).resolves.toMatchObject({ stopReason: 'end' });
    const once = anthropicWire.create({ baseUrl: server.url, apiKey: API_KEY, maxRetries: 0 });
    const error = await errorOf(once, modelRequest());
    expect(error).toMatchObject({ code: 'overloaded', retryable: true });
    expect(error.message).toContain('"something_new"');
  });

  it('reads the input that comes with the start of a call', async () => {
    const start = { type: 'tool_use', id: 'toolu_1', name: 'fs_read', input: { path: 'a' } };
    server.willReply(events(anthropicStream({ blocks: [{ start }], stopReason: 'tool_use' })));
    const { content } = await answerOf(provider, modelRequest());
    expect(content).toEqual([
      { type: 'function-call', id: 'toolu_1', name: 'fs_read', arguments: { path: 'a' } },
    ]);
  });

  it('keeps the text that filled the window, and reports a window without room for any', async () => {
    const stopReason = 'model_context_window_exceeded';
    server.willReply(events(anthropicStream({ blocks: [textBlock('so')], stopReason })));
    const answer = await answerOf(provider, modelRequest());
    expect([answerText(answer.content), answer.stopReason]).toEqual(['so', 'context-window']);
    server.willReply(events(anthropicStream({ blocks: [], stopReason })));
    const error = await errorOf(provider, modelRequest());
    expect(error).toMatchObject({ code: 'rejected', retryable: false, about: 'length' });
    expect(error.message).toContain('does not fit');
  });

  it.each([
    ['overloaded_error', 'overloaded', true],
    ['api_error', 'overloaded', true],
    ['rate_limit_error', 'rate-limited', true],
    ['invalid_request_error', 'rejected', false],
    ['authentication_error', 'rejected', false],
    ['some_new_error', 'overloaded', true],
  ])('reports the error event %s as %s', async (type, code, retryable) => {
    server.willReply(
      events(
        anthropicWire.beginning('so') + anthropicEvent({ type: 'error', error: { type, message: 'why' } }),
      ),
    );
    const once = anthropicWire.create({ baseUrl: server.url, apiKey: API_KEY, maxRetries: 0 });
    await expect(errorOf(once, modelRequest())).resolves.toMatchObject({ code, retryable });
  });

  it.each([
    { type: 'billing_error', message: 'no credit' },
    {
      type: 'rate_limit_error',
      message: 'no credit',
      details: { error_code: 'contract_spend_limit_reached' },
    },
  ])('reports missing credit as such, not as a rate limit (%j)', async (error) => {
    server.willReply(status(429, { type: 'error', error }));
    await expect(errorOf(provider, modelRequest())).resolves.toMatchObject({
      code: 'rejected',
      retryable: false,
    });
    expect(server.requests).toHaveLength(1);
  });

  describe('a paused response', () => {
    const search = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} };
    const paused = anthropicStream({
      blocks: [
        textBlock('I search. '),
        { start: search, deltas: [{ type: 'input_json_delta', partial_json: '{"query":"a"}' }] },
      ],
      stopReason: 'pause_turn',
      usage: { end: { output_tokens: 100 } },
    });

    it('is continued by sending it back, as one response with the usage of both parts', async () => {
      server.willReply(events(paused), hello);
      const got = await collect(provider, modelRequest({ maxTokens: 1_000 }));
      expect(got.map((event) => (event.type === 'text' ? event.text : event.type))).toEqual([
        'I search. ',
        'hello',
        'end',
      ]);
      const whole = { ...search, input: { query: 'a' } };
      expect(server.requests[1]!.body.max_tokens).toBe(900);
      expect(sentMessages(1)).toEqual([
        { role: 'user', content: [{ type: 'text', text: 'hello' }] },
        { role: 'assistant', content: [{ type: 'text', text: 'I search. ' }, whole] },
      ]);
      expect(got.at(-1)).toEqual({
        type: 'end',
        answer: {
          content: [
            { type: 'text', text: 'I search. ' },
            { type: 'opaque', provider: origin(), block: whole },
            { type: 'text', text: 'hello' },
          ],
          stopReason: 'end',
          usage: { input: 50, output: 107, cached: 0 },
        },
      });
    });

    it('is continued until the output limit is used up', async () => {
      server.willReply(events(paused), events(paused), hello);
      const { stopReason, content } = await answerOf(provider, modelRequest({ maxTokens: 150 }));
      expect(stopReason).toBe('max-tokens');
      expect(answerText(content)).toBe('I search. I search. ');
      expect(server.requests).toHaveLength(2);
    });

    it('is continued a limited number of times', async () => {
      server.willReply(...Array<typeof hello>(50).fill(events(paused)));
      await expect(errorOf(provider, modelRequest({ maxTokens: 100_000 }))).resolves.toMatchObject({
        code: 'bad-answer',
      });
      expect(server.requests).toHaveLength(9);
    });
  });
});
