import { silentLogger } from '../../src/core/logger.js';
import { createOpenaiProvider } from '../../src/models/openai/provider.js';
import type { AnswerScript, ModelWire } from './model-wire.js';

/** An event of a Responses stream. */
function responsesEvent(event: { readonly type: string }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

const USAGE = { input_tokens: 25, output_tokens: 7, input_tokens_details: { cached_tokens: 5 } };

const REASONS: Partial<Record<AnswerScript['stop'], string>> = {
  'max-tokens': 'max_output_tokens',
  refusal: 'content_filter',
};

function delta(type: string, text: string, at: number): string {
  return responsesEvent({ type: `response.${type}.delta`, output_index: at, delta: text } as {
    type: string;
  });
}

function item(moment: 'added' | 'done', at: number, value: object): string {
  return responsesEvent({ type: `response.output_item.${moment}`, output_index: at, item: value } as {
    type: string;
  });
}

/** OpenAI's Responses API, with a model that reasons before each response. */
export const responsesWire: ModelWire = {
  create: ({ baseUrl, ...options }) =>
    createOpenaiProvider({
      ...{ model: 'gpt-test', logger: silentLogger, baseUrl: `${baseUrl}/v1`, api: 'responses' },
      ...options,
    }),
  answer: ({ texts = [], calls = [], stop }) => {
    const reason = REASONS[stop];
    const status = reason ? 'incomplete' : 'completed';
    const output = [
      ...(texts.length > 0 ? [{ type: 'message', content: [{ text: texts.join('') }] }] : []),
      ...calls.map((call) => ({ type: 'function_call', call_id: call.id, name: call.name })),
    ];
    const first = texts.length > 0 ? 1 : 0;
    return [
      responsesEvent({ type: 'response.created' }),
      ...output.map((value, at) => item('added', at, { ...value, arguments: '', content: [] })),
      ...texts.map((text) => delta('output_text', text, 0)),
      ...calls.flatMap(({ json }, index) =>
        json.map((text) => delta('function_call_arguments', text, index + first)),
      ),
      ...calls.map(({ id, name, json }, index) =>
        item('done', index + first, {
          type: 'function_call',
          call_id: id,
          name,
          arguments: json.join(''),
        }),
      ),
      responsesEvent({
        type: `response.${status}`,
        response: { status, usage: USAGE, ...(reason && { incomplete_details: { reason } }) },
      } as { type: string }),
    ].join('');
  },
  beginning: (text) => responsesEvent({ type: 'response.created' }) + delta('output_text', text, 0),
  streamError: (code, message) =>
    responsesEvent({ type: 'error', code: CODES[code], message, param: null } as { type: string }),
  errorBody: (message) => ({ error: { message, type: 'some_error', param: null, code: null } }),
  usage: { input: 25, output: 7, cached: 5 },
  key: (headers) => headers.authorization?.replace('Bearer ', ''),
  sent: (body) => ({
    maxTokens: body.max_output_tokens as number,
    functions: ((body.tools ?? []) as unknown as { name: string; parameters: object }[]).map(
      ({ name, parameters }) => ({ name, parameters }),
    ),
    messages: asLines(body.input as unknown as SentItem[]),
  }),
};

const CODES = {
  overloaded: 'server_error',
  'rate-limited': 'rate_limit_exceeded',
  rejected: 'invalid_request_error',
} as const;

interface SentItem {
  readonly type?: string;
  readonly role?: string;
  readonly call_id?: string;
  readonly content?: string | readonly { readonly text: string }[];
}

/** One line a turn: adjacent items of one side form one turn. */
function asLines(items: readonly SentItem[]): string[] {
  const lines: string[] = [];
  for (const { type = 'message', role, call_id: id, content = '' } of items) {
    const isCall = type === 'function_call';
    const side = role ?? (isCall ? 'assistant' : 'user');
    const said = typeof content === 'string' ? content : content.map(({ text }) => text).join(' | ');
    const words = type === 'message' ? said : `${isCall ? 'call' : 'result'} ${id}`;
    const last = lines.at(-1);
    if (last?.startsWith(`${side}: `)) lines[lines.length - 1] = `${last} | ${words}`;
    else lines.push(`${side}: ${words}`);
  }
  return lines;
}
