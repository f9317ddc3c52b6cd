import { listIn, objectIn, textIn, type JsonObject } from '../../src/core/json.js';
import { isJsonObject } from '../../src/core/json.js';
import type { ModelWireName } from './vendor-streams.js';

/** A rule of a vendor: returns the reason why the vendor refuses the body of a request, undefined when it does not. */
export type VendorRule = (body: JsonObject) => string | undefined;

const objects = (value: unknown): readonly JsonObject[] => listIn(value).map(objectIn);

/** All vendors refuse half an emoji: their parsers of JSON accept well-formed Unicode only. */
const isWellFormed: VendorRule = (body) => {
  const broken = textsIn(body).find((text) => !text.isWellFormed());
  return broken && 'The request body is not valid JSON: no low surrogate in string';
};

function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) => [key, ...textsIn(member)]);
}

function misnamed(names: readonly string[], pattern: RegExp, where: string): string | undefined {
  const wrong = names.find((name) => !pattern.test(name));
  if (wrong !== undefined) return `Invalid '${where}': string does not match pattern '${pattern.source}'.`;
  return undefined;
}

const isRootObject = (schema: unknown): boolean => isJsonObject(schema) && schema.type === 'object';

/** The refusals of OpenAI over Chat Completions. */
const CHAT: readonly VendorRule[] = [
  isWellFormed,
  ({ messages }) => (listIn(messages).length === 0 ? "'messages' must not be empty." : undefined),
  ({ tools }) => {
    const functions = objects(tools).map((tool) => objectIn(tool.function));
    if (functions.length > 128) return "Invalid 'tools': array too long. Expected maximum length 128.";
    if (!functions.every(({ parameters }) => isRootObject(parameters)))
      return "Invalid schema for function: schema must be of type 'object'.";
    return misnamed(
      functions.map(({ name }) => textIn(name)),
      /^[a-zA-Z0-9_-]{1,64}$/,
      'tools[0].function.name',
    );
  },
  ({ messages }) => {
    const calls = objects(messages).flatMap((message) => objects(message.tool_calls));
    const names = calls.map((call) => textIn(objectIn(call.function).name));
    if (calls.some(({ id }) => textIn(id).length > 40))
      return "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40.";
    return misnamed(names, /^[a-zA-Z0-9_-]{1,64}$/, 'messages[1].tool_calls[0].function.name');
  },
  ({ messages }) => {
    let open: readonly string[] = [];
    for (const message of objects(messages)) {
      if (message.role === 'tool') {
        const id = textIn(message.tool_call_id);
        if (!open.includes(id))
          return "messages with role 'tool' must be a response to a preceding message with 'tool_calls'.";
        open = open.filter((other) => other !== id);
        continue;
      }
      if (open.length > 0)
        return `An assistant message with 'tool_calls' must be followed by tool messages: ${open.join()}`;
      open = objects(message.tool_calls).map(({ id }) => textIn(id));
      if (message.role === 'assistant' && open.length === 0 && !message.content)
        return "Invalid value for 'content': expected a string, got null.";
    }
    return open.length > 0 ? `No tool message responds to ${open.join()}` : undefined;
  },
];

/** The refusals of OpenAI over Responses. */
const RESPONSES: readonly VendorRule[] = [
  isWellFormed,
  ({ tools }) =>
    misnamed(
      objects(tools).map(({ name }) => textIn(name)),
      /^[a-zA-Z0-9_-]{1,64}$/,
      'tools[0].name',
    ),
  ({ input }) => {
    const items = objects(input);
    const idsOf = (type: string) =>
      items.filter((item) => item.type === type).map((item) => textIn(item.call_id));
    const [calls, outputs] = [idsOf('function_call'), idsOf('function_call_output')];
    if ([...calls, ...outputs].some((id) => id.length > 64))
      return "Invalid 'input[1].call_id': string too long. Expected a string with maximum length 64.";
    const orphan = outputs.find((id) => !calls.includes(id));
    if (orphan) return `No tool call found for function call output with call_id ${orphan}.`;
    const lost = calls.find((id) => !outputs.includes(id));
    if (lost) return `No tool output found for function call ${lost}.`;
    const names = items.filter(({ type }) => type === 'function_call').map(({ name }) => textIn(name));
    return misnamed(names, /^[a-zA-Z0-9_-]{1,64}$/, 'input[1].name');
  },
  ({ input }) => {
    const items = objects(input);
    const lonely = items.findIndex(({ type }, at) => type === 'reasoning' && isEndOfOutput(items[at + 1]));
    return lonely < 0
      ? undefined
      : `Item '${textIn(items[lonely]!.id)}' of type 'reasoning' was provided without its required following item.`;
  },
];

function isEndOfOutput(next: JsonObject | undefined): boolean {
  return next === undefined || next.role === 'user' || next.type === 'function_call_output';
}

/** The refusals of Anthropic. */
const MESSAGES: readonly VendorRule[] = [
  isWellFormed,
  ({ tools }) => {
    const names = objects(tools).map(({ name }) => textIn(name));
    if (new Set(names).size < names.length) return 'tools: Tool names must be unique.';
    const schemas = objects(tools).map((tool) => objectIn(tool.input_schema));
    if (!schemas.every(isRootObject)) return 'tools.0.custom.input_schema.type: Field required';
    if (schemas.some((schema) => ['oneOf', 'anyOf', 'allOf'].some((key) => key in schema)))
      return 'tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level';
    const keys = schemas.flatMap((schema) => Object.keys(objectIn(schema.properties)));
    return (
      misnamed(names, /^[a-zA-Z0-9_-]{1,128}$/, 'tools.0.custom.name') ??
      misnamed(keys, /^[a-zA-Z0-9_.-]{1,64}$/, 'tools.0.custom.input_schema.properties')
    );
  },
  ({ messages }) => {
    const blocks = objects(messages).flatMap(({ content }) => objects(content));
    if (blocks.some(({ type, text }) => type === 'text' && textIn(text).trim() === ''))
      return 'messages: text content blocks must contain non-whitespace text';
    if (blocks.some(({ type, signature }) => type === 'thinking' && !signature))
      return 'messages.1.content.0.thinking.signature: Field required';
    const uses = blocks.filter(({ type }) => type === 'tool_use');
    const ids = uses.map(({ id }) => textIn(id));
    if (new Set(ids).size < ids.length) return 'messages: `tool_use` ids must be unique';
    if (!uses.every(({ input }) => isJsonObject(input))) return 'tool_use.input: Input should be an object';
    return (
      misnamed(ids, /^[a-zA-Z0-9_-]+$/, 'messages.1.content.0.tool_use.id') ??
      misnamed(
        uses.map(({ name }) => textIn(name)),
        /^[a-zA-Z0-9_-]{1,200}$/,
        'messages.1.content.0.tool_use.name',
      )
    );
  },
  ({ messages }) => {
    const list = objects(messages);
    if (list.length === 0 || list[0]!.role !== 'user')
      return 'messages: first message must use the "user" role';
    let open: readonly string[] = [];
    for (const { role, content } of list) {
      const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : objects(content);
      if (blocks.length === 0) return 'messages: all messages must have non-empty content';
      const results = blocks
        .filter(({ type }) => type === 'tool_result')
        .map((block) => textIn(objectIn(block).tool_use_id));
      const first = blocks.slice(0, results.length);
      if (role === 'user' && first.some(({ type }) => type !== 'tool_result'))
        return 'messages: tool_result blocks must come first in content';
      if (results.some((id) => !open.includes(id)))
        return 'messages: unexpected `tool_use_id` found in `tool_result` blocks';
      if (open.some((id) => !results.includes(id)))
        return '`tool_use` ids were found without `tool_result` blocks immediately after';
      if (role === 'assistant' && /thinking$/.test(textIn(blocks.at(-1)!.type)))
        return 'messages: The final block in an assistant message cannot be `thinking`';
      open = blocks.filter(({ type }) => type === 'tool_use').map((block) => textIn(objectIn(block).id));
    }
    return open.length > 0 ? '`tool_use` ids were found without `tool_result` blocks' : undefined;
  },
];

/** The refusals of the vendor that defined a wire. */
export const RULES: Readonly<Record<ModelWireName, readonly VendorRule[]>> = {
  'Chat Completions': CHAT,
  Responses: RESPONSES,
  Messages: MESSAGES,
};

/** The body with which a vendor refuses a request. */
export function refusalBody(wire: ModelWireName, message: string): JsonObject {
  const type = 'invalid_request_error';
  return wire === 'Messages'
    ? { type: 'error', error: { type, message } }
    : { error: { message, type, param: null, code: null } };
}
