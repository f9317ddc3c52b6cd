import { textOf } from '../core/message.js';
import type { AnswerBlock } from '../core/model.js';
import type { Attributes } from '../core/node-status.js';
import type { EventBody } from '../core/task.js';
import { shorten } from '../core/text.js';

const TEXT_CHARACTERS = 16_384;

/** Returns the texts of people, models and tools in an event of the journal, as attributes of its span. */
export function contentOf(body: EventBody): Attributes {
  switch (body.type) {
    case 'message':
      return { 'gen_ai.input.messages': saidBy('user', toText(textOf(body.message.parts))) };
    case 'turn-end':
      return { 'gen_ai.output.messages': saidBy('assistant', ...body.content.flatMap(toPart)) };
    case 'tool-call':
      return { 'gen_ai.tool.call.arguments': short(JSON.stringify(body.arguments)) };
    case 'tool-result':
      return { 'gen_ai.tool.call.result': short(body.result.content) };
    case 'delegation-start':
      return { 'gen_ai.input.messages': saidBy('user', toText(body.request)) };
    case 'delegation-end':
      return { 'gen_ai.output.messages': saidBy('assistant', toText(body.result.content)) };
    default:
      return {};
  }
}

/** A list with one message, in the JSON form of the conventions. */
const saidBy = (role: string, ...parts: readonly object[]): string => JSON.stringify([{ role, parts }]);

const toText = (text: string): object => ({ type: 'text', content: short(text) });

/** Converts a block of a model's output. Leaves out blocks that only their vendor can read, such as signed thoughts. */
function toPart(block: AnswerBlock): readonly object[] {
  if (block.type === 'text') return [toText(block.text)];
  if (block.type === 'opaque') return [];
  const given = short(JSON.stringify(block.arguments ?? null));
  return [{ type: 'tool_call', id: block.id, name: block.name, arguments: given }];
}

const short = (text: string): string => shorten(text, TEXT_CHARACTERS);
