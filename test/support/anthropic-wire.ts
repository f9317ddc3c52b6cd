import { silentLogger } from '../../src/core/logger.js';
import { createAnthropicProvider } from '../../src/models/anthropic/provider.js';
import type { AnswerScript, ModelWire } from './model-wire.js';

/** The Messages API's event stream for a list of content blocks, each given with its deltas. */
export function anthropicStream(script: {
  readonly blocks: readonly { readonly start: object; readonly deltas?: readonly object[] }[];
  readonly stopReason: string;
  /** Further members of the last delta. */
  readonly delta?: object;
  readonly usage?: { readonly start?: object; readonly end?: object };
}): string {
  const blocks = script.blocks.flatMap(({ start, deltas }, index) => [
    anthropicEvent({ type: 'content_block_start', index, content_block: start }),
    ...(deltas ?? []).map((delta) => anthropicEvent({ type: 'content_block_delta', index, delta })),
    anthropicEvent({ type: 'content_block_stop', index }),
  ]);
  return [
    anthropicStart(script.usage?.start),
    anthropicEvent({ type: 'ping' }),
    ...blocks,
    anthropicEvent({
      type: 'message_delta',
      delta: { stop_reason: script.stopReason, stop_sequence: null, ...script.delta },
      usage: { output_tokens: 7, ...script.usage?.end },
    }),
    anthropicEvent({ type: 'message_stop' }),
  ].join('');
}

export function anthropicEvent(data: { readonly type: string } & Record<string, unknown>): string {
  return `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
}

export function textBlock(...pieces: readonly string[]) {
  return {
    start: { type: 'text', text: '' },
    deltas: pieces.map((text) => ({ type: 'text_delta', text })),
  };
}

export function toolUseBlock(id: string, name: string, ...json: readonly string[]) {
  return {
    start: { type: 'tool_use', id, name, input: {} },
    deltas: json.map((partial_json) => ({ type: 'input_json_delta', partial_json })),
  };
}

function anthropicStart(usage: object = {}): string {
  return anthropicEvent({
    type: 'message_start',
    message: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude-test',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 25, output_tokens: 1, ...usage },
    },
  });
}

const STOP_REASONS: Record<AnswerScript['stop'], string> = {
  end: 'end_turn',
  'function-calls': 'tool_use',
  'max-tokens': 'max_tokens',
  'context-window': 'model_context_window_exceeded',
  refusal: 'refusal',
};

const ERROR_TYPES = {
  overloaded: 'overloaded_error',
  'rate-limited': 'rate_limit_error',
  rejected: 'invalid_request_error',
} as const;

export const anthropicWire: ModelWire = {
  create: (options) => createAnthropicProvider({ model: 'claude-test', logger: silentLogger, ...options }),
  answer: ({ texts = [], calls = [], stop }) =>
    anthropicStream({
      blocks: [
        ...(texts.length > 0 ? [textBlock(...texts)] : []),
        ...calls.map(({ id, name, json }) => toolUseBlock(id, name, ...json)),
      ],
      stopReason: STOP_REASONS[stop],
    }),
  beginning: (text) =>
    anthropicStart() +
    (text === ''
      ? ''
      : anthropicEvent({
          type: 'content_block_start',
          index: 0,
          content_block: { type: 'text', text: '' },
        })) +
    (text === ''
      ? ''
      : anthropicEvent({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })),
  streamError: (code, message) =>
    anthropicEvent({ type: 'error', error: { type: ERROR_TYPES[code], message } }),
  errorBody: (message) => ({ type: 'error', error: { type: 'some_error', message }, request_id: 'req_1' }),
  usage: { input: 25, output: 7, cached: 0 },
  begun: { input: 25, output: 1, cached: 0 },
  key: (headers) => headers.authorization?.replace('Bearer ', ''),
  sent: (body) => {
    const messages = body.messages as unknown as { role: string; content: SentBlock[] }[];
    return {
      maxTokens: body.max_tokens as number,
      functions: ((body.tools ?? []) as unknown as { name: string; input_schema: object }[]).map((tool) => ({
        name: tool.name,
        parameters: tool.input_schema,
      })),
      messages: messages.flatMap(({ role, content }) => {
        const kinds = content.map((block) => {
          if (block.type === 'tool_use') return `call ${block.id}`;
          if (block.type === 'tool_result') return `result ${block.tool_use_id}`;
          return block.type === 'text' ? block.text! : block.type;
        });
        return [`${role}: ${kinds.join(' | ')}`];
      }),
    };
  },
};

interface SentBlock {
  readonly type: string;
  readonly id?: string;
  readonly tool_use_id?: string;
  readonly text?: string;
}
