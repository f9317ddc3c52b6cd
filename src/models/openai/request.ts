import type {
  ChatCompletionContentPart,
  ChatCompletionCreateParamsStreaming,
  ChatCompletionMessageParam,
} from 'openai/resources/chat/completions';
import { answerText, functionCalls } from '../../core/model.js';
import type { AnswerBlock, FunctionResult, ModelRequest, SystemBlock } from '../../core/model.js';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.js';
import { listIn, objectIn } from '../loose.js';
import { argumentsToSend, toContent, toVendorRequest, type Content, type UserTurn } from '../conversation.js';
import type { BodyContext } from '../vendor.js';
import { callMembers, joinMembers, messageMembers } from './members.js';

/** The body of a Chat Completions request, limited to fields that compatible servers support. */
export function toOpenaiRequest(
  request: ModelRequest,
  { origin, endpoint, tuning: { effort, temperature } }: BodyContext,
): ChatCompletionCreateParamsStreaming {
  const { model } = endpoint;
  const { system, functions, turns } = toVendorRequest(request, { origin, model, needsText: true });
  const tools = functions.map(({ parameters, ...names }) => ({
    type: 'function' as const,
    function: { ...names, parameters: { ...parameters } },
  }));
  return {
    model,
    ...outputLimit(request.maxTokens, endpoint),
    ...(effort && { reasoning_effort: effort }),
    ...(temperature !== undefined && { temperature }),
    ...(request.output && {
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'answer', ...outputFormat(request.output) },
      },
    }),
    stream: true,
    stream_options: { include_usage: true },
    ...(tools.length > 0 ? { tools } : {}),
    messages: [
      // One message: many chat templates accept only a single one of the system, at the start.
      ...(system.length > 0 ? [{ role: 'system' as const, content: textOf(system) }] : []),
      ...turns.flatMap((turn) =>
        turn.role === 'user' ? userMessages(turn) : [assistantMessage(turn.content)],
      ),
    ],
  };
}

/** The schema for the output. Only with `strict` does a server guarantee that the output matches it. */
export const outputFormat = (schema: JsonObject) => ({ schema: { ...schema }, strict: isStrict(schema) });

/** Whether OpenAI can hold an output to this schema: each object lists all its keys and requires each of them. */
function isStrict(schema: Json | undefined): boolean {
  if (Array.isArray(schema)) return schema.every(isStrict);
  if (!isJsonObject(schema)) return true;
  const { properties, required, additionalProperties } = schema;
  const names = isJsonObject(properties) ? Object.keys(properties) : [];
  const isComplete = Array.isArray(required) && names.every((name) => required.includes(name));
  const isClosed = schema.type !== 'object' || (additionalProperties === false && isComplete);
  return isClosed && Object.values(schema).every(isStrict);
}

/** Newer models of OpenAI and Azure accept `max_completion_tokens` only; some other servers ignore that name. */
function outputLimit(maxTokens: number, { baseUrl }: BodyContext['endpoint']) {
  const isOpenai = /(^|\.)openai\.(com|azure\.com)$/.test(new URL(baseUrl).hostname);
  return isOpenai ? { max_completion_tokens: maxTokens } : { max_tokens: maxTokens };
}

/** The blocks of an instruction as one text. */
export const textOf = (system: readonly SystemBlock[]): string => system.map(({ text }) => text).join('\n\n');

/** One message for each result, then one for the images in them, since a tool message holds text only. */
function userMessages({ results, content }: UserTurn): readonly ChatCompletionMessageParam[] {
  const tail = [...results.flatMap(imagesOf), ...content];
  return [
    ...results.map(({ id, content: text, isError }) => ({
      role: 'tool' as const,
      tool_call_id: id,
      content: isError ? `Error: ${text}` : text,
    })),
    ...(tail.length > 0 ? [{ role: 'user' as const, content: userContent(tail) }] : []),
  ];
}

function imagesOf({ id, name, images = [] }: FunctionResult): readonly Content[] {
  const content = toContent(images);
  return content.length === 0
    ? []
    : [{ type: 'text', text: `From the result of ${name} (${id}):` }, ...content];
}

/** A plain string for text alone: some servers accept no list of parts. */
function userContent(content: readonly Content[]): string | ChatCompletionContentPart[] {
  const texts = content.flatMap((item) => (item.type === 'text' ? [item.text] : []));
  if (texts.length === content.length) return texts.join('\n\n');
  return content.map((item) =>
    item.type === 'text'
      ? item
      : { type: 'image_url', image_url: { url: `data:${item.mediaType};base64,${item.bytes}` } },
  );
}

/** An answer with the further members of its message and calls, which came from the same model. */
function assistantMessage(content: readonly AnswerBlock[]): ChatCompletionMessageParam {
  const { parts, ...members } = joinMembers(content.flatMap((block) => membersIn(block, messageMembers)));
  const calls = functionCalls(content).map((call) => {
    const before = content[content.indexOf(call) - 1];
    const { function: named, ...further } = joinMembers(before ? membersIn(before, callMembers) : []);
    const text = JSON.stringify(argumentsToSend(call));
    return {
      ...further,
      id: call.id,
      type: 'function' as const,
      function: { ...objectIn(named), name: call.name, arguments: text },
    };
  });
  const text = answerText(content);
  const texts = text === '' ? [] : [{ type: 'text', text }];
  return {
    ...members,
    role: 'assistant',
    content: parts ? [...listIn(parts), ...texts] : text === '' ? null : text,
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  } as ChatCompletionMessageParam;
}

function membersIn(
  block: AnswerBlock,
  read: (block: JsonObject) => JsonObject | undefined,
): readonly JsonObject[] {
  return block.type === 'opaque' ? [read(block.block) ?? []].flat() : [];
}
