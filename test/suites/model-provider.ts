import type { IncomingHttpHeaders } from 'node:http';
import nodeFetch from 'node-fetch';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { LangoError } from '../../src/core/errors.js';
import type { JsonObject } from '../../src/core/json.js';
import type { Logger } from '../../src/core/logger.js';
import {
  answerText,
  functionCalls,
  type ModelEvent,
  type ModelProvider,
  type ModelRequest,
  type StopReason,
  type Usage,
} from '../../src/core/model.js';
import {
  answerOf,
  collect,
  errorOf,
  modelRequest,
  READ_FILE,
  userMessage,
} from '../support/model-requests.js';
import { RecordingLogger } from '../support/recording-logger.js';
import {
  cutEvents,
  events,
  eventsByByte,
  hangingEvents,
  reset,
  ScriptedServer,
  silence,
  status,
} from '../support/scripted-server.js';

/** A provider under the contract, and requests of which it is known how they are answered. */
export interface ProviderSubject {
  readonly provider: ModelProvider;
  /** Is answered with text. */
  readonly textRequest: ModelRequest;
  /** Is answered with at least one call of an offered function. */
  readonly callRequest: ModelRequest;
  close(): Promise<void>;
}

/** What core's contract promises of each provider, whatever is behind it. */
export function describeModelProvider(name: string, open: () => Promise<ProviderSubject>): void {
  describe(`${name} keeps the contract of a model provider`, () => {
    let subject: ProviderSubject;
    beforeEach(async () => {
      subject = await open();
    });
    afterEach(() => subject.close());

    it('names itself', () => {
      expect(subject.provider.id).toMatch(/^[a-z]+(\/\S+)?$/);
    });

    it('hands out text and then exactly one end that holds all of it', async () => {
      const got = await collect(subject.provider, subject.textRequest);
      const texts = got.flatMap((event) => (event.type === 'text' ? [event.text] : []));
      const end = got.at(-1);
      expect(texts.length).toBeGreaterThan(0);
      expect(texts.every((text) => text !== '')).toBe(true);
      expect(got).toHaveLength(texts.length + 1);
      if (end?.type !== 'end') throw new Error('no end');
      expect(answerText(end.answer.content)).toBe(texts.join(''));
      expect(end.answer.stopReason).toBe('end');
      expect(functionCalls(end.answer.content)).toEqual([]);
    });

    it('counts tokens in whole numbers', async () => {
      const { usage } = await answerOf(subject.provider, subject.textRequest);
      for (const count of [usage.input, usage.output, usage.cached]) {
        expect(Number.isInteger(count) && count >= 0).toBe(true);
      }
      expect(usage.cached).toBeLessThanOrEqual(usage.input);
    });

    it('calls offered functions, each under an id of its own', async () => {
      const { content, stopReason } = await answerOf(subject.provider, subject.callRequest);
      const calls = functionCalls(content);
      const offered = subject.callRequest.functions.map((offer) => offer.name);
      expect(stopReason).toBe('function-calls');
      expect(calls.length).toBeGreaterThan(0);
      expect(new Set(calls.map((call) => call.id)).size).toBe(calls.length);
      for (const call of calls) {
        expect(call.id).not.toBe('');
        expect(offered).toContain(call.name);
        expect(typeof call.arguments).toBe('object');
      }
    });

    it('goes on from its own answer and the results of its calls', async () => {
      const { content } = await answerOf(subject.provider, subject.callRequest);
      const results = functionCalls(content).map(({ id, name }) => ({
        id,
        name,
        content: 'done',
        isError: false,
      }));
      const next = await collect(subject.provider, {
        ...subject.callRequest,
        messages: [
          ...subject.callRequest.messages,
          { role: 'assistant', author: 'agent', content },
          { role: 'results', results },
        ],
      });
      expect(next.at(-1)?.type).toBe('end');
    });

    it('passes over opaque blocks of another provider', async () => {
      const { textRequest, provider } = subject;
      const foreign = { type: 'opaque', provider: 'somebody/else', block: { type: 'thinking' } } as const;
      const got = await collect(provider, {
        ...textRequest,
        messages: [
          userMessage('before'),
          { role: 'assistant', author: 'agent', content: [foreign, { type: 'text', text: 'yes?' }] },
          ...textRequest.messages,
        ],
      });
      expect(got.at(-1)?.type).toBe('end');
    });

    it('leaves the request as it is', async () => {
      const { signal, ...rest } = subject.callRequest;
      await expect(
        answerOf(subject.provider, { ...deepFreeze(structuredClone(rest)), signal }),
      ).resolves.toBeDefined();
    });

    it('keeps streams apart that run at once', async () => {
      const { provider, textRequest, callRequest } = subject;
      const [text, call, again] = await Promise.all([
        answerOf(provider, textRequest),
        answerOf(provider, callRequest),
        answerOf(provider, textRequest),
      ]);
      expect(functionCalls(text.content)).toEqual([]);
      expect(functionCalls(call.content).length).toBeGreaterThan(0);
      expect(answerText(again.content)).toBe(answerText(text.content));
    });

    it('says canceled and nothing else when it was aborted before the start', async () => {
      const got = await collect(subject.provider, { ...subject.textRequest, signal: AbortSignal.abort() });
      expect(got).toEqual([expect.objectContaining({ type: 'error', code: 'canceled', retryable: false })]);
    });

    it('says canceled, last, when it is aborted after the first text', async () => {
      const controller = new AbortController();
      const got: ModelEvent[] = [];
      for await (const event of subject.provider.stream({
        ...subject.textRequest,
        signal: controller.signal,
      })) {
        got.push(event);
        controller.abort();
      }
      expect(got.map((event) => event.type)).toEqual(['text', 'error']);
      expect(got[1]).toMatchObject({ code: 'canceled', retryable: false });
    });

    it('can be left early and asked again', async () => {
      for await (const event of subject.provider.stream(subject.textRequest)) {
        expect(event.type).toBe('text');
        break;
      }
      await expect(answerOf(subject.provider, subject.textRequest)).resolves.toMatchObject({
        stopReason: 'end',
      });
    });
  });
}

/** An answer in no vendor's words. */
export interface AnswerScript {
  readonly texts?: readonly string[];
  /** `json`: the arguments' text in the pieces in which it is sent. */
  readonly calls?: readonly {
    readonly id: string;
    readonly name: string;
    readonly json: readonly string[];
  }[];
  readonly stop: StopReason;
}

export interface WireOptions {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly maxRetries?: number;
  readonly timeoutMs?: number;
  readonly logger?: Logger;
  readonly fetch?: typeof fetch;
}

/** A vendor's wire format, for the suite below. */
export interface ModelWire {
  create(options: WireOptions): ModelProvider;
  /** The event stream of a whole answer; it says that `usage` tokens were used. */
  answer(script: AnswerScript): string;
  /** The beginning of the stream of an answer that has said `text` so far. */
  beginning(text: string): string;
  /** An error inside a stream. */
  streamError(code: 'overloaded' | 'rate-limited' | 'rejected', message: string): string;
  /** The body of an HTTP error. */
  errorBody(message: string): JsonObject;
  readonly usage: Usage;
  /** The API key in a request's headers. */
  key(headers: IncomingHttpHeaders): string | undefined;
  /** A request's body; `messages` are one line a turn: "user: result a | text", "assistant: text | call a". */
  sent(body: JsonObject): {
    readonly maxTokens: number;
    readonly functions: readonly { readonly name: string; readonly parameters: object }[];
    readonly messages: readonly string[];
  };
}

const KEY = 'sk-very-secret-0123456789';

/** What each provider that talks to a vendor over HTTP must hold on top of the contract. */
export function describeModelWire(name: string, wire: ModelWire): void {
  let server: ScriptedServer;
  let provider: ModelProvider;
  beforeEach(async () => {
    server = await ScriptedServer.open();
    provider = create();
  });
  afterEach(() => server[Symbol.asyncDispose]());

  const create = (options: Partial<WireOptions> = {}): ModelProvider =>
    wire.create({ baseUrl: server.url, apiKey: KEY, ...options });
  const hello = events(wire.answer({ texts: ['hello'], stop: 'end' }));

  describeModelProvider(name, async () => {
    const own = await ScriptedServer.open();
    const textAnswer = wire.answer({ texts: ['one ', 'two ', 'three'], stop: 'end' });
    const callAnswer = wire.answer({
      calls: [
        { id: 'call_a', name: 'fs_read', json: ['{"path":', '"a"}'] },
        { id: 'call_b', name: 'fs_read', json: ['{"path":"b"}'] },
      ],
      stop: 'function-calls',
    });
    own.willReply(
      ...Array<typeof hello>(4).fill((response, { body }) =>
        events(body.tools ? callAnswer : textAnswer)(response, own.requests[0]!),
      ),
    );
    return {
      provider: wire.create({ baseUrl: own.url, apiKey: KEY }),
      textRequest: modelRequest(),
      callRequest: modelRequest({ messages: [userMessage('read a and b')], functions: [READ_FILE] }),
      close: () => own[Symbol.asyncDispose](),
    };
  });

  describe(`${name} asks`, () => {
    it('with the key, the answer limit and the functions', async () => {
      server.willReply(hello);
      await answerOf(provider, modelRequest({ maxTokens: 321, functions: [READ_FILE] }));
      const [request] = server.requests;
      const sent = wire.sent(request!.body);
      expect(wire.key(request!.headers)).toBe(KEY);
      expect(sent.maxTokens).toBe(321);
      expect(sent.functions).toEqual([{ name: 'fs_read', parameters: READ_FILE.parameters }]);
    });

    it('with neighboring user messages as one and without blank text', async () => {
      server.willReply(hello);
      await answerOf(
        provider,
        modelRequest({
          messages: [
            userMessage('one'),
            userMessage(''),
            userMessage('two'),
            { role: 'assistant', author: 'agent', content: [{ type: 'text', text: ' ' }] },
            userMessage('three'),
            { role: 'assistant', author: 'agent', content: [{ type: 'text', text: 'yes' }] },
            { role: 'assistant', author: 'other', content: [{ type: 'text', text: 'no' }] },
            userMessage('four'),
          ],
        }),
      );
      expect(
        wire.sent(server.requests[0]!.body).messages.map((line) => line.replace('yesno', 'yes | no')),
      ).toEqual(['user: one | two | three', 'assistant: yes | no', 'user: four']);
    });

    it('with all results right after their calls, in the order of the calls', async () => {
      server.willReply(hello);
      const call = (id: string) => ({ type: 'function-call', id, name: 'fs_read', arguments: {} }) as const;
      const result = (id: string) => ({ id, name: 'fs_read', content: `of ${id}`, isError: false });
      await answerOf(
        provider,
        modelRequest({
          messages: [
            userMessage('go'),
            { role: 'assistant', author: 'agent', content: [call('a'), call('b')] },
            { role: 'results', results: [result('b')] },
            { role: 'results', results: [result('a')] },
            userMessage('and then'),
          ],
        }),
      );
      expect(wire.sent(server.requests[0]!.body).messages).toEqual([
        'user: go',
        'assistant: call a | call b',
        'user: result a | result b | and then',
      ]);
    });

    it('with a result for a call that was interrupted, and without one whose call is gone', async () => {
      server.willReply(hello);
      const call = (id: string) => ({ type: 'function-call', id, name: 'fs_read', arguments: {} }) as const;
      await answerOf(
        provider,
        modelRequest({
          messages: [
            { role: 'results', results: [{ id: 'gone', name: 'fs_read', content: '?', isError: false }] },
            userMessage('go'),
            { role: 'assistant', author: 'agent', content: [call('a')] },
            { role: 'assistant', author: 'agent', content: [call('b')] },
            userMessage('well?'),
          ],
        }),
      );
      expect(wire.sent(server.requests[0]!.body).messages).toEqual([
        'user: go',
        'assistant: call a',
        'user: result a',
        'assistant: call b',
        'user: result b | well?',
      ]);
    });

    it('over a connection that it keeps for the next answer', async () => {
      for (let count = 0; count < 6; count++) {
        server.willReply(hello);
        await answerOf(provider, modelRequest());
      }
      expect(server.connections).toBeLessThan(6);
    });

    it('through the fetch it was given, node-fetch too', async () => {
      server.willReply(
        status(429, wire.errorBody('wait'), { 'retry-after': '0' }),
        hello,
        hangingEvents(wire.beginning('so')),
      );
      const given = create({ fetch: nodeFetch as unknown as typeof fetch });
      await expect(answerOf(given, modelRequest())).resolves.toMatchObject({ stopReason: 'end' });
      const controller = new AbortController();
      const failed = errorOf(given, modelRequest({ signal: controller.signal }));
      const request = await server.request(2);
      controller.abort();
      await expect(failed).resolves.toMatchObject({ code: 'canceled' });
      await request.abandoned;
    });

    it('and says why the fetch it was given refuses', async () => {
      const refusing = () =>
        Promise.reject(new LangoError('forbidden', 'Private addresses are not allowed.'));
      await expect(errorOf(create({ fetch: refusing }), modelRequest())).resolves.toMatchObject({
        code: 'rejected',
        message: 'Private addresses are not allowed.',
      });
    });
  });

  describe(`${name} reads`, () => {
    it('characters and events that are split across chunks', async () => {
      server.willReply(eventsByByte(wire.answer({ texts: ['Grüße ', '你好 🎉'], stop: 'end' })));
      const { content } = await answerOf(provider, modelRequest());
      expect(answerText(content)).toBe('Grüße 你好 🎉');
    });

    it('events that end in CRLF, comments and unknown events', async () => {
      const stream = wire.answer({ texts: ['a', 'b'], stop: 'end' });
      const noisy = `: comment\n\nevent: brand_new\ndata: not JSON\n\n${stream}`.replaceAll('\n', '\r\n');
      server.willReply(events(noisy));
      expect(answerText((await answerOf(provider, modelRequest())).content)).toBe('ab');
    });

    it('text and parallel calls whose arguments come in pieces', async () => {
      server.willReply(
        events(
          wire.answer({
            texts: ['I look.'],
            calls: [
              { id: 'call_a', name: 'fs_read', json: ['{"pa', 'th":"a', '.txt"}'] },
              { id: 'call_b', name: 'fs_list', json: ['{"path":"b"}'] },
              { id: 'call_c', name: 'fs_stat', json: [] },
            ],
            stop: 'function-calls',
          }),
        ),
      );
      const answer = await answerOf(provider, modelRequest({ functions: [READ_FILE] }));
      expect(answer).toEqual({
        content: [
          { type: 'text', text: 'I look.' },
          { type: 'function-call', id: 'call_a', name: 'fs_read', arguments: { path: 'a.txt' } },
          { type: 'function-call', id: 'call_b', name: 'fs_list', arguments: { path: 'b' } },
          { type: 'function-call', id: 'call_c', name: 'fs_stat', arguments: {} },
        ],
        stopReason: 'function-calls',
        usage: wire.usage,
      });
    });

    it.each([
      ['JSON that breaks off', '{"path": "a'],
      ['a list', '["a"]'],
      ['a string', '"a"'],
      ['prose', 'the file a'],
    ])('arguments that are %s as invalid, not as a failure', async (_, json) => {
      server.willReply(
        events(
          wire.answer({
            calls: [{ id: 'call_a', name: 'fs_read', json: [json] }],
            stop: 'function-calls',
          }),
        ),
      );
      const { content } = await answerOf(provider, modelRequest({ functions: [READ_FILE] }));
      expect(content).toEqual([
        { type: 'function-call', id: 'call_a', name: 'fs_read', arguments: undefined, invalid: json },
      ]);
    });

    it('no more than 2,000 characters of invalid arguments, and sends them back as an object', async () => {
      server.willReply(
        events(
          wire.answer({ calls: [{ id: 'a', name: 'f', json: ['x'.repeat(5_000)] }], stop: 'function-calls' }),
        ),
        hello,
      );
      const { content } = await answerOf(provider, modelRequest());
      expect(functionCalls(content)[0]!.invalid).toHaveLength(2_000);
      await answerOf(
        provider,
        modelRequest({
          messages: [
            userMessage('go'),
            { role: 'assistant', author: 'agent', content },
            { role: 'results', results: [{ id: 'a', name: 'f', content: 'no', isError: true }] },
          ],
        }),
      );
      expect(JSON.stringify(server.requests[1]!.body)).toContain('INVALID_JSON');
    });

    it.each<StopReason>(['end', 'max-tokens', 'refusal'])('the stop reason %s', async (stop) => {
      server.willReply(events(wire.answer({ texts: ['so'], stop })));
      await expect(answerOf(provider, modelRequest())).resolves.toMatchObject({ stopReason: stop });
    });

    it('a whole answer although the connection breaks after it', async () => {
      server.willReply(cutEvents(wire.answer({ texts: ['so'], stop: 'end' })));
      await expect(answerOf(provider, modelRequest())).resolves.toMatchObject({ stopReason: 'end' });
    });
  });

  describe(`${name} tries again`, () => {
    const soon = { 'retry-after': '0' };

    it.each([429, 500, 502, 503, 529, 408])('after HTTP %d', async (code) => {
      server.willReply(status(code, wire.errorBody('not now'), soon), hello);
      await expect(answerOf(provider, modelRequest())).resolves.toMatchObject({ stopReason: 'end' });
      expect(server.requests).toHaveLength(2);
    });

    it('after a lost connection, without being told when', async () => {
      server.willReply(reset, hello);
      await expect(answerOf(provider, modelRequest())).resolves.toMatchObject({ stopReason: 'end' });
    });

    it('after an overload inside a stream that said nothing yet', async () => {
      server.willReply(events(wire.beginning('') + wire.streamError('overloaded', 'busy')), hello);
      const got = await collect(provider, modelRequest());
      expect(got.map((event) => event.type)).toEqual(['text', 'end']);
    });

    it('only as often as allowed, and then says what was wrong', async () => {
      const logger = new RecordingLogger();
      server.willReply(...Array<typeof hello>(9).fill(status(503, wire.errorBody('too busy'), soon)));
      const got = await collect(create({ maxRetries: 2, logger }), modelRequest());
      expect(got).toEqual([expect.objectContaining({ type: 'error', code: 'overloaded', retryable: true })]);
      expect((got[0] as { message: string }).message).toContain('too busy');
      expect(server.requests).toHaveLength(3);
      expect(logger.lines).toHaveLength(2);
    });

    it('not once text was handed out', async () => {
      server.willReply(events(wire.beginning('so') + wire.streamError('overloaded', 'busy')), hello);
      const got = await collect(provider, modelRequest());
      expect(got).toEqual([
        { type: 'text', text: 'so' },
        expect.objectContaining({ type: 'error', code: 'overloaded', retryable: true }),
      ]);
      expect(server.requests).toHaveLength(1);
    });

    it('not when it is asked to wait for an hour', async () => {
      server.willReply(status(429, wire.errorBody('slow down'), { 'retry-after': '3600' }), hello);
      await expect(errorOf(provider, modelRequest())).resolves.toMatchObject({
        code: 'rate-limited',
        retryable: true,
      });
      expect(server.requests).toHaveLength(1);
    });

    it('no more when it is canceled while it waits', async () => {
      const logger = new RecordingLogger();
      const controller = new AbortController();
      server.willReply(status(429, wire.errorBody('slow down'), { 'retry-after': '50' }), hello);
      const failed = errorOf(create({ logger }), modelRequest({ signal: controller.signal }));
      await logger.saying('is repeated');
      controller.abort();
      await expect(failed).resolves.toMatchObject({ code: 'canceled' });
      expect(server.requests).toHaveLength(1);
    });
  });

  describe(`${name} fails with words`, () => {
    it.each([
      [400, 'model.name'],
      [401, 'API_KEY'],
      [403, 'API_KEY'],
      [402, 'credit'],
      [404, 'model.name'],
      [413, 'too large'],
    ])('on HTTP %d, at once', async (code, words) => {
      server.willReply(status(code, wire.errorBody('the vendor says so')), hello);
      const error = await errorOf(provider, modelRequest());
      expect(error).toMatchObject({ code: 'rejected', retryable: false });
      expect(error.message).toContain(words);
      expect(error.message).toContain('the vendor says so');
      expect(server.requests).toHaveLength(1);
    });

    it('when nothing listens', async () => {
      const baseUrl = server.url;
      const closed = wire.create({ baseUrl, apiKey: KEY, maxRetries: 0 });
      const { host } = new URL(baseUrl);
      await server[Symbol.asyncDispose]();
      const error = await errorOf(closed, modelRequest());
      server = await ScriptedServer.open();
      expect(error).toMatchObject({ code: 'unreachable', retryable: true });
      expect(error.message).toContain(host);
      expect(error.message).toContain('nothing listens');
    });

    it.each([
      ['is cut', cutEvents],
      ['just ends', events],
    ])('when a stream %s in the middle', async (_, reply) => {
      server.willReply(reply(wire.beginning('so')));
      const got = await collect(provider, modelRequest());
      expect(got).toEqual([
        { type: 'text', text: 'so' },
        expect.objectContaining({ type: 'error', code: 'unreachable', retryable: true }),
      ]);
    });

    it.each([
      ['before it answers', silence],
      ['in the middle of its answer', hangingEvents(wire.beginning(''))],
    ])('when the server falls silent %s, and closes the request', async (_, reply) => {
      server.willReply(reply);
      const error = await errorOf(create({ timeoutMs: 60, maxRetries: 0 }), modelRequest());
      expect(error).toMatchObject({ code: 'unreachable', retryable: true });
      expect(error.message).toContain('0.06 s');
      await server.requests[0]!.abandoned;
    });

    it('on a web page instead of an event stream', async () => {
      server.willReply(status(200, '<html>Welcome</html>', { 'content-type': 'text/html' }));
      const error = await errorOf(provider, modelRequest());
      expect(error).toMatchObject({ code: 'bad-answer', retryable: false });
      expect(error.message).toContain('text/html');
    });

    it('on JSON that is no answer instead of an event stream', async () => {
      server.willReply(status(200, { status: 'ok' }));
      await expect(errorOf(provider, modelRequest())).resolves.toMatchObject({ code: 'bad-answer' });
    });

    it.each(['{"type": "message_start"', '[]', '17'])('on the event %s', async (data) => {
      server.willReply(events(`data: ${data}\n\n`));
      await expect(errorOf(provider, modelRequest())).resolves.toMatchObject({ code: 'bad-answer' });
    });

    it.each([
      ['overloaded', true],
      ['rate-limited', true],
      ['rejected', false],
    ] as const)('on the error "%s" inside a stream', async (code, retryable) => {
      server.willReply(events(wire.beginning('so') + wire.streamError(code, 'the vendor says so')));
      const got = await collect(provider, modelRequest());
      expect(got).toEqual([
        { type: 'text', text: 'so' },
        {
          type: 'error',
          code,
          retryable,
          message: expect.stringContaining('the vendor says so') as unknown,
        },
      ]);
    });

    it('that never hold the key, nor does its log', async () => {
      const logger = new RecordingLogger();
      const echo = `Incorrect API key provided: ${KEY}.`;
      server.willReply(
        status(503, wire.errorBody(echo), { 'retry-after': '0' }),
        status(401, wire.errorBody(echo)),
        events(wire.beginning('so') + wire.streamError('rejected', echo)),
        status(400, echo, { 'content-type': 'text/plain' }),
      );
      const watched = create({ logger });
      for (let count = 0; count < 3; count++) {
        const error = await errorOf(watched, modelRequest());
        expect(error.message).toContain('Incorrect API key provided: [API key]');
      }
      expect(logger.lines.join()).toContain('Incorrect API key');
      expect(logger.lines.join()).not.toContain(KEY);
    });

    it('on a redirect, which would carry the key elsewhere', async () => {
      await using elsewhere = await ScriptedServer.open();
      elsewhere.willReply(hello);
      server.willReply((response) => {
        response.writeHead(307, { location: elsewhere.url }).end();
      });
      const error = await errorOf(provider, modelRequest());
      expect(error).toMatchObject({ code: 'rejected', retryable: false });
      expect(error.message).toContain('model.baseUrl');
      expect(elsewhere.requests).toEqual([]);
    });

    it('when its base URL is none, as soon as it is made', () => {
      expect(() => create({ baseUrl: 'file:///etc' })).toThrow(/not a web address/);
      expect(() => create({ baseUrl: 'nonsense' })).toThrow(/not a web address/);
    });
  });

  describe(`${name} closes the HTTP request`, () => {
    it('when it is canceled in the middle of an answer', async () => {
      const controller = new AbortController();
      server.willReply(hangingEvents(wire.beginning('so')));
      const got: ModelEvent[] = [];
      for await (const event of provider.stream(modelRequest({ signal: controller.signal }))) {
        got.push(event);
        // Not before the reader waits for more.
        if (event.type === 'text') setTimeout(() => controller.abort(), 10);
      }
      expect(got.map((event) => (event.type === 'error' ? event.code : event.type))).toEqual([
        'text',
        'canceled',
      ]);
      await server.requests[0]!.abandoned;
    });

    it('when it is canceled before the server answers', async () => {
      const controller = new AbortController();
      server.willReply(silence);
      const failed = errorOf(provider, modelRequest({ signal: controller.signal }));
      const request = await server.request(0);
      controller.abort();
      await expect(failed).resolves.toMatchObject({ code: 'canceled' });
      await request.abandoned;
    });

    it('when its consumer stops early', async () => {
      server.willReply(hangingEvents(wire.beginning('so')));
      for await (const event of provider.stream(modelRequest())) {
        expect(event).toEqual({ type: 'text', text: 'so' });
        break;
      }
      await server.requests[0]!.abandoned;
    });
  });
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    Object.values(value).forEach(deepFreeze);
    Object.freeze(value);
  }
  return value;
}
