import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import nodeFetch from 'node-fetch';
import { LangoError } from '../../src/core/errors.js';
import { answerText, functionCalls, type ModelProvider, type StopReason } from '../../src/core/model.js';
import {
  answerOf,
  errorOf,
  modelRequest,
  READ_FILE,
  sentId,
  userMessage,
} from '../support/model-requests.js';
import { API_KEY, type ModelWire, type WireOptions } from '../support/model-wire.js';
import {
  cutEvents,
  events,
  eventsByByte,
  hangingEvents,
  ScriptedServer,
  status,
} from '../support/scripted-server.js';
import { describeModelProvider } from './model-provider.js';
import { describeModelWireFailures } from './model-wire-failures.js';

/** The contract of each provider that talks to a vendor over HTTP, beyond that of all providers. */
export function describeModelWire(name: string, wire: ModelWire): void {
  let server: ScriptedServer;
  let provider: ModelProvider;
  beforeEach(async () => {
    server = await ScriptedServer.open();
    provider = create();
  });
  afterEach(() => server[Symbol.asyncDispose]());

  const create = (options: Partial<WireOptions> = {}): ModelProvider =>
    wire.create({ baseUrl: server.url, apiKey: API_KEY, ...options });
  const hello = events(wire.answer({ texts: ['hello'], stop: 'end' }));

  describeModelWireFailures(name, wire);

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
      provider: wire.create({ baseUrl: own.url, apiKey: API_KEY }),
      textRequest: modelRequest(),
      callRequest: modelRequest({ messages: [userMessage('read a and b')], functions: [READ_FILE] }),
      close: () => own[Symbol.asyncDispose](),
    };
  });

  describe(`a request of ${name}`, () => {
    it('has the key, the output limit and the functions', async () => {
      server.willReply(hello);
      await answerOf(provider, modelRequest({ maxTokens: 321, functions: [READ_FILE] }));
      const [request] = server.requests;
      const sent = wire.sent(request!.body);
      expect(wire.key(request!.headers)).toBe(API_KEY);
      expect(sent.maxTokens).toBe(321);
      expect(sent.functions).toEqual([{ name: 'fs_read', parameters: READ_FILE.parameters }]);
    });

    it('has adjacent user messages joined and no blank text', async () => {
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

    it('has all results right after their calls, in the order of the calls', async () => {
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
        `assistant: call ${sentId('a')} | call ${sentId('b')}`,
        `user: result ${sentId('a')} | result ${sentId('b')} | and then`,
      ]);
    });

    it('has a result for an interrupted call, and none whose call is missing', async () => {
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
        `assistant: call ${sentId('a')}`,
        `user: result ${sentId('a')}`,
        `assistant: call ${sentId('b')}`,
        `user: result ${sentId('b')} | well?`,
      ]);
    });

    it('has a text for a result that is empty, which some vendors refuse', async () => {
      server.willReply(hello);
      const call = { type: 'function-call', id: 'a', name: 'fs_read', arguments: {} } as const;
      const results = [{ id: 'a', name: 'fs_read', content: ' ', isError: false }];
      const messages = [
        userMessage('go'),
        { role: 'assistant', author: 'agent', content: [call] } as const,
        { role: 'results', results } as const,
      ];
      await answerOf(provider, modelRequest({ messages }));
      expect(JSON.stringify(server.requests[0]!.body)).toContain('"(empty)"');
    });

    it('is sent over a connection that is kept for the next one', async () => {
      for (let count = 0; count < 6; count++) {
        server.willReply(hello);
        await answerOf(provider, modelRequest());
      }
      expect(server.connections).toBeLessThan(6);
    });

    it('is sent through the given fetch, also node-fetch', async () => {
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

    it('fails with the reason when the given fetch refuses it', async () => {
      const refusing = () =>
        Promise.reject(new LangoError('forbidden', 'Private addresses are not allowed.'));
      await expect(errorOf(create({ fetch: refusing }), modelRequest())).resolves.toMatchObject({
        code: 'rejected',
        message: 'Private addresses are not allowed.',
      });
    });
  });

  describe(`${name} with a response`, () => {
    it('reads characters and events that are split across chunks', async () => {
      server.willReply(eventsByByte(wire.answer({ texts: ['Grüße ', '你好 🎉'], stop: 'end' })));
      const { content } = await answerOf(provider, modelRequest());
      expect(answerText(content)).toBe('Grüße 你好 🎉');
    });

    it('reads events that end in CRLF, and skips comments and unknown events', async () => {
      const stream = wire.answer({ texts: ['a', 'b'], stop: 'end' });
      const { unknownEvent = 'not JSON' } = wire;
      const noisy = `: comment\n\nevent: brand_new\ndata: ${unknownEvent}\n\n${stream}`.replaceAll(
        '\n',
        '\r\n',
      );
      server.willReply(events(noisy));
      expect(answerText((await answerOf(provider, modelRequest())).content)).toBe('ab');
    });

    it('reads text and parallel calls whose arguments arrive in chunks', async () => {
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
    ])('reads arguments that are %s as invalid, not as a failure', async (_, json) => {
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

    it('reads at most 2,000 characters of invalid arguments, and sends them back as an object', async () => {
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

    it.each<StopReason>(['end', 'max-tokens', 'refusal'])('reads the stop reason %s', async (stop) => {
      server.willReply(events(wire.answer({ texts: ['so'], stop })));
      await expect(answerOf(provider, modelRequest())).resolves.toMatchObject({ stopReason: stop });
    });

    it('reads a complete response although the connection breaks after it', async () => {
      server.willReply(cutEvents(wire.answer({ texts: ['so'], stop: 'end' })));
      await expect(answerOf(provider, modelRequest())).resolves.toMatchObject({ stopReason: 'end' });
    });
  });
}
