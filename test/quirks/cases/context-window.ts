import { expect } from '@jest/globals';
import { z } from 'zod';
import { defineTool } from '../../../src/core/tool.js';
import { listIn } from '../../../src/core/json.js';
import type { Quirk } from '../quirk.js';
import { ask, type Asking, type Sent } from '../strict-vendor.js';
import { MODEL_WIRES, streamOf, type ModelWireName, type VendorAnswer } from '../vendor-streams.js';

/** Long tasks at vendors that count the tokens of each request, and refuse those beyond the context window. */

const WINDOW = 32_000;
const PAGE = 'fs_page';

const PAGES = defineTool({
  ...{ name: PAGE, description: 'Reads a page.', effect: 'pure' },
  schema: z.object({ page: z.int(), bytes: z.int() }),
  execute: async ({ page, bytes }) => {
    if (page % 100 === 3) throw new Error(`page ${page} is torn`);
    return Promise.resolve({ content: `page ${page}: ${'lorem ipsum '.repeat(bytes / 12)}end ${page}` });
  },
});

const bodyTokens = (body: unknown): number => Math.ceil(Buffer.byteLength(JSON.stringify(body)) / 3);

/** The tokens of a request by the count of this vendor, which counts more than four bytes to a token. */
const countOf = ({ body }: Pick<Sent, 'body'>): number =>
  bodyTokens(body.messages ?? body.input) + bodyTokens(body.tools);

const outputLimit = (body: Sent['body']): number =>
  Number(body.max_tokens ?? body.max_completion_tokens ?? body.max_output_tokens ?? 0);

const inPrompt = (tokens: number): object => ({
  error: {
    type: 'invalid_request_error',
    message: `prompt is too long: ${tokens} tokens > ${WINDOW} maximum`,
  },
});

/** An answer with the usage that this vendor counts. */
function counted(request: Sent, answer: VendorAnswer) {
  const stream = streamOf(request.wire, answer);
  return {
    stream: stream.replace(
      /"(prompt|input)_tokens":\d+/g,
      (_, name) => `"${name}_tokens":${countOf(request)}`,
    ),
  };
}

const page = (at: number, bytes: number) => ({ name: PAGE, arguments: { page: at, bytes } });

const SETTINGS: Asking['settings'] = {
  agent: {
    multiAgent: false,
    limits: { turns: 2_000, toolCalls: 2_000, tokens: 1_000_000_000, answerTokens: 4_000 },
  },
};

interface LongTask extends Pick<Asking, 'wire' | 'model' | 'message' | 'contextId'> {
  readonly calls: number;
  readonly atOnce: number;
  readonly bytes: number;
  readonly window?: number;
  /** The body of the vendor's refusal of a request of so many tokens. */
  readonly refusal?: (tokens: number) => object;
}

/** A task whose model makes so many calls, and the number of requests that did not fit. */
async function longTask({ calls, atOnce, bytes, window = WINDOW, refusal = inPrompt, ...asking }: LongTask) {
  let made = 0;
  let tooLong = 0;
  const told = await ask({
    ...{ settings: SETTINGS, tools: [PAGES], message: 'THE-REQUEST', ...asking },
    answers(request) {
      const tokens = countOf(request);
      if (tokens + outputLimit(request.body) > window) {
        tooLong += 1;
        return { status: 400, body: refusal(tokens) };
      }
      if (made >= calls) return counted(request, { text: 'Done.' });
      const some = Array.from({ length: Math.min(atOnce, calls - made) }, (_, at) =>
        page(made + at + 1, bytes),
      );
      made += some.length;
      return counted(request, { text: `From ${made}.`, calls: some });
    },
  });
  return { ...told, tooLong };
}

const conversationOf = ({ body }: Sent): readonly string[] =>
  listIn(body.messages ?? body.input).map((message) =>
    JSON.stringify(message).replace(/,"cache_control":\{[^}]*\}/g, ''),
  );

/** The number of requests that do not continue the one before, so that a vendor's cache has nothing of them. */
function rewritten(requests: readonly Sent[]): number {
  return requests.filter((request, at) => {
    const before = at === 0 ? [] : conversationOf(requests[at - 1]!);
    const now = conversationOf(request);
    return !before.every((message, index) => now[index] === message);
  }).length;
}

const TASK = {
  class: 7,
  quirk: 'The vendor refuses a request that is longer than the context window.',
} as const;

/** Fewer where the wire makes no difference, to save time. */
const CALLS = { 'Chat Completions': 1_000, Responses: 300, Messages: 300 } as const;

const LONG: readonly Quirk[] = MODEL_WIRES.map((wire) => ({
  ...TASK,
  id: `long-task-${wire}`,
  wire,
  vendor: wire === 'Messages' ? 'Anthropic' : 'OpenAI',
  source: 'CherryHQ/cherry-studio#12699',
  right: `A task of ${CALLS[wire]} calls ends in a window of 32,000 tokens: old results are cleared before it is full.`,
  async check() {
    const calls = CALLS[wire];
    const model = { windowTokens: WINDOW };
    const told = await longTask({ wire, model, calls, atOnce: 10, bytes: 360 });
    expect([told.refused, told.tooLong, told.state, told.text]).toEqual([[], 0, 'completed', 'Done.']);
    const texts = conversationOf(told.requests.at(-1)!).join('\n');
    // Neither the request of the person nor an error is cleared, and the newest results are whole.
    expect(texts).toContain('THE-REQUEST');
    expect(texts).toContain('page 203 is torn');
    expect(told.results.slice(-10).map((text) => text.slice(-8))).toEqual(
      Array.from({ length: 10 }, (_, at) => expect.stringContaining(`${calls - 9 + at}`)),
    );
    // Cleared in large steps, because each step costs the vendor's cache.
    expect(told.requests.length).toBe(calls / 10 + 1);
    expect(rewritten(told.requests)).toBeLessThan(calls / 60);
  },
}));

/** The refusals by which vendors answer a request that is too long for a window of so many tokens. */
interface Refusal extends Pick<Quirk, 'vendor' | 'source'> {
  readonly wire: ModelWireName;
  readonly window: number;
  readonly body: (tokens: number) => object;
  /** Whether the body names the window. */
  readonly isNamed: boolean;
}

const invalid = (message: string, more: object = {}): object => ({
  error: { type: 'invalid_request_error', message, ...more },
});

const CHAT = 'Chat Completions';

const REFUSALS: readonly Refusal[] = [
  {
    ...{
      vendor: 'Anthropic',
      wire: 'Messages',
      source: 'docker/docker-agent#569',
      window: 20_000,
      isNamed: true,
    },
    body: (tokens) =>
      invalid(
        `input length and \`max_tokens\` exceed context limit: ${tokens} + 4000 > 20000, decrease input length or \`max_tokens\` and try again`,
      ),
  },
  {
    ...{ vendor: 'OpenAI', wire: 'Responses', source: 'OpenAI: Error codes', window: 20_000, isNamed: false },
    body: () =>
      invalid(
        'Your input exceeds the context window of this model. Please adjust your input and try again.',
        {
          code: 'context_length_exceeded',
        },
      ),
  },
  {
    ...{ vendor: 'vLLM', wire: CHAT, source: 'vllm-project/vllm#20409', window: 16_384, isNamed: true },
    body: (tokens) => ({
      object: 'error',
      message: `This model's maximum context length is 16384 tokens. However, you requested ${tokens + 4_000} tokens (${tokens} in the messages, 4000 in the completion). Please reduce the length of the messages or completion.`,
      type: 'BadRequestError',
      code: 400,
    }),
  },
  {
    ...{ vendor: 'llama.cpp', wire: CHAT, source: 'ggml-org/llama.cpp#15780', window: 16_000, isNamed: true },
    body: (tokens) => ({
      error: {
        code: 400,
        message:
          'the request exceeds the available context size. try increasing the context size or enable context shift',
        type: 'exceed_context_size_error',
        n_prompt_tokens: tokens,
        n_ctx: 16_000,
      },
    }),
  },
  {
    ...{ vendor: 'xAI', wire: CHAT, source: 'cline/cline#3120', window: 20_000, isNamed: true },
    body: (tokens) => ({
      code: 'Client specified an invalid argument',
      error: `This model's maximum prompt length is 20000 but the request contains ${tokens} tokens.`,
    }),
  },
  {
    ...{ vendor: 'OpenRouter', wire: CHAT, source: 'refly-ai/refly#1177', window: 18_000, isNamed: true },
    body: (tokens) => ({
      error: {
        message: `This endpoint's maximum context length is 18000 tokens. However, you requested about ${tokens} tokens (${tokens} of text input). Please reduce the length of either one.`,
        code: 400,
      },
    }),
  },
  {
    ...{ vendor: 'MiniMax', wire: CHAT, source: 'MiniMax-AI/MiniMax-M2#119', window: 20_000, isNamed: false },
    body: () => invalid('invalid params, context window exceeds limit (2013)'),
  },
  {
    ...{
      vendor: 'LM Studio',
      wire: CHAT,
      source: 'lmstudio-ai/lmstudio-bug-tracker#546',
      window: 16_000,
      isNamed: true,
    },
    body: (tokens) => ({
      error: `Trying to keep the first ${tokens} tokens when context the overflows. However, the model is loaded with context length of only 16000 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input.`,
    }),
  },
  {
    ...{
      vendor: 'LM Studio 0.4',
      wire: CHAT,
      source: 'tinyhumansai/openhuman#3550',
      window: 16_000,
      isNamed: true,
    },
    body: (tokens) => ({
      error: `The number of tokens to keep from the initial prompt is greater than the context length (n_keep: ${tokens} >= n_ctx: 16000). Try to load the model with a larger context length, or provide a shorter prompt.`,
    }),
  },
];

const REFUSED: readonly Quirk[] = REFUSALS.map(({ vendor, wire, source, window, body, isNamed }) => ({
  ...{ ...TASK, id: `window-of-${vendor}`, wire, vendor, source },
  right: isNamed
    ? 'The window is read from the refusal; the task goes on with less, and no later request is refused.'
    : 'The task goes on with less, and the length that was refused is remembered.',
  async check() {
    const model = { name: `of-${vendor.replaceAll(' ', '-')}` };
    const asked = { wire, model, window, refusal: body, calls: 40, atOnce: 4, bytes: 1_200 };
    const told = await longTask(asked);
    expect([told.state, told.text]).toEqual(['completed', 'Done.']);
    expect(told.tooLong).toBeGreaterThan(0);
    expect(told.tooLong).toBeLessThan(isNamed ? 2 : 4);
    // The next task knows the window.
    const next = await longTask(asked);
    expect([next.state, next.tooLong]).toEqual(['completed', 0]);
    expect(outputLimit(next.requests.at(-1)!.body)).toBeGreaterThan(3_000);
  },
}));

const EARLIER: Quirk = {
  ...TASK,
  ...{
    id: 'window-and-earlier-tasks',
    wire: 'Chat Completions',
    vendor: 'Ollama',
    source: 'ollama/ollama#18107',
  },
  right: 'Earlier tasks take at most a third of a small window, the newest first.',
  async check() {
    const model = { windowTokens: 16_000, name: 'earlier' };
    const asked = {
      wire: 'Chat Completions',
      model,
      window: 16_000,
      calls: 12,
      atOnce: 2,
      bytes: 1_200,
    } as const;
    const first = await longTask({ ...asked, message: 'FIRST-REQUEST' });
    const { contextId } = first;
    for (const message of ['SECOND-REQUEST', 'THIRD-REQUEST'])
      expect((await longTask({ ...asked, contextId, message })).tooLong).toBe(0);
    const last = await longTask({ ...asked, contextId, message: 'LAST-REQUEST' });
    expect([last.tooLong, last.state]).toEqual([0, 'completed']);
    const opening = conversationOf(last.requests[0]!).join('\n');
    expect(opening).toContain('THIRD-REQUEST');
    expect(opening).not.toContain('FIRST-REQUEST');
  },
};

const OF_FALLBACK: Quirk = {
  ...TASK,
  ...{
    id: 'window-of-fallback',
    wire: 'Chat Completions',
    vendor: 'any',
    source: 'The class: a chain of models with different windows',
  },
  quirk: 'The model is overloaded, and the window of its fallback is too small for the request.',
  right: 'The window of the fallback is not taken for that of the model by later tasks.',
  async check() {
    const small = invalid("This model's maximum context length is 4096 tokens. You sent 5000.");
    const model = { name: 'large', windowTokens: 200_000, fallbacks: ['small'] };
    const answers: Asking['answers'] = (sent) =>
      sent.model === 'small' ? { status: 400, body: small } : { status: 529, body: { error: {} } };
    expect((await ask({ wire: 'Chat Completions', model, answers })).state).toBe('failed');
    const next = await ask({ wire: 'Chat Completions', model, answers: [{ text: 'Fine.' }] });
    expect([next.state, outputLimit(next.requests[0]!.body)]).toEqual(['completed', 8_192]);
  },
};

export const CONTEXT_WINDOW: readonly Quirk[] = [...LONG, ...REFUSED, EARLIER, OF_FALLBACK];
