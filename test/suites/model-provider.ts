import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  answerText,
  functionCalls,
  type ModelEvent,
  type ModelProvider,
  type ModelRequest,
} from '../../src/core/model.js';
import { answerOf, collect, userMessage } from '../support/model-requests.js';

/** A provider under the contract, and requests with known responses. */
export interface ProviderSubject {
  readonly provider: ModelProvider;
  /** A request whose response is text. */
  readonly textRequest: ModelRequest;
  /** A request whose response has at least one call of an offered function. */
  readonly callRequest: ModelRequest;
  close(): Promise<void>;
}

/** The contract in core of each provider, with any vendor. */
export function describeModelProvider(name: string, open: () => Promise<ProviderSubject>): void {
  describe(`${name} keeps the contract of a model provider`, () => {
    let subject: ProviderSubject;
    beforeEach(async () => {
      subject = await open();
    });
    afterEach(() => subject.close());

    it('has an id', () => {
      expect(subject.provider.id).toMatch(/^[a-z-]+(\/\S+)?$/);
    });

    it('yields text and then exactly one end that holds all of it', async () => {
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

    it('calls offered functions, each under its own id', async () => {
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

    it('continues from its own response and the results of its calls', async () => {
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

    it('ignores opaque blocks of another provider', async () => {
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

    it('leaves the request unchanged', async () => {
      const { signal, ...rest } = subject.callRequest;
      await expect(
        answerOf(subject.provider, { ...deepFreeze(structuredClone(rest)), signal }),
      ).resolves.toBeDefined();
    });

    it('keeps concurrent streams apart', async () => {
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

    it('reports only "canceled" when it was aborted before the start', async () => {
      const got = await collect(subject.provider, { ...subject.textRequest, signal: AbortSignal.abort() });
      expect(got).toEqual([expect.objectContaining({ type: 'error', code: 'canceled', retryable: false })]);
    });

    it('reports "canceled" last when it is aborted after the first text', async () => {
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

    it('can be left early and called again', async () => {
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

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    Object.values(value).forEach(deepFreeze);
    Object.freeze(value);
  }
  return value;
}
