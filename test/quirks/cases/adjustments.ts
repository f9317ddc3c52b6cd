import { expect } from '@jest/globals';
import { listIn, objectIn, type JsonObject } from '../../../src/core/json.js';
import type { Part } from '../../../src/core/message.js';
import type { Quirk } from '../quirk.js';
import { ask } from '../strict-vendor.js';
import type { VendorRule } from '../vendor-rules.js';
import { answerOf, modelRequest, READ_FILE } from '../../support/model-requests.js';
import { API_KEY } from '../../support/model-wire.js';
import { openaiWire } from '../../support/openai-wire.js';
import { events, ScriptedServer, status } from '../../support/scripted-server.js';
import { functionCalls, type ModelRequest } from '../../../src/core/model.js';
import type { Tuning } from '../../../src/models/vendor.js';
import { anthropicWire } from '../../support/anthropic-wire.js';
import { responsesWire } from '../../support/responses-wire.js';
import { MODEL_WIRES, streamOf, type ModelWireName, type VendorAnswer } from '../vendor-streams.js';

interface Row extends Pick<Quirk, 'vendor' | 'source' | 'quirk'> {
  readonly name: string;
  readonly wire?: ModelWireName;
  /** Returns the reason for which the vendor refuses a request. */
  readonly refuses: VendorRule;
  readonly param?: string;
  readonly tuning?: Tuning;
  readonly request?: Partial<ModelRequest>;
  /** Further members of the first answer, which calls a function. */
  readonly more?: VendorAnswer;
  /** The number of requests that are refused. Default: 1. */
  readonly times?: number;
}

const objects = (value: unknown): readonly JsonObject[] => listIn(value).map(objectIn);
const json = (value: unknown): string => JSON.stringify(value) ?? '';

const has =
  (name: string, reason: string): VendorRule =>
  (body) =>
    name in body ? reason : undefined;
const holds =
  (text: string, reason: string): VendorRule =>
  (body) =>
    json(body).includes(text) ? reason : undefined;

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const PICTURE: Part = { kind: 'file', mediaType: 'image/png', bytes: PNG };
const LOOK: readonly Part[] = [{ kind: 'text', text: 'look' }, PICTURE];

const LOOKING: Partial<ModelRequest> = { messages: [{ role: 'user', parts: LOOK }] };

const ROWS: readonly Row[] = [
  {
    name: 'max_tokens',
    vendor: 'OpenAI behind a gateway',
    source: 'router-for-me/CLIProxyAPI#2101',
    quirk: 'Newer models refuse `max_tokens` and want `max_completion_tokens`.',
    refuses: (body) =>
      'max_completion_tokens' in body
        ? undefined
        : "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    param: 'max_tokens',
  },
  {
    name: 'max_tokens-words',
    vendor: 'OpenAI behind a gateway',
    source: 'Gitlawb/openclaude#85',
    quirk: 'A gateway passes on the words, but not the name of the parameter.',
    refuses: (body) =>
      'max_completion_tokens' in body
        ? undefined
        : "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
  },
  {
    name: 'both-limits',
    vendor: 'Gateways',
    source: 'owndev/Open-WebUI-Functions#136',
    quirk: 'The server knows neither name of the limit.',
    refuses: (body) =>
      ['max_tokens', 'max_completion_tokens']
        .map((name) => name in body && `Unknown field: ${name}`)
        .find(Boolean) || undefined,
    times: 2,
  },
  {
    name: 'output-limit',
    vendor: 'OpenAI',
    source: 'Error codes (developers.openai.com)',
    quirk: 'The limit of the output is larger than the model allows.',
    refuses: ({ max_tokens: limit }) =>
      Number(limit) > 4096
        ? `max_tokens is too large: 9000. This model supports at most 4096 completion tokens, whereas you provided 9000.`
        : undefined,
  },
  {
    name: 'output-limit-Anthropic',
    wire: 'Messages',
    vendor: 'Anthropic',
    source: 'Errors (platform.claude.com)',
    quirk: 'The limit of the output is larger than the model allows.',
    refuses: ({ max_tokens: limit }) =>
      Number(limit) > 4096
        ? `max_tokens: 9000 > 4096, which is the maximum allowed number of output tokens for m`
        : undefined,
  },
  {
    name: 'stream_options',
    vendor: 'Older servers of Azure and Mistral',
    source: 'owndev/Open-WebUI-Functions#136',
    quirk: 'The server refuses `stream_options`.',
    refuses: has('stream_options', 'body.stream_options: Extra inputs are not permitted'),
  },
  ...MODEL_WIRES.map((wire) => ({
    name: `temperature-${wire}`,
    wire,
    vendor: 'OpenAI and Anthropic',
    source: 'Migration guide (platform.claude.com)',
    quirk: 'Newer models refuse a temperature.',
    refuses: has('temperature', "Unsupported value: 'temperature' does not support 0.2 with this model."),
    tuning: { temperature: 0.2 },
  })),
  {
    name: 'effort-Chat Completions',
    vendor: 'Groq, Mistral and others',
    source: 'tontinton/maki#396',
    quirk: 'Models that do not reason refuse `reasoning_effort`.',
    refuses: has('reasoning_effort', 'reasoning_effort is not supported for this model'),
    tuning: { effort: 'low' } as const,
  },
  {
    name: 'effort-Responses',
    wire: 'Responses',
    vendor: 'OpenAI',
    source: 'Error codes (developers.openai.com)',
    quirk: 'Models that do not reason refuse `reasoning`.',
    refuses: has('reasoning', "Unsupported parameter: 'reasoning.effort' is not supported with this model."),
    param: 'reasoning.effort',
    tuning: { effort: 'low' } as const,
  },
  {
    name: 'effort-Messages',
    wire: 'Messages',
    vendor: 'Servers that speak Messages',
    source: 'anomalyco/opencode#24122',
    quirk: 'The server refuses `output_config`.',
    refuses: has('output_config', 'output_config: Extra inputs are not permitted'),
    tuning: { effort: 'low' } as const,
  },
  {
    name: 'thinking',
    wire: 'Messages',
    vendor: 'Anthropic',
    source: 'Migration guide (platform.claude.com)',
    quirk: 'Newer models refuse a budget of thinking.',
    refuses: has('thinking', '"thinking.type.enabled" is not supported for this model.'),
    tuning: { thinking: 2_000 },
  },
  {
    name: 'cache_control',
    wire: 'Messages',
    vendor: 'Servers that speak Messages',
    source: 'maximhq/bifrost#5097',
    quirk: 'The server refuses the marks of the cache.',
    refuses: holds('"cache_control"', 'system.0.cache_control: Extra inputs are not permitted'),
  },
  {
    name: 'include',
    wire: 'Responses',
    vendor: 'OpenAI',
    source: 'Error codes (developers.openai.com)',
    quirk: 'Models that do not reason refuse to include their reasoning.',
    refuses: has('include', 'Encrypted content is not supported with this model.'),
    param: 'include',
  },
  {
    name: 'store',
    wire: 'Responses',
    vendor: 'Servers that speak Responses',
    source: 'vllm-project/vllm#26083',
    quirk: 'The server refuses `store`.',
    refuses: has('store', "Unrecognized request argument supplied: 'store'"),
  },
  {
    name: 'max_output_tokens',
    wire: 'Responses',
    vendor: 'Gateways',
    source: 'router-for-me/CLIProxyAPI#2101',
    quirk: 'The server refuses `max_output_tokens`.',
    refuses: has('max_output_tokens', 'Unsupported parameter: max_output_tokens'),
  },
  {
    name: 'system',
    vendor: 'Gemma on vLLM and Google',
    source: 'The chat template of Gemma ("System role not supported")',
    quirk: 'The model has no role for an instruction.',
    refuses: ({ messages }) =>
      objects(messages).some(({ role }) => role === 'system') ? 'System role not supported' : undefined,
  },
  {
    name: 'null-content',
    vendor: 'Older servers of vLLM and llama.cpp',
    source: 'The class: validators that want text',
    quirk: 'The content of a message with calls must be a text.',
    refuses: ({ messages }) =>
      objects(messages).some(({ content }) => content === null)
        ? 'messages.2.content: Input should be a valid string'
        : undefined,
  },
  {
    name: 'members-Groq',
    vendor: 'Groq',
    source: 'tashfeenahmed/freellmapi#1070',
    quirk: 'The server refuses the thoughts that it sent itself.',
    refuses: holds(
      '"reasoning_content"',
      "'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : property 'reasoning_content' is unsupported)]",
    ),
    more: { thoughts: 'so' },
  },
  {
    name: 'members-R1',
    vendor: 'DeepSeek (older servers)',
    source: 'Reasoning Model (api-docs.deepseek.com)',
    quirk: 'The reasoner refuses its own thoughts.',
    refuses: holds(
      '"reasoning_content"',
      'The reasoning_content is an intermediate result for display purposes only. It should not be in the input.',
    ),
    more: { thoughts: 'so' },
  },
  {
    name: 'members-unknown',
    vendor: 'Validators that forbid unknown members',
    source: 'The class: members that a server sends and does not take',
    quirk: 'The server refuses a member that it sent itself.',
    refuses: holds('"x_trace"', 'messages[2].x_trace: Extra inputs are not permitted'),
    more: { more: { x_trace: 'a' } },
  },
  ...MODEL_WIRES.map((wire) => ({
    name: `images-${wire}`,
    wire,
    vendor: 'Models without eyes',
    source: 'The page on errors of openrouter.ai',
    quirk: 'The model takes no image.',
    refuses: holds(PNG, 'This model does not support image input.'),
    request: LOOKING,
  })),
  {
    name: 'images-DeepSeek',
    vendor: 'DeepSeek',
    source: 'The parser of its requests ("unknown variant `image_url`")',
    quirk: 'The parser knows no image.',
    refuses: holds(PNG, 'Failed to deserialize: messages[1]: unknown variant `image_url`, expected `text`'),
    request: LOOKING,
  },
  {
    name: 'output',
    vendor: 'DeepSeek and others',
    source: 'JSON Output (api-docs.deepseek.com)',
    quirk: 'The server knows no schema for the answer.',
    refuses: has('response_format', 'This response_format type is unavailable now'),
    request: { output: { type: 'object', properties: { urgent: { type: 'boolean' } } } },
  },
];

const WIRES = { 'Chat Completions': openaiWire, Responses: responsesWire, Messages: anthropicWire };

/** A vendor that refuses what `row` says, and the number of requests that it has refused. */
async function openStrict(row: Row) {
  const server = await ScriptedServer.open();
  const { wire = 'Chat Completions', refuses, param = null, more } = row;
  const strict = { server, refused: 0, accepted: 0 };
  server.willAlwaysReply((response, sent) => {
    const message = refuses(sent.body);
    const type = 'invalid_request_error';
    if (message !== undefined) {
      strict.refused += 1;
      return status(400, { type: 'error', error: { type, message, param } })(response, sent);
    }
    const first = { calls: [{ name: 'fs_read' }], ...more };
    const answer = strict.accepted++ === 0 ? first : { text: 'Done.' };
    return events(streamOf(wire, answer))(response, sent);
  });
  return strict;
}

/** A part of a request that a server refuses is left out or replaced, and that is remembered. */
const ROWS_OF_ONE: readonly Quirk[] = ROWS.map((row) => ({
  id: `adjusted-${row.name}`,
  class: /^(images|members|null|system)/.test(row.name) ? 3 : 14,
  wire: row.wire ?? 'Chat Completions',
  vendor: row.vendor,
  source: row.source,
  quirk: row.quirk,
  right:
    'The request is sent again at once without it or with what takes its place, and so are all later ones.',
  async check() {
    const { wire = 'Chat Completions', tuning, request, times = 1 } = row;
    const strict = await openStrict(row);
    await using server = strict.server;
    const provider = WIRES[wire].create({ ...tuning, baseUrl: server.url, apiKey: API_KEY, maxRetries: 0 });
    const first = modelRequest({
      system: [{ text: 'You help.', stable: true }],
      functions: [READ_FILE],
      maxTokens: 9_000,
      ...request,
    });
    const { content } = await answerOf(provider, first);
    const results = functionCalls(content).map(({ id, name }) => ({
      id,
      name,
      content: 'ok',
      isError: false,
    }));
    const answer = { role: 'assistant', author: 'agent', content } as const;
    const next = { ...first, messages: [...first.messages, answer, { role: 'results', results } as const] };
    await answerOf(provider, next);
    expect(strict.refused).toBe(times);
    await answerOf(provider, next);
    expect(strict.refused).toBe(times);
  },
}));

const UNSUPPORTED =
  "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";

/** A lesson of one call is true for others only when it helped. */
const SHARED: readonly Quirk[] = [
  {
    id: 'adjusted-at-once',
    class: 14,
    wire: 'Chat Completions',
    vendor: 'OpenAI behind a gateway',
    source: 'The class: two tasks that begin at the same time',
    quirk: 'A parameter is refused in two requests at once, before either refusal is known.',
    right: 'Both requests are sent again without it.',
    async check() {
      await using server = await ScriptedServer.open();
      const bothCame = Promise.withResolvers<void>();
      let refused = 0;
      server.willAlwaysReply(async (response, sent) => {
        if (!('max_tokens' in sent.body))
          return events(streamOf('Chat Completions', { text: 'Done.' }))(response, sent);
        refused += 1;
        if (refused === 2) bothCame.resolve();
        await bothCame.promise;
        return status(400, { error: { message: UNSUPPORTED, param: 'max_tokens' } })(response, sent);
      });
      const provider = openaiWire.create({ baseUrl: server.url, apiKey: API_KEY, maxRetries: 0 });
      const answers = await Promise.all([1, 2].map(() => answerOf(provider, modelRequest({}))));
      expect(answers.map(({ content }) => content)).toEqual(
        [1, 2].map(() => [{ type: 'text', text: 'Done.' }]),
      );
    },
  },
  {
    id: 'adjusted-in-vain',
    class: 4,
    wire: 'Messages',
    vendor: 'Anthropic',
    source: 'Errors (platform.claude.com)',
    quirk: 'A request is refused for good, in words that seem to name blocks of the model.',
    right: 'Later requests hold the blocks, because their absence did not help.',
    async check() {
      const call = { thoughts: 'so', calls: [{ name: 'fs_list' }] };
      const message = 'messages.1.content.1: unexpected `tool_use_id` found in `tool_result` blocks: a.';
      const refusal = { status: 400, body: { error: { type: 'invalid_request_error', message } } };
      const failed = await ask({ wire: 'Messages', answers: [call, refusal] });
      expect([failed.state, failed.requests.length]).toEqual(['failed', 3]);
      const told = await ask({ wire: 'Messages', answers: [call, { text: 'Done.' }] });
      expect(told.state).toBe('completed');
      expect(json(told.requests[1]!.body.messages)).toContain('"signature":"SIGNED"');
    },
  },
];

export const ADJUSTMENTS: readonly Quirk[] = [...ROWS_OF_ONE, ...SHARED];
