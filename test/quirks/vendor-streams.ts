import type { JsonObject } from '../../src/core/json.js';
import { anthropicEvent, anthropicStream } from '../support/anthropic-wire.js';
import { DONE, openaiChunk, openaiUsage } from '../support/openai-wire.js';

export type ModelWireName = 'Chat Completions' | 'Responses' | 'Messages';

export const MODEL_WIRES: readonly ModelWireName[] = ['Chat Completions', 'Responses', 'Messages'];

/** An output of a vendor. An omitted member is left out of the stream. */
export interface VendorAnswer {
  /** `reasoning_content`, an item of reasoning, or a thinking block with its signature. */
  readonly thoughts?: string;
  readonly text?: string;
  readonly calls?: readonly VendorCall[];
  /** The reason of the end in the vendor's own word. Default: that of a whole output. Responses: why it is incomplete. */
  readonly stop?: string;
  /** Further members of the first delta (Chat Completions), of the last one (Messages) or of the response (Responses). */
  readonly more?: JsonObject;
}

export interface VendorCall {
  /** Default: a new id. */
  readonly id?: string;
  readonly name: string;
  /** The arguments, or their text when it is not the JSON of an object. */
  readonly arguments?: JsonObject | string;
  /** Whether the stream ends before the vendor has closed the call. */
  readonly isOpen?: boolean;
  /** Further members of the call. */
  readonly more?: JsonObject;
}

/** The characters of one delta. */
const DELTA = /[\s\S]{1,20}/gu;
export const deltasOf = (text: string): readonly string[] => text.match(DELTA) ?? [];

let calls = 0;
export const newCallId = (): string => `call_${(calls += 1).toString().padStart(5, '0')}`;

export function argumentsOf({ arguments: given = {} }: VendorCall): string {
  return typeof given === 'string' ? given : JSON.stringify(given);
}

/** The event stream of an output, in deltas of 20 characters. */
export function streamOf(wire: ModelWireName, answer: VendorAnswer): string {
  return STREAMS[wire](answer);
}

const STREAMS: Readonly<Record<ModelWireName, (answer: VendorAnswer) => string>> = {
  'Chat Completions': ({ thoughts = '', text = '', calls = [], stop, more }) =>
    [
      openaiChunk({ role: 'assistant', content: '', ...more }),
      ...deltasOf(thoughts).map((reasoning_content) => openaiChunk({ reasoning_content })),
      ...deltasOf(text).map((content) => openaiChunk({ content })),
      ...calls.flatMap((call, index) => {
        const begun = { index, id: call.id ?? newCallId(), type: 'function', ...call.more };
        return [
          openaiChunk({ tool_calls: [{ ...begun, function: { name: call.name, arguments: '' } }] }),
          ...deltasOf(argumentsOf(call)).map((piece) =>
            openaiChunk({ tool_calls: [{ index, function: { arguments: piece } }] }),
          ),
        ];
      }),
      openaiChunk({}, stop ?? (calls.length > 0 ? 'tool_calls' : 'stop')),
      openaiUsage({ prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }),
      DONE,
    ].join(''),
  Messages: ({ thoughts, text, calls = [], stop, more }) => {
    const thinking = {
      start: { type: 'thinking', thinking: '', signature: '' },
      deltas: [
        ...deltasOf(thoughts ?? '').map((piece) => ({ type: 'thinking_delta', thinking: piece })),
        { type: 'signature_delta', signature: 'SIGNED' },
      ],
    };
    const said = {
      start: { type: 'text', text: '' },
      deltas: deltasOf(text ?? '').map((piece) => ({ type: 'text_delta', text: piece })),
    };
    const blocks = [
      ...(thoughts === undefined ? [] : [thinking]),
      ...(text === undefined ? [] : [said]),
      ...calls.map((call) => ({
        start: { type: 'tool_use', id: call.id ?? newCallId(), name: call.name, input: {}, ...call.more },
        deltas: deltasOf(argumentsOf(call)).map((partial_json) => ({
          type: 'input_json_delta',
          partial_json,
        })),
      })),
    ];
    const isOpen = calls.at(-1)?.isOpen === true;
    const stopReason = stop ?? (calls.length > 0 ? 'tool_use' : 'end_turn');
    const stream = anthropicStream({ blocks, stopReason, ...(more && { delta: more }) });
    const end = anthropicEvent({ type: 'content_block_stop', index: blocks.length - 1 });
    return isOpen ? stream.replace(end, '') : stream;
  },
  Responses: ({ thoughts, text, calls = [], stop, more }) => {
    const items: readonly ResponsesItem[] = [
      ...(thoughts === undefined
        ? []
        : [{ type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'ENCRYPTED' }]),
      ...(text === undefined ? [] : [{ type: 'message', id: 'msg_1', role: 'assistant', text }]),
      ...calls.map(({ id = newCallId(), name, more: own, ...call }) => ({
        ...{
          type: 'function_call',
          id: `fc_${id}`,
          call_id: id,
          name,
          text: argumentsOf(call as VendorCall),
        },
        ...{ isOpen: call.isOpen === true, ...own },
      })),
    ];
    const status = stop === undefined ? 'completed' : 'incomplete';
    const response = {
      ...{ id: 'resp_1', object: 'response', status },
      ...(stop !== undefined && { incomplete_details: { reason: stop } }),
      usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
      ...more,
    };
    return [
      responsesEvent('response.created', { response: { id: 'resp_1', status: 'in_progress', output: [] } }),
      ...items.flatMap(itemEvents),
      responsesEvent(`response.${status}`, { response }),
    ].join('');
  },
};

interface ResponsesItem {
  readonly type: string;
  readonly text?: string;
  readonly isOpen?: boolean;
  readonly [member: string]: unknown;
}

export function responsesEvent(type: string, members: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
}

function itemEvents({ text = '', isOpen = false, ...item }: ResponsesItem, at: number): readonly string[] {
  const event = (type: string, members: object) => responsesEvent(type, { output_index: at, ...members });
  const isCall = item.type === 'function_call';
  const content = [{ type: 'output_text', text, annotations: [] }];
  const whole = isCall ? { ...item, arguments: text } : item.type === 'message' ? { ...item, content } : item;
  const delta = isCall ? 'response.function_call_arguments.delta' : 'response.output_text.delta';
  return [
    event('response.output_item.added', { item: isCall ? { ...item, arguments: '' } : item }),
    ...deltasOf(text).map((piece) => event(delta, { delta: piece })),
    ...(isOpen ? [] : [event('response.output_item.done', { item: whole })]),
  ];
}
