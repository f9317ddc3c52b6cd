import { describe, expect, it } from '@jest/globals';
import { answerText, type ModelEvent, type ModelRequest } from '../../src/core/model.js';
import { estimateTokens } from '../../src/core/text.js';
import { createOfflineProvider } from '../../src/models/offline/provider.js';
import { describeModelProvider } from '../suites/model-provider.js';
import { answerTo, modelRequest, userSays, OPERATOR, ORCHESTRATOR } from './offline-world.js';

describeModelProvider('offline', async () => ({
  provider: createOfflineProvider(),
  textRequest: modelRequest({ messages: [userSays('What can you do?')], functions: OPERATOR }),
  callRequest: modelRequest({ messages: [userSays('read notes.txt')], functions: OPERATOR }),
  close: async () => {},
}));

async function collect(request: ModelRequest): Promise<ModelEvent[]> {
  const events: ModelEvent[] = [];
  for await (const event of createOfflineProvider().stream(request)) events.push(event);
  return events;
}

describe('the offline provider', () => {
  it('streams a few words at a time and never splits a character', async () => {
    const request = modelRequest({ messages: [userSays(`dance ${'🙂'.repeat(90)}`)] });
    const texts = (await collect(request)).flatMap((event) => (event.type === 'text' ? [event.text] : []));
    expect(texts.length).toBeGreaterThan(5);
    expect(Math.max(...texts.map((text) => text.length))).toBeLessThan(400);
    expect(texts.every((text) => text.isWellFormed())).toBe(true);
  });

  it('gives the same answer to the same request, ids of calls included', async () => {
    const request = () =>
      modelRequest({ messages: [userSays('read a.txt and at the same time run ls')], functions: OPERATOR });
    expect(await answerTo(request())).toEqual(await answerTo(request()));
  });

  it('cuts words at maxTokens and says so', async () => {
    const request = modelRequest({
      messages: [userSays('what can you do')],
      functions: OPERATOR,
      maxTokens: 10,
    });
    const answer = await answerTo(request);
    expect(answer.stopReason).toBe('max-tokens');
    expect(estimateTokens(answerText(answer.content))).toBeLessThanOrEqual(10);
    expect(answer.usage.output).toBeLessThanOrEqual(10);
  });

  it('makes no call that is longer than an answer may be', async () => {
    const messages = [userSays(`write "${'x'.repeat(2_000)}" to a.txt`)];
    const short = await answerTo(modelRequest({ messages, functions: OPERATOR, maxTokens: 100 }));
    expect(short.stopReason).toBe('end');
    expect(answerText(short.content)).toContain('too much for one answer');
    const long = await answerTo(modelRequest({ messages, functions: OPERATOR, maxTokens: 1_000 }));
    expect(long.stopReason).toBe('function-calls');
  });

  it('counts what it was given and what it said', async () => {
    const small = await answerTo(modelRequest({ messages: [userSays('hello')] }));
    const large = await answerTo(modelRequest({ messages: [userSays('hello')], functions: ORCHESTRATOR }));
    expect(small.usage.output).toBe(estimateTokens(answerText(small.content)));
    expect(large.usage.input).toBeGreaterThan(small.usage.input + 100);
  });

  it('ends with an error event instead of throwing when a request breaks its contract', async () => {
    const broken = { ...modelRequest({}), messages: undefined } as unknown as ModelRequest;
    expect(await collect(broken)).toEqual([
      expect.objectContaining({ type: 'error', code: 'bad-answer', retryable: false }),
    ]);
  });
});
