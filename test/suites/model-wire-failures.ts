import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ModelEvent, ModelProvider } from '../../src/core/model.js';
import { answerOf, collect, errorOf, modelRequest } from '../support/model-requests.js';
import { API_KEY, type ModelWire, type WireOptions } from '../support/model-wire.js';
import { RecordingLogger } from '../support/recording-logger.js';
import {
  cutEvents,
  events,
  hangingEvents,
  reset,
  ScriptedServer,
  silence,
  status,
} from '../support/scripted-server.js';

/** The retries, failures and stops of each provider that talks to a vendor over HTTP. */
export function describeModelWireFailures(name: string, wire: ModelWire): void {
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

  describe(`${name} after a transient failure`, () => {
    const soon = { 'retry-after': '0' };

    it.each([429, 500, 502, 503, 529, 408])('retries after HTTP %d', async (code) => {
      server.willReply(status(code, wire.errorBody('not now'), soon), hello);
      await expect(answerOf(provider, modelRequest())).resolves.toMatchObject({ stopReason: 'end' });
      expect(server.requests).toHaveLength(2);
    });

    it('retries after a lost connection, without an advised pause', async () => {
      server.willReply(reset, hello);
      await expect(answerOf(provider, modelRequest())).resolves.toMatchObject({ stopReason: 'end' });
    });

    it('retries after an overload inside a stream without content', async () => {
      server.willReply(events(wire.beginning('') + wire.streamError('overloaded', 'busy')), hello);
      const got = await collect(provider, modelRequest());
      expect(got.map((event) => event.type)).toEqual(['text', 'end']);
      // The usage that the vendor reported for the first attempt is on the bill too.
      const failed = wire.begun && [{ usage: wire.begun }];
      expect(got.at(-1)).toMatchObject({ answer: { usage: wire.usage } });
      expect((got.at(-1) as { readonly answer: object }).answer).toEqual(
        expect.objectContaining(failed ? { failed } : {}),
      );
    });

    it("retries as often as allowed, and then fails with the vendor's reason", async () => {
      const logger = new RecordingLogger();
      server.willReply(...Array<typeof hello>(9).fill(status(503, wire.errorBody('too busy'), soon)));
      const got = await collect(create({ maxRetries: 2, logger }), modelRequest());
      expect(got).toEqual([expect.objectContaining({ type: 'error', code: 'overloaded', retryable: true })]);
      expect((got[0] as { message: string }).message).toContain('too busy');
      expect(server.requests).toHaveLength(3);
      expect(logger.lines).toHaveLength(2);
    });

    it('retries also after the first text, which is replaced', async () => {
      server.willReply(cutEvents(wire.beginning('so')), hello);
      const got = await collect(provider, modelRequest());
      const texts = got.filter((event) => event.type === 'text');
      expect(texts[0]).toEqual({ type: 'text', text: 'so' });
      expect(texts.map(({ restarts }) => restarts)).toEqual([
        undefined,
        true,
        ...texts.slice(2).map(() => undefined),
      ]);
      expect(
        texts
          .slice(1)
          .map(({ text }) => text)
          .join(''),
      ).not.toContain('so');
      expect(got.at(-1)).toMatchObject({ type: 'end' });
      expect(server.requests).toHaveLength(2);
    });

    it('retries as the vendor advises, for any status', async () => {
      server.willReply(
        status(400, wire.errorBody('once more'), { 'x-should-retry': 'true', ...soon }),
        status(503, wire.errorBody('no use'), { 'x-should-retry': 'false', ...soon }),
        hello,
      );
      await expect(errorOf(provider, modelRequest())).resolves.toMatchObject({ retryable: false });
      expect(server.requests).toHaveLength(2);
    });

    it('never retries when the advised pause is an hour', async () => {
      server.willReply(status(429, wire.errorBody('slow down'), { 'retry-after': '3600' }), hello);
      await expect(errorOf(provider, modelRequest())).resolves.toMatchObject({
        code: 'rate-limited',
        retryable: true,
      });
      expect(server.requests).toHaveLength(1);
    });

    it('stops retrying when it is canceled during the pause', async () => {
      const logger = new RecordingLogger();
      const controller = new AbortController();
      server.willReply(status(429, wire.errorBody('slow down'), { 'retry-after': '50' }), hello);
      const failed = errorOf(create({ logger }), modelRequest({ signal: controller.signal }));
      await logger.saying('is retried');
      controller.abort();
      await expect(failed).resolves.toMatchObject({ code: 'canceled' });
      expect(server.requests).toHaveLength(1);
    });
  });

  describe(`${name} after a permanent failure`, () => {
    it.each([
      [400, 'model.name'],
      [401, 'API_KEY'],
      [403, 'API_KEY'],
      [402, 'credit'],
      [404, 'model.name'],
      [413, 'too large'],
    ])('fails with advice on HTTP %d, at once', async (code, words) => {
      server.willReply(status(code, wire.errorBody('the vendor says so')), hello);
      const error = await errorOf(create({ maxRetries: 0 }), modelRequest());
      expect(error).toMatchObject({ code: 'rejected', retryable: false });
      expect(error.message).toContain(words);
      expect(error.message).toContain('the vendor says so');
      expect(server.requests).toHaveLength(1);
    });

    it('fails with advice when nothing listens', async () => {
      const baseUrl = server.url;
      const closed = wire.create({ baseUrl, apiKey: API_KEY, maxRetries: 0 });
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
    ])('fails with advice when a stream %s in the middle', async (_, reply) => {
      server.willReply(reply(wire.beginning('so')));
      const got = await collect(create({ maxRetries: 0 }), modelRequest());
      expect(got).toEqual([
        { type: 'text', text: 'so' },
        expect.objectContaining({ type: 'error', code: 'unreachable', retryable: true }),
      ]);
    });

    it.each([
      ['before it responds', silence],
      ['in the middle of its response', hangingEvents(wire.beginning(''))],
    ])('fails with advice when the server falls silent %s, and closes the request', async (_, reply) => {
      let timeoutMs = 150;
      let error;
      do {
        // On a busy machine a short limit may pass before the request arrives.
        timeoutMs *= 2;
        server.willReply(reply);
        error = await errorOf(create({ timeoutMs, maxRetries: 0 }), modelRequest());
      } while (server.requests.length === 0);
      expect(error).toMatchObject({ code: 'unreachable', retryable: true });
      expect(error.message).toContain(`${timeoutMs / 1_000} s`);
      await server.requests[0]!.abandoned;
    });

    it('fails with advice on a web page instead of an event stream', async () => {
      server.willReply(status(200, '<html>Welcome</html>', { 'content-type': 'text/html' }));
      const error = await errorOf(create({ maxRetries: 0 }), modelRequest());
      expect(error).toMatchObject({ code: 'bad-answer', retryable: false });
      expect(error.message).toContain('text/html');
    });

    it('fails with advice on JSON that is no response instead of an event stream', async () => {
      server.willReply(status(200, { status: 'ok' }));
      await expect(errorOf(create({ maxRetries: 0 }), modelRequest())).resolves.toMatchObject({
        code: 'bad-answer',
      });
    });

    it.each(['{"type": "message_start"', '[]', '17'])('fails with advice on the event %s', async (data) => {
      server.willReply(events(`data: ${data}\n\n`));
      await expect(errorOf(create({ maxRetries: 0 }), modelRequest())).resolves.toMatchObject({
        code: 'bad-answer',
      });
    });

    it.each([
      ['overloaded', true],
      ['rate-limited', true],
      ['rejected', false],
    ] as const)('fails with advice on the error "%s" inside a stream', async (code, retryable) => {
      server.willReply(events(wire.beginning('so') + wire.streamError(code, 'the vendor says so')));
      const got = await collect(create({ maxRetries: 0 }), modelRequest());
      expect(got).toEqual([
        { type: 'text', text: 'so' },
        {
          type: 'error',
          code,
          retryable,
          message: expect.stringContaining('the vendor says so') as unknown,
          ...(wire.begun && { failed: [{ usage: wire.begun }] }),
        },
      ]);
    });

    it('fails with advice on an endless response, before it fills the memory', async () => {
      let sentBytes = 0;
      server.willReply(async (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        const piece = wire.beginning('x'.repeat(64 * 1024));
        while (!response.destroyed && sentBytes < 64 * 1024 * 1024) {
          sentBytes += piece.length;
          if (!response.write(piece)) await Promise.race([once(response, 'drain'), once(response, 'close')]);
        }
        response.end();
      });
      const got = await collect(provider, modelRequest({ maxTokens: 100 }));
      expect(got.at(-1)).toMatchObject({ type: 'error', code: 'bad-answer', retryable: false });
      const texts = got.flatMap((event) => (event.type === 'text' ? event.text.length : []));
      expect(texts.reduce((sum, length) => sum + length, 0)).toBeLessThan(1.2 * 1024 * 1024);
      expect(sentBytes).toBeLessThan(32 * 1024 * 1024);
    });

    it('never shows the key in its message, nor in the log', async () => {
      const logger = new RecordingLogger();
      const echo = `Incorrect API key provided: ${API_KEY}.`;
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
      expect(logger.lines.join()).not.toContain(API_KEY);
    });

    it("quotes at most 500 characters of the vendor's message, and the title of a web page alone", async () => {
      const page = '<!DOCTYPE html><title>Bad gateway</title><p>markup</p>';
      server.willReply(
        status(400, wire.errorBody('long '.repeat(1_000))),
        status(400, page, { 'content-type': 'text/html' }),
      );
      const long = await errorOf(create({ maxRetries: 0 }), modelRequest());
      expect(/It says: (.*)$/s.exec(long.message)![1]).toHaveLength(500);
      const { message } = await errorOf(create({ maxRetries: 0 }), modelRequest());
      expect(message).toMatch(/It says: Bad gateway$/);
    });

    it('fails with advice on a redirect, which would send the key elsewhere', async () => {
      await using elsewhere = await ScriptedServer.open();
      elsewhere.willReply(hello);
      server.willReply((response) => {
        response.writeHead(307, { location: elsewhere.url }).end();
      });
      const error = await errorOf(create({ maxRetries: 0 }), modelRequest());
      expect(error).toMatchObject({ code: 'rejected', retryable: false });
      expect(error.message).toContain('model.baseUrl');
      expect(elsewhere.requests).toEqual([]);
    });

    it('fails with advice at its creation when its base URL is invalid', () => {
      expect(() => create({ baseUrl: 'file:///etc' })).toThrow(/not an http or https address/);
      expect(() => create({ baseUrl: 'nonsense' })).toThrow(/not an http or https address/);
    });
  });

  describe(`the HTTP request of ${name}`, () => {
    it('is closed when the call is canceled in the middle of a response', async () => {
      const controller = new AbortController();
      server.willReply(hangingEvents(wire.beginning('so')));
      const got: ModelEvent[] = [];
      for await (const event of provider.stream(modelRequest({ signal: controller.signal }))) {
        got.push(event);
        // The abort comes after the reader waits for more.
        if (event.type === 'text') setTimeout(() => controller.abort(), 10);
      }
      expect(got.map((event) => (event.type === 'error' ? event.code : event.type))).toEqual([
        'text',
        'canceled',
      ]);
      await server.requests[0]!.abandoned;
    });

    it('is closed when the call is canceled before the server responds', async () => {
      const controller = new AbortController();
      server.willReply(silence);
      const failed = errorOf(create({ maxRetries: 0 }), modelRequest({ signal: controller.signal }));
      const request = await server.request(0);
      controller.abort();
      await expect(failed).resolves.toMatchObject({ code: 'canceled' });
      await request.abandoned;
    });

    it('is closed when the response is complete and the server does not close it', async () => {
      server.willReply(hangingEvents(wire.answer({ texts: ['hello'], stop: 'end' })));
      await expect(answerOf(provider, modelRequest())).resolves.toMatchObject({ stopReason: 'end' });
      await server.requests[0]!.abandoned;
    });

    it('is closed when its consumer stops early', async () => {
      server.willReply(hangingEvents(wire.beginning('so')));
      for await (const event of provider.stream(modelRequest())) {
        expect(event).toEqual({ type: 'text', text: 'so' });
        break;
      }
      await server.requests[0]!.abandoned;
    });
  });
}
