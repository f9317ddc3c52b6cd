import { silentLogger } from '../../src/core/logger.js';
import { createOpenaiProvider } from '../../src/models/openai/provider.js';
import type { AnswerScript, ModelWire } from './model-wire.js';

export const DONE = 'data: [DONE]\n\n';

export function openaiEvent(data: unknown): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

/** A chunk of a Chat Completions stream with one choice. */
export function openaiChunk(delta: object, finishReason: string | null = null): string {
  return openaiEvent({
    ...HEAD,
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finishReason }],
  });
}

export function openaiUsage(usage: object): string {
  return openaiEvent({ ...HEAD, choices: [], usage });
}

const HEAD = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'gpt-test' };

const FINISH_REASONS: Record<AnswerScript['stop'], string> = {
  end: 'stop',
  'function-calls': 'tool_calls',
  'max-tokens': 'length',
  'context-window': 'model_context_window_exceeded',
  refusal: 'content_filter',
};

const ERROR_CODES = {
  overloaded: 'server_error',
  'rate-limited': 'rate_limit_exceeded',
  rejected: 'invalid_request_error',
} as const;

export const openaiWire: ModelWire = {
  create: ({ baseUrl, ...options }) =>
    createOpenaiProvider({ model: 'gpt-test', logger: silentLogger, baseUrl: `${baseUrl}/v1`, ...options }),
  answer: ({ texts = [], calls = [], stop }) =>
    [
      openaiChunk({ role: 'assistant', content: '' }),
      ...texts.map((content) => openaiChunk({ content })),
      // The calls grow at the same time, as parallel calls do on some servers.
      ...calls.map(({ id, name }, index) =>
        openaiChunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }),
      ),
      ...interleaved(calls.map((call) => call.json)).map(({ index, piece }) =>
        openaiChunk({ tool_calls: [{ index, function: { arguments: piece } }] }),
      ),
      openaiChunk({}, FINISH_REASONS[stop]),
      openaiUsage({ prompt_tokens: 25, completion_tokens: 7, total_tokens: 32 }),
      DONE,
    ].join(''),
  beginning: (text) => openaiChunk({ role: 'assistant', content: text }),
  streamError: (code, message) => openaiEvent({ error: { type: ERROR_CODES[code], code: null, message } }),
  errorBody: (message) => ({ error: { message, type: 'some_error', param: null, code: null } }),
  usage: { input: 25, output: 7, cached: 0 },
  key: (headers) => headers.authorization?.replace('Bearer ', ''),
  sent: (body) => {
    const messages = body.messages as unknown as SentMessage[];
    return {
      maxTokens: body.max_tokens as number,
      functions: ((body.tools ?? []) as unknown as { function: { name: string; parameters: object } }[]).map(
        (tool) => ({ name: tool.function.name, parameters: tool.function.parameters }),
      ),
      messages: inAnthropicShape(messages),
    };
  },
};

function interleaved(lists: readonly (readonly string[])[]): { index: number; piece: string }[] {
  const longest = Math.max(0, ...lists.map((list) => list.length));
  return Array.from({ length: longest }, (_, at) =>
    lists.flatMap((list, index) => (list[at] === undefined ? [] : [{ index, piece: list[at] }])),
  ).flat();
}

interface SentMessage {
  readonly role: string;
  readonly content: string | null;
  readonly tool_calls?: readonly { readonly id: string }[];
  readonly tool_call_id?: string;
}

/** One line a turn: tool messages and the user message after them form one turn. */
function inAnthropicShape(messages: readonly SentMessage[]): string[] {
  const lines: string[] = [];
  for (const message of messages) {
    const role = message.role === 'tool' ? 'user' : message.role;
    const words = [
      ...(message.tool_call_id ? [`result ${message.tool_call_id}`] : (message.content?.split('\n\n') ?? [])),
      ...(message.tool_calls ?? []).map((call) => `call ${call.id}`),
    ].join(' | ');
    const last = lines.at(-1);
    if (role === 'user' && last?.startsWith('user: result')) lines[lines.length - 1] = `${last} | ${words}`;
    else lines.push(`${role}: ${words}`);
  }
  return lines;
}
