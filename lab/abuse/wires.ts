import { deep } from './corpus.js';

/** The protocol of a vendor: its events, and how they are written. */
export interface Wire {
  /** A text, a call and the other events of the protocol. */
  readonly good: readonly object[];
  /** A response with the text "ok" only. */
  readonly plain: readonly object[];
  readonly write: (events: readonly unknown[]) => string;
  /** Parts of a response that does not end by itself. */
  readonly text: (text: string) => object;
  readonly call: (at: number, id: string, name: string) => object;
  readonly args: (at: number, text: string) => object;
  /** Events with false types, each followed by the end of the response. */
  readonly odd: Readonly<Record<string, readonly unknown[]>>;
  readonly begin: readonly object[];
  readonly end: readonly object[];
}

const VALUES = [5, 'x', null, true, [], {}, [null], [[]], { a: 1 }] as const;

/** An event for each odd value in place of one of its members. */
function inPlaceOf(
  name: string,
  make: (value: unknown) => readonly unknown[],
): Record<string, readonly unknown[]> {
  return Object.fromEntries(VALUES.map((value) => [`${name}: ${JSON.stringify(value)}`, make(value)]));
}

const plainEvents = (events: readonly unknown[]): string =>
  events.map((one) => `data: ${JSON.stringify(one)}\n\n`).join('');
const namedEvents = (events: readonly unknown[]): string =>
  events
    .map((one) => {
      const { type } = (one ?? {}) as { readonly type?: unknown };
      return `${typeof type === 'string' ? `event: ${type}\n` : ''}data: ${JSON.stringify(one)}\n\n`;
    })
    .join('');

const chunk = (delta: unknown, more: object = {}): object => ({
  ...{ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' },
  choices: [{ index: 0, delta, finish_reason: null, ...more }],
});
const chatCall = (at: unknown, id: unknown, name: unknown): object =>
  chunk({ tool_calls: [{ index: at, id, type: 'function', function: { name, arguments: '' } }] });
const chatArgs = (at: unknown, text: unknown): object =>
  chunk({ tool_calls: [{ index: at, function: { arguments: text } }] });
const chatEnd = chunk({}, { finish_reason: 'stop' });

export const CHAT: Wire = {
  write: (events) => `${plainEvents(events)}data: [DONE]\n\n`,
  begin: [],
  end: [chatEnd],
  plain: [chunk({ content: 'ok' }), chatEnd],
  text: (text) => chunk({ content: text }),
  call: chatCall,
  args: chatArgs,
  good: [
    chunk({ role: 'assistant', content: 'hel' }),
    chatCall(0, 'x', 'transfer_to_agent'),
    chatArgs(0, '{"agent_name":'),
    chunk({ content: 'lo' }),
    chunk({ content: [{ type: 'text', text: '!' }] }),
    chunk({}, { finish_reason: 'stop' }),
    {
      choices: [],
      usage: { prompt_tokens: 5, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 1 } },
    },
  ],
  odd: {
    ...inPlaceOf('choices', (value) => [{ choices: value }]),
    ...inPlaceOf('a choice', (value) => [{ choices: [value] }]),
    ...inPlaceOf('a delta', (value) => [chunk(value)]),
    ...inPlaceOf('content', (value) => [chunk({ content: value })]),
    ...inPlaceOf('a refusal', (value) => [chunk({ refusal: value })]),
    ...inPlaceOf('calls', (value) => [chunk({ tool_calls: value })]),
    ...inPlaceOf('a call', (value) => [chunk({ tool_calls: [value] })]),
    ...inPlaceOf('a function', (value) => [chunk({ tool_calls: [{ index: 0, id: 'a', function: value }] })]),
    ...inPlaceOf('a name', (value) => [chatCall(0, 'a', value)]),
    ...inPlaceOf('an id', (value) => [chatCall(0, value, 'transfer_to_agent')]),
    ...inPlaceOf('arguments', (value) => [chatCall(0, 'a', 'transfer_to_agent'), chatArgs(0, value)]),
    ...inPlaceOf('usage', (value) => [{ choices: [], usage: value }]),
    ...inPlaceOf('counts', (value) => [{ usage: { prompt_tokens: value, completion_tokens: value } }]),
    ...inPlaceOf('a reason', (value) => [chunk({}, { finish_reason: value })]),
    'a name with each piece of arguments': Array.from({ length: 20_000 }, (_, n) =>
      chunk({
        tool_calls: [{ index: 0, function: { name: 'x', arguments: n === 0 ? '{"a":["' : 'xxxxxxxxxx"}' } }],
      }),
    ),
    'counts below zero': [{ usage: { prompt_tokens: -1e9, completion_tokens: -5 } }],
    'counts beyond all': [{ usage: { prompt_tokens: 1e308, completion_tokens: 1e308 } }],
  },
};

const start = (index: unknown, content_block: unknown): object => ({
  type: 'content_block_start',
  index,
  content_block,
});
const delta = (index: unknown, value: unknown): object => ({
  type: 'content_block_delta',
  index,
  delta: value,
});
const tool = (id: unknown, name: unknown, input: unknown = {}): object => ({
  type: 'tool_use',
  id,
  name,
  input,
});
const messageStart = (usage: unknown = { input_tokens: 5, output_tokens: 1 }): object => ({
  type: 'message_start',
  message: { id: 'm', type: 'message', role: 'assistant', content: [], model: 'x', usage },
});
const messageDelta = (stop_reason: unknown, usage: unknown = { output_tokens: 3 }): object => ({
  type: 'message_delta',
  delta: { stop_reason, stop_sequence: null },
  usage,
});
const STOP = { type: 'message_stop' };

export const ANTHROPIC: Wire = {
  write: namedEvents,
  begin: [messageStart(), start(99, { type: 'text', text: '' })],
  end: [messageDelta('end_turn'), STOP],
  plain: [
    messageStart(),
    start(0, { type: 'text', text: '' }),
    delta(0, { type: 'text_delta', text: 'ok' }),
    messageDelta('end_turn'),
    STOP,
  ],
  text: (text) => delta(99, { type: 'text_delta', text }),
  call: (at, id, name) => start(at, tool(id, name)),
  args: (at, text) => delta(at, { type: 'input_json_delta', partial_json: text }),
  good: [
    messageStart(),
    start(0, { type: 'thinking', thinking: 'hm', signature: '' }),
    delta(0, { type: 'thinking_delta', thinking: ' so' }),
    delta(0, { type: 'signature_delta', signature: 'AAAA' }),
    { type: 'content_block_stop', index: 0 },
    start(1, { type: 'text', text: 'hel' }),
    delta(1, { type: 'text_delta', text: 'lo' }),
    start(2, tool('t', 'transfer_to_agent')),
    delta(2, { type: 'input_json_delta', partial_json: '{"agent_name":' }),
    start(3, { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }),
    delta(3, { type: 'input_json_delta', partial_json: '{"query":"x"}' }),
    start(4, { type: 'web_search_tool_result', tool_use_id: 's', content: [] }),
    messageDelta('tool_use'),
    STOP,
  ],
  odd: {
    ...inPlaceOf('a message', (value) => [{ type: 'message_start', message: value }]),
    ...inPlaceOf('usage', (value) => [messageStart(value), messageDelta('end_turn', value)]),
    ...inPlaceOf('counts', (value) => [messageStart({ input_tokens: value, output_tokens: value })]),
    ...inPlaceOf('an index', (value) => [start(value, { type: 'text', text: 'x' })]),
    ...inPlaceOf('a block', (value) => [start(0, value)]),
    ...inPlaceOf('a text at the start', (value) => [start(0, { type: 'text', text: value })]),
    ...inPlaceOf('a text', (value) => [
      start(0, { type: 'text', text: '' }),
      delta(0, { type: 'text_delta', text: value }),
    ]),
    ...inPlaceOf('a delta', (value) => [start(0, { type: 'text', text: '' }), delta(0, value)]),
    ...inPlaceOf('a name', (value) => [start(0, tool('a', value))]),
    ...inPlaceOf('an id', (value) => [start(0, tool(value, 'transfer_to_agent'))]),
    ...inPlaceOf('an input', (value) => [start(0, tool('a', 'transfer_to_agent', value))]),
    ...inPlaceOf('arguments', (value) => [
      start(0, tool('a', 'transfer_to_agent')),
      delta(0, { type: 'input_json_delta', partial_json: value }),
    ]),
    ...inPlaceOf('a thought', (value) => [
      start(0, { type: 'thinking', thinking: value, signature: value }),
      delta(0, { type: 'thinking_delta', thinking: value }),
      delta(0, { type: 'signature_delta', signature: value }),
    ]),
    ...inPlaceOf('a reason', (value) => [messageDelta(value)]),
    ...inPlaceOf('the end', (value) => [{ type: 'message_delta', delta: value, usage: value }]),
    'counts below zero': [messageStart({ input_tokens: -1e9, output_tokens: -5 })],
    'counts beyond all': [messageStart({ input_tokens: 1e308, cache_read_input_tokens: 1e308 })],
    'a pause each time': [messageDelta('pause_turn')],
    'a text of a block of another type': [
      start(0, tool('a', 'transfer_to_agent')),
      delta(0, { type: 'text_delta', text: 'x' }),
      delta(0, { type: 'thinking_delta', thinking: 'x' }),
    ],
    'a block of no known type': [
      start(0, { type: '__proto__', input: deep(10) }),
      start(1, { type: 'mcp_tool_use' }),
    ],
    'a nested block': [start(0, { type: 'redacted_thinking', data: JSON.parse(deep(1_000)) as unknown })],
    'a block of 900 KB': [start(0, { type: 'redacted_thinking', data: 'x'.repeat(900_000) })],
    '20,000 blocks': Array.from({ length: 10_000 }, (_, n) =>
      start(n, { type: 'redacted_thinking', data: 'x' }),
    ),
  },
};

const added = (output_index: unknown, item: unknown): object => ({
  type: 'response.output_item.added',
  output_index,
  item,
});
const done = (output_index: unknown, item: unknown): object => ({
  type: 'response.output_item.done',
  output_index,
  item,
});
const functionCall = (call_id: unknown, name: unknown, given: unknown = ''): object => ({
  type: 'function_call',
  call_id,
  name,
  arguments: given,
});
const said = (output_index: unknown, text: unknown): object => ({
  type: 'response.output_text.delta',
  output_index,
  delta: text,
});
const completed = (more: object = {}): object => ({
  type: 'response.completed',
  response: { status: 'completed', usage: { input_tokens: 5, output_tokens: 2 }, ...more },
});

export const RESPONSES: Wire = {
  write: namedEvents,
  begin: [{ type: 'response.created', response: { status: 'in_progress' } }],
  end: [completed()],
  plain: [added(0, { type: 'message', content: [] }), said(0, 'ok'), completed()],
  text: (text) => said(99, text),
  call: (at, id, name) => added(at, functionCall(id, name)),
  args: (at, text) => ({ type: 'response.function_call_arguments.delta', output_index: at, delta: text }),
  good: [
    added(0, { type: 'reasoning', encrypted_content: 'AAAA', summary: [] }),
    added(1, { type: 'message', content: [], phase: 'commentary' }),
    said(1, 'hel'),
    said(1, 'lo'),
    done(1, { type: 'message', content: [{ type: 'output_text', text: 'hello' }], phase: 'commentary' }),
    added(2, functionCall('f', 'transfer_to_agent')),
    { type: 'response.function_call_arguments.delta', output_index: 2, delta: '{"agent_name":' },
    done(2, functionCall('f', 'transfer_to_agent', '{"agent_name":"x"}')),
    completed({ incomplete_details: null, output: [] }),
  ],
  odd: {
    ...inPlaceOf('an item', (value) => [added(0, value), done(1, value)]),
    ...inPlaceOf('a place', (value) => [added(value, { type: 'message' }), said(value, 'x')]),
    ...inPlaceOf('a text', (value) => [added(0, { type: 'message' }), said(0, value)]),
    ...inPlaceOf('a refusal', (value) => [{ type: 'response.refusal.delta', output_index: 0, delta: value }]),
    ...inPlaceOf('a name', (value) => [done(0, functionCall('a', value, '{}'))]),
    ...inPlaceOf('an id', (value) => [done(0, functionCall(value, 'transfer_to_agent', '{}'))]),
    ...inPlaceOf('arguments', (value) => [done(0, functionCall('a', 'transfer_to_agent', value))]),
    ...inPlaceOf('a piece of arguments', (value) => [
      added(0, functionCall('a', 'transfer_to_agent')),
      { type: 'response.function_call_arguments.delta', output_index: 0, delta: value },
    ]),
    ...inPlaceOf('a thought', (value) => [
      done(0, { type: 'reasoning', encrypted_content: value, summary: value }),
    ]),
    ...inPlaceOf('a phase', (value) => [added(0, { type: 'message', phase: value }), said(0, 'x')]),
    ...inPlaceOf('content', (value) => [completed({ output: [{ type: 'message', content: value }] })]),
    ...inPlaceOf('a part', (value) => [completed({ output: [{ type: 'message', content: [value] }] })]),
    ...inPlaceOf('a text of a part', (value) => [
      completed({ output: [{ type: 'message', content: [{ text: value, refusal: value }] }] }),
    ]),
    ...inPlaceOf('output', (value) => [completed({ output: value })]),
    ...inPlaceOf('an item of the output', (value) => [completed({ output: [value] })]),
    ...inPlaceOf('a response', (value) => [{ type: 'response.completed', response: value }]),
    ...inPlaceOf('usage', (value) => [completed({ usage: value })]),
    ...inPlaceOf('counts', (value) => [completed({ usage: { input_tokens: value, output_tokens: value } })]),
    ...inPlaceOf('an error', (value) => [completed({ error: value })]),
    ...inPlaceOf('a reason', (value) => [completed({ incomplete_details: { reason: value } })]),
    'counts below zero': [completed({ usage: { input_tokens: -1e9, output_tokens: -5 } })],
    'counts beyond all': [completed({ usage: { input_tokens: 1e308, output_tokens: 1e308 } })],
    'a nested thought': [
      done(0, { type: 'reasoning', encrypted_content: JSON.parse(deep(1_000)) as unknown }),
    ],
    '20,000 items': Array.from({ length: 10_000 }, (_, n) => added(n, { type: 'message' })),
  },
};
