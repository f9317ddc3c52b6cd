import { describe, expect, it } from '@jest/globals';
import { createMistral } from '@ai-sdk/mistral';
import { LangoError } from '../../src/core/errors.js';
import { listIn, objectIn, type JsonObject } from '../../src/core/json.js';
import { answerText, functionCalls } from '../../src/core/model.js';
import { fromAiSdk, type AiSdkModel } from '../../src/index.js';
import { describeModelProvider } from '../suites/model-provider.js';
import {
  answerOf,
  collect,
  errorOf,
  modelRequest,
  READ_FILE,
  userMessage,
} from '../support/model-requests.js';
import { openaiChunk } from '../support/openai-wire.js';
import { events, ScriptedServer } from '../support/scripted-server.js';
import { sendText, withServer } from '../support/server.js';

type Version = 'v2' | 'v3' | 'v4';
const VERSIONS: readonly Version[] = ['v4', 'v3', 'v2'];

/** A model of a package, of any version of the contract, that gives these parts and keeps what it was asked. */
function modelOf(version: Version, parts: (prompt: JsonObject) => readonly object[]) {
  const asked: JsonObject[] = [];
  const model: AiSdkModel = {
    ...{ specificationVersion: version, provider: 'test.chat', modelId: 'm' },
    doStream(options: JsonObject) {
      asked.push(options);
      return Promise.resolve({ stream: ReadableStream.from(parts(options)) });
    },
  };
  return { model, asked };
}

const finish = (version: Version, word: string): object =>
  version === 'v2'
    ? { type: 'finish', finishReason: word, usage: { inputTokens: 9, outputTokens: 4, cachedInputTokens: 3 } }
    : {
        ...{ type: 'finish', finishReason: { unified: word, raw: word } },
        usage: {
          inputTokens: { total: 9, noCache: 4, cacheRead: 3, cacheWrite: version === 'v4' ? 2 : undefined },
          outputTokens: { total: 4, text: 4, reasoning: 0 },
        },
      };

const text = (...deltas: readonly string[]): readonly object[] => [
  { type: 'stream-start', warnings: [] },
  { type: 'text-start', id: '1' },
  ...deltas.map((delta) => ({ type: 'text-delta', id: '1', delta })),
  { type: 'text-end', id: '1' },
];

const call = (toolCallId: string, more: object = {}): object => ({
  ...{ type: 'tool-call', toolCallId, toolName: 'fs_read', input: '{"path":"a"}', ...more },
});

describe.each(VERSIONS)('a model of version %s of the contract', (version) => {
  describeModelProvider(`fromAiSdk (${version})`, async () => {
    const { model } = modelOf(version, ({ tools }) =>
      tools
        ? [call('a'), call('b'), finish(version, 'tool-calls')]
        : [...text('one ', 'two ', 'three'), finish(version, 'stop')],
    );
    return {
      provider: fromAiSdk(model),
      textRequest: modelRequest(),
      callRequest: modelRequest({ messages: [userMessage('read a and b')], functions: [READ_FILE] }),
      close: () => Promise.resolve(),
    };
  });

  it('gets images in its own form, and reports its tokens', async () => {
    const { model, asked } = modelOf(version, () => [...text('yes'), finish(version, 'stop')]);
    const bytes = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1]).toString('base64');
    const image = { kind: 'file', mediaType: 'image/png', bytes } as const;
    const { usage } = await answerOf(
      fromAiSdk(model),
      modelRequest({ messages: [{ role: 'user', parts: [image] }] }),
    );
    expect(usage).toEqual({ input: 9, output: 4, cached: 3, ...(version === 'v4' && { written: 2 }) });
    const [part] = listIn(objectIn(listIn(asked[0]!.prompt).at(-1)).content);
    const data = version === 'v4' ? { type: 'data', data: bytes } : bytes;
    expect(part).toEqual({ type: 'file', mediaType: 'image/png', data });
  });

  it.each(['error', 'other', 'unknown'])('does not end well with the reason %s', async (word) => {
    const { model } = modelOf(version, () => [...text('half'), finish(version, word)]);
    const error = await errorOf(fromAiSdk(model, { maxRetries: 0 }), modelRequest());
    expect(error.retryable).toBe(true);
  });

  it('is told of an effort only where its version has one', async () => {
    const { model, asked } = modelOf(version, () => [...text('yes'), finish(version, 'stop')]);
    const provider = fromAiSdk(model, { effort: 'high', maxRetries: 0 });
    if (version === 'v4') {
      await answerOf(provider, modelRequest());
      expect(asked[0]!.reasoning).toBe('high');
      return;
    }
    const { code, message } = await errorOf(provider, modelRequest());
    expect([code, message]).toEqual(['rejected', expect.stringContaining('providerOptions')]);
  });
});

describe('fromAiSdk', () => {
  it('refuses what is no model, and a version that it does not know', () => {
    const { model } = modelOf('v4', () => []);
    const refusal = (given: unknown): string => {
      try {
        fromAiSdk(given as AiSdkModel);
      } catch (error) {
        if (error instanceof LangoError) return `${error.code}: ${error.message}`;
      }
      return 'accepted';
    };
    expect(refusal({ ...model, specificationVersion: 'v1' })).toBe(
      'invalid-config: The model implements version v1 of the contract of the AI SDK; this server knows v4, v3, v2.',
    );
    expect(refusal('google/gemini')).toMatch(/^invalid-config: The model is not a language model/);
    expect(refusal(undefined)).toMatch(/^invalid-config: The model is not a language model/);
  });

  it('sends parts that only the vendor reads back as they came, to the same model only', async () => {
    const metadata = { test: { seal: 's' } };
    const { model, asked } = modelOf('v4', () => [
      { type: 'reasoning-start', id: '1' },
      { type: 'reasoning-delta', id: '1', delta: 'hm', providerMetadata: { test: { seal: 's1' } } },
      { type: 'reasoning-end', id: '1', providerMetadata: { test: { more: 'm' } } },
      { type: 'custom', kind: 'test.compaction', providerMetadata: metadata },
      {
        type: 'reasoning-file',
        mediaType: 'image/png',
        data: { type: 'data', data: new Uint8Array([1, 2]) },
      },
      { ...call('x', { providerExecuted: true, toolName: 'code' }), providerMetadata: metadata },
      { type: 'tool-result', toolCallId: 'x', toolName: 'code', result: { out: 1 } },
      { type: 'text-start', id: '1', providerMetadata: metadata },
      { type: 'text-delta', id: '1', delta: 'so' },
      { type: 'text-end', id: '1' },
      { type: 'source', sourceType: 'url', id: 's', url: 'https://a.example' },
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AQ==' } },
      call('a', { providerMetadata: metadata }),
      finish('v4', 'tool-calls'),
    ]);
    const provider = fromAiSdk(model);
    const { content } = await answerOf(provider, modelRequest({ functions: [READ_FILE] }));
    expect(functionCalls(content)).toHaveLength(1);
    expect(answerText(content)).toBe('so[The model made a file (image/png), which cannot be shown.]');
    const results = functionCalls(content).map(({ id, name }) => ({
      id,
      name,
      content: 'ok',
      isError: false,
    }));
    const messages = [
      ...[userMessage('go'), { role: 'assistant', author: 'a', content } as const],
      { role: 'results', results } as const,
    ];
    await answerOf(provider, modelRequest({ messages }));
    const sent = listIn(
      objectIn(listIn(asked[1]!.prompt).find((one) => objectIn(one).role === 'assistant')).content,
    );
    const options = { providerOptions: metadata };
    expect(sent).toEqual([
      { type: 'reasoning', text: 'hm', providerOptions: { test: { seal: 's1', more: 'm' } } },
      { type: 'custom', kind: 'test.compaction', ...options },
      { type: 'reasoning-file', mediaType: 'image/png', data: { type: 'data', data: 'AQI=' } },
      {
        ...{ type: 'tool-call', toolCallId: 'x', toolName: 'code', input: { path: 'a' } },
        ...{ providerExecuted: true, ...options },
      },
      { type: 'tool-result', toolCallId: 'x', toolName: 'code', output: { type: 'json', value: { out: 1 } } },
      { type: 'text', text: 'so', ...options },
      { type: 'text', text: '[The model made a file (image/png), which cannot be shown.]' },
      expect.objectContaining({ type: 'tool-call', toolName: 'fs_read', input: { path: 'a' }, ...options }),
    ]);
    const other = modelOf('v4', () => [...text('yes'), finish('v4', 'stop')]);
    await answerOf(fromAiSdk({ ...other.model, modelId: 'other' }), modelRequest({ messages }));
    expect(JSON.stringify(other.asked[0])).not.toContain('seal');
  });

  it('ends a call although its model hears no abort', async () => {
    const controller = new AbortController();
    const model: AiSdkModel = {
      ...{ specificationVersion: 'v4', provider: 'deaf.chat', modelId: 'm' },
      doStream: () =>
        Promise.resolve({
          stream: new ReadableStream({
            start: (stream) => text('so').forEach((part) => stream.enqueue(part)),
          }),
        }),
    };
    const request = modelRequest({ signal: controller.signal });
    const got: string[] = [];
    for await (const event of fromAiSdk(model).stream(request)) {
      got.push(event.type === 'error' ? event.code : event.type);
      if (event.type === 'text') setTimeout(() => controller.abort(), 10);
    }
    expect(got).toEqual(['text', 'canceled']);
    const silent: AiSdkModel = { ...model, doStream: () => new Promise(() => undefined) };
    const late = await collect(fromAiSdk(silent, { timeoutMs: 20, maxRetries: 0 }), modelRequest());
    expect(late).toEqual([expect.objectContaining({ type: 'error', code: 'unreachable' })]);
  });

  it('makes the model of a server', async () => {
    await using vendor = await ScriptedServer.open();
    vendor.willAlwaysReply(
      events([openaiChunk({ content: 'Bonjour' }), openaiChunk({ content: '' }, 'stop')].join('')),
    );
    const mistral = createMistral({ apiKey: 'k', baseURL: vendor.url });
    await withServer({ model: fromAiSdk(mistral('mistral-small-latest')) }, async (server) => {
      const { end } = await sendText(server, 'hello');
      expect([end.state, end.text]).toEqual(['completed', 'Bonjour']);
    });
    expect(vendor.requests[0]!.headers.authorization).toBe('Bearer k');
  });
});
