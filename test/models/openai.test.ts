import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DEFAULT_OPENAI_MODEL } from '../../src/config/model-keys.js';
import { LangoError } from '../../src/core/errors.js';
import { silentLogger } from '../../src/core/logger.js';
import { answerText, functionCalls, type FunctionCall, type ModelProvider } from '../../src/core/model.js';
import { createOpenaiProvider, type OpenaiOptions } from '../../src/models/openai/provider.js';
import { describeModelWire } from '../suites/model-wire.js';
import {
  answerOf,
  errorOf,
  modelRequest,
  READ_FILE,
  sentId,
  userMessage,
} from '../support/model-requests.js';
import { API_KEY } from '../support/model-wire.js';
import { DONE, openaiChunk, openaiEvent, openaiUsage, openaiWire } from '../support/openai-wire.js';
import { responsesWire } from '../support/responses-wire.js';
import { events, ScriptedServer, status } from '../support/scripted-server.js';

describeModelWire('The OpenAI provider', openaiWire);
describeModelWire('The OpenAI provider over Responses', responsesWire);

describe('the OpenAI provider', () => {
  it('calls Responses at OpenAI itself, whose models refuse functions on Chat Completions', async () => {
    const asked: string[] = [];
    const refusing = (url: unknown) => {
      asked.push(String(url));
      return Promise.reject(new LangoError('forbidden', 'Not here.'));
    };
    const ask = async (model: string, options: Partial<OpenaiOptions> = {}) => {
      const parts = { model, apiKey: API_KEY, fetch: refusing, logger: silentLogger };
      await errorOf(createOpenaiProvider({ ...parts, ...options }), modelRequest());
    };
    await ask(DEFAULT_OPENAI_MODEL);
    await ask('gpt-4o');
    await ask('llama', { baseUrl: 'http://127.0.0.1:11434/v1' });
    await ask('llama', { baseUrl: 'http://127.0.0.1:11434/v1', api: 'responses' });
    await ask(DEFAULT_OPENAI_MODEL, { api: 'chat' });
    expect(asked).toEqual([
      'https://api.openai.com/v1/responses',
      'https://api.openai.com/v1/chat/completions',
      'http://127.0.0.1:11434/v1/chat/completions',
      'http://127.0.0.1:11434/v1/responses',
      'https://api.openai.com/v1/chat/completions',
    ]);
  });

  it('sends the reasoning of a response back to the model, unless nothing follows it', async () => {
    await using server = await ScriptedServer.open();
    const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAA' };
    const call = { type: 'function_call', call_id: 'call_a', name: 'fs_read', arguments: '{}' };
    const comment = {
      type: 'message',
      phase: 'commentary',
      content: [{ type: 'output_text', text: 'I look.' }],
    };
    const whole = { object: 'response', status: 'completed', output: [reasoning, comment, call] };
    server.willReply(status(200, whole), events(responsesWire.answer({ texts: ['so'], stop: 'end' })));
    const provider = responsesWire.create({
      baseUrl: server.url,
      apiKey: API_KEY,
      effort: 'low',
      temperature: 1,
    });
    const { content, stopReason } = await answerOf(provider, modelRequest({ functions: [READ_FILE] }));
    expect(stopReason).toBe('function-calls');
    const said = { role: 'assistant', author: 'agent', content } as const;
    const image = { kind: 'file', mediaType: 'image/png', bytes: PNG } as const;
    const result = { id: 'call_a', name: 'fs_read', content: 'text', isError: false, images: [image] };
    const cut = { ...said, content: content.slice(0, 1) };
    const messages = [userMessage('go'), said, { role: 'results', results: [result] } as const, cut];
    await answerOf(provider, modelRequest({ messages }));
    const { path, body } = server.requests[1]!;
    expect(path).toBe('/v1/responses');
    expect(body).toEqual({
      model: 'gpt-test',
      max_output_tokens: 1_000,
      reasoning: { effort: 'low' },
      temperature: 1,
      stream: true,
      store: false,
      include: ['reasoning.encrypted_content'],
      input: [
        { role: 'user', content: [{ type: 'input_text', text: 'go' }] },
        reasoning,
        { role: 'assistant', content: 'I look.', phase: 'commentary' },
        { ...call, call_id: sentId('call_a') },
        {
          type: 'function_call_output',
          call_id: sentId('call_a'),
          output: [
            { type: 'input_text', text: 'text' },
            { type: 'input_image', image_url: `data:image/png;base64,${PNG}`, detail: 'auto' },
          ],
        },
      ],
    });
  });
});

/** The first bytes of an image. */
const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]).toString('base64');

describe('the OpenAI provider with compatible servers', () => {
  let server: ScriptedServer;
  let provider: ModelProvider;
  beforeEach(async () => {
    server = await ScriptedServer.open();
    provider = openaiWire.create({ baseUrl: server.url, apiKey: API_KEY });
  });
  afterEach(() => server[Symbol.asyncDispose]());

  const hello = events(openaiWire.answer({ texts: ['hello'], stop: 'end' }));

  /** The calls read from the `tool_calls` of deltas, one chunk each. */
  async function callsFrom(...chunks: readonly (readonly object[])[]): Promise<readonly FunctionCall[]> {
    const deltas = chunks.map((tool_calls) => openaiChunk({ tool_calls }));
    server.willReply(events([...deltas, openaiChunk({}, 'tool_calls'), DONE].join('')));
    return functionCalls((await answerOf(provider, modelRequest())).content);
  }

  it('requests a stream with usage, in the form that all servers understand', async () => {
    server.willReply(hello);
    const system = [
      { text: 'identity', stable: true },
      { text: 'the time', stable: false },
    ];
    await answerOf(provider, modelRequest({ system, functions: [READ_FILE] }));
    const [request] = server.requests;
    expect(request!.path).toBe('/v1/chat/completions');
    expect(request!.body).toEqual({
      model: 'gpt-test',
      max_tokens: 1_000,
      stream: true,
      stream_options: { include_usage: true },
      tools: [
        {
          type: 'function',
          function: {
            name: 'fs_read',
            description: READ_FILE.description,
            parameters: READ_FILE.parameters,
          },
        },
      ],
      messages: [
        { role: 'system', content: 'identity\n\nthe time' },
        { role: 'user', content: 'hello' },
      ],
    });
  });

  it('names the output limit as OpenAI does, on OpenAI’s own host', async () => {
    server.willReply(hello);
    const toServer: typeof fetch = (url, init) =>
      fetch((url as string).replace('https://api.openai.com', server.url), init);
    const own = createOpenaiProvider({
      model: 'gpt-4o',
      apiKey: API_KEY,
      fetch: toServer,
      logger: silentLogger,
    });
    await answerOf(own, modelRequest({ maxTokens: 77 }));
    expect(server.requests[0]!.body).toMatchObject({ max_completion_tokens: 77 });
    expect(server.requests[0]!.body).not.toHaveProperty('max_tokens');
  });

  it('sends no key when none is configured, even when the environment has one', async () => {
    server.willReply(hello, status(401, { error: 'key please' }));
    const held = { OPENAI_API_KEY: API_KEY, OPENAI_ORG_ID: 'org-1', OPENAI_PROJECT_ID: 'project-1' };
    Object.assign(process.env, held);
    try {
      const open = createOpenaiProvider({
        model: 'llama',
        baseUrl: `${server.url}/v1`,
        logger: silentLogger,
      });
      await answerOf(open, modelRequest());
      expect(server.requests[0]!.headers).not.toHaveProperty('authorization');
      expect(JSON.stringify(server.requests[0]!.headers)).not.toMatch(/org-1|project-1/);
      const error = await errorOf(open, modelRequest());
      expect(error.message).toMatch(/requires an API key .* OPENAI_API_KEY or model.apiKey .* key please/);
    } finally {
      for (const name of Object.keys(held)) delete process.env[name];
    }
  });

  it('works without a key', async () => {
    server.willReply(hello);
    const { OPENAI_API_KEY: before } = process.env;
    delete process.env.OPENAI_API_KEY;
    try {
      const open = createOpenaiProvider({
        model: 'llama',
        baseUrl: `${server.url}/v1`,
        logger: silentLogger,
      });
      await expect(answerOf(open, modelRequest())).resolves.toMatchObject({ stopReason: 'end' });
    } finally {
      if (before !== undefined) process.env.OPENAI_API_KEY = before;
    }
  });

  it('sends calls and results, and images after them', async () => {
    server.willReply(hello);
    const image = { kind: 'file', bytes: 'aW1hZ2U=', mediaType: 'image/png' } as const;
    const call = (id: string) =>
      ({ type: 'function-call', id, name: 'fs_read', arguments: { path: id } }) as const;
    await answerOf(
      provider,
      modelRequest({
        messages: [
          userMessage('go'),
          { role: 'assistant', author: 'agent', content: [call('a'), call('b')] },
          {
            role: 'results',
            results: [
              { id: 'a', name: 'fs_read', content: 'a picture', isError: false, images: [image] },
              { id: 'b', name: 'fs_read', content: 'no such file', isError: true },
            ],
          },
          { role: 'user', parts: [{ kind: 'text', text: 'and this' }, image] },
        ],
      }),
    );
    const shown = { type: 'image_url', image_url: { url: 'data:image/png;base64,aW1hZ2U=' } };
    const sent = (id: string) => ({
      id: sentId(id),
      type: 'function',
      function: { name: 'fs_read', arguments: `{"path":"${id}"}` },
    });
    expect(server.requests[0]!.body.messages).toEqual([
      { role: 'user', content: 'go' },
      { role: 'assistant', content: null, tool_calls: [sent('a'), sent('b')] },
      { role: 'tool', tool_call_id: sentId('a'), content: 'a picture' },
      { role: 'tool', tool_call_id: sentId('b'), content: 'Error: no such file' },
      {
        role: 'user',
        content: [
          { type: 'text', text: `From the result of fs_read (${sentId('a')}):` },
          shown,
          { type: 'text', text: 'and this' },
          shown,
        ],
      },
    ]);
  });

  describe('a function call', () => {
    const a = { name: 'fs_read', arguments: '{"path":"a"}' };
    const b = { name: 'fs_read', arguments: '{"path":"b"}' };

    it('is read when its id and name arrive in chunks too', async () => {
      const calls = await callsFrom(
        [{ index: 0, id: 'call_', function: { name: 'fs_' } }],
        [{ index: 0, id: 'x1', function: { arguments: '' } }],
        [{ index: 0, function: { name: 'read', arguments: '{"path":' } }],
        [{ index: 0, function: { arguments: '"a"}' } }],
      );
      expect(calls).toEqual([
        { type: 'function-call', id: 'call_x1', name: 'fs_read', arguments: { path: 'a' } },
      ]);
    });

    it('is read when its id and name are repeated in each chunk', async () => {
      const head = { index: 0, id: 'call_1' };
      const calls = await callsFrom(
        [{ ...head, function: { name: 'fs_read', arguments: '{"path"' } }],
        [{ ...head, function: { name: 'fs_read', arguments: ':"a"}' } }],
      );
      expect(calls).toEqual([
        { type: 'function-call', id: 'call_1', name: 'fs_read', arguments: { path: 'a' } },
      ]);
    });

    it.each<[string, readonly object[], readonly object[]]>([
      ['all have the index 0', [{ index: 0, id: 'x', function: a }], [{ index: 0, id: 'y', function: b }]],
      ['all have the index 0 and no id', [{ index: 0, function: a }], [{ index: 0, id: '', function: b }]],
      ['have neither index nor id', [{ function: a }], [{ function: b }]],
      ['have neither and come at once', [{ function: a }, { function: b }], []],
      [
        'have no index',
        [
          { id: 'x', function: a },
          { id: 'y', function: b },
        ],
        [],
      ],
      ['have the same id', [{ index: 0, id: 'x', function: a }], [{ index: 1, id: 'x', function: b }]],
    ])('is read when it and another one %s', async (_, first, second) => {
      const calls = await callsFrom(first, second);
      expect(calls.map((call) => call.arguments)).toEqual([{ path: 'a' }, { path: 'b' }]);
      expect(new Set(calls.map((call) => call.id)).size).toBe(2);
      expect(calls.every((call) => call.id !== '')).toBe(true);
    });

    it('is read when its arguments are an object, or missing', async () => {
      const calls = await callsFrom(
        [{ index: 0, id: 'x', function: { name: 'fs_read', arguments: { path: 'a' } } }],
        [{ index: 1, id: 'y', function: { name: 'fs_list', arguments: null } }],
      );
      expect(calls.map((call) => call.arguments)).toEqual([{ path: 'a' }, {}]);
    });

    it('is read with the finish reason "stop"', async () => {
      const tool_calls = [{ function: a }];
      server.willReply(events(openaiChunk({ tool_calls }, 'stop')));
      await expect(answerOf(provider, modelRequest())).resolves.toMatchObject({
        stopReason: 'function-calls',
      });
    });
  });

  it('reads a response without [DONE] and without usage, and counts no tokens', async () => {
    server.willReply(events(openaiChunk({ content: 'so' }) + openaiChunk({}, 'stop')));
    await expect(answerOf(provider, modelRequest())).resolves.toEqual({
      content: [{ type: 'text', text: 'so' }],
      stopReason: 'end',
      usage: { input: 0, output: 0, cached: 0 },
    });
  });

  it('reads a response without a finish reason when the server reports its tokens, or leaves all reasons empty', async () => {
    const so = openaiChunk({ content: 'so' });
    const usage = openaiUsage({ prompt_tokens: 9, completion_tokens: 1 });
    server.willReply(events(so + usage + DONE), events(openaiChunk({ content: 'so' }, '') + DONE));
    await expect(answerOf(provider, modelRequest())).resolves.toMatchObject({ stopReason: 'end' });
    await expect(answerOf(provider, modelRequest())).resolves.toMatchObject({ stopReason: 'end' });
    server.willReply(events(so + DONE));
    const once = openaiWire.create({ baseUrl: server.url, apiKey: API_KEY, maxRetries: 0 });
    await expect(errorOf(once, modelRequest())).resolves.toMatchObject({ code: 'overloaded' });
  });

  it('counts cached tokens', async () => {
    const usage = {
      prompt_tokens: 90,
      completion_tokens: 5,
      prompt_tokens_details: { cached_tokens: 64 },
    };
    server.willReply(events(openaiChunk({ content: 'so' }, 'stop') + openaiUsage(usage) + DONE));
    const answer = await answerOf(provider, modelRequest());
    expect(answer.usage).toEqual({ input: 90, output: 5, cached: 64 });
  });

  it.each([
    ['as the only event', ''],
    ['after its deltas', openaiChunk({ content: 'the whole' })],
  ])('reads a whole message instead of deltas, %s', async (_, before) => {
    const choices = [
      { index: 0, message: { role: 'assistant', content: 'the whole' }, finish_reason: 'stop' },
    ];
    server.willReply(events(before + openaiEvent({ choices })));
    const { content } = await answerOf(provider, modelRequest());
    expect(answerText(content)).toBe('the whole');
  });

  it('reads the JSON body of a server that does not stream', async () => {
    const message = {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'x', type: 'function', function: { name: 'f', arguments: '{}' } }],
    };
    server.willReply(
      status(200, {
        choices: [{ index: 0, message, finish_reason: 'tool_calls' }],
        usage: { prompt_tokens: 4 },
      }),
    );
    await expect(answerOf(provider, modelRequest())).resolves.toEqual({
      content: [{ type: 'function-call', id: 'x', name: 'f', arguments: {} }],
      stopReason: 'function-calls',
      usage: { input: 4, output: 0, cached: 0 },
    });
  });

  it('reads content that is a list of parts', async () => {
    const content = [
      { type: 'thinking', thinking: [] },
      { type: 'text', text: 'so' },
    ];
    server.willReply(events(openaiChunk({ content }, 'stop')));
    expect(answerText((await answerOf(provider, modelRequest())).content)).toBe('so');
  });

  it('reports a refusal as one, with its text', async () => {
    server.willReply(
      events(
        openaiChunk({ refusal: 'I cannot ' }) +
          openaiChunk({ refusal: 'do that.' }) +
          openaiChunk({}, 'stop'),
      ),
    );
    const { content, stopReason } = await answerOf(provider, modelRequest());
    expect(stopReason).toBe('refusal');
    expect(answerText(content)).toBe('I cannot do that.');
  });

  it('reads the first choice only', async () => {
    const choice = (index: number, content: string) => ({ index, delta: { content }, finish_reason: 'stop' });
    server.willReply(events(openaiEvent({ choices: [choice(1, 'no'), choice(0, 'yes')] })));
    expect(answerText((await answerOf(provider, modelRequest())).content)).toBe('yes');
  });

  it.each([
    [{ error: { message: 'why', code: 429 } }, 'rate-limited'],
    [{ error: { message: 'why', code: 'rate_limit_exceeded' } }, 'rate-limited'],
    [{ error: { message: 'why', type: 'insufficient_quota' } }, 'rejected'],
    [{ error: 'why' }, 'overloaded'],
    [{ object: 'error', message: 'why', type: 'BadRequestError', code: 400 }, 'rejected'],
  ])('reports the error %j in a stream by its own code', async (data, code) => {
    server.willReply(events(openaiChunk({ content: 'so' }) + openaiEvent(data)));
    const once = openaiWire.create({ baseUrl: server.url, apiKey: API_KEY, maxRetries: 0 });
    const error = await errorOf(once, modelRequest());
    expect(error.code).toBe(code);
    expect(error.message).toContain('why');
  });

  it('reports an empty account as such, not as a rate limit', async () => {
    server.willReply(status(429, { error: { code: 'insufficient_quota', message: 'no credit' } }));
    await expect(errorOf(provider, modelRequest())).resolves.toMatchObject({
      code: 'rejected',
      retryable: false,
    });
    expect(server.requests).toHaveLength(1);
  });
});
