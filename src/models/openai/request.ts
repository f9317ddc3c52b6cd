import type {
  ChatCompletionContentPart,
  ChatCompletionCreateParamsStreaming,
  ChatCompletionMessageParam,
} from 'openai/resources/chat/completions';
import { answerText, functionCalls } from '../../core/model.js';
import type { AnswerBlock, FunctionCall, ModelRequest } from '../../core/model.js';
import { isJsonObject, listIn, objectIn, type Json, type JsonObject } from '../../core/json.js';
import { shortHash } from '../call-ids.js';
import {
  argumentsToSend,
  markedText,
  systemText,
  toVendorRequest,
  type Content,
  type UserTurn,
} from '../conversation.js';
import { thoughtsIn } from '../thoughts.js';
import type { BodyContext } from '../vendor.js';
import { joinMembers, membersOf } from './members.js';

/** The body of a Chat Completions request, limited to fields that compatible servers support. */
export function toOpenaiRequest(
  request: ModelRequest,
  { origin, endpoint, tuning: { effort, temperature }, adjusted }: BodyContext,
): ChatCompletionCreateParamsStreaming {
  const { model } = endpoint;
  const needsBridge = adjusted.has('order');
  const receiver = { origin, model, needsText: true, takesTextResults: true, needsBridge };
  const { system, functions, turns } = toVendorRequest(request, receiver);
  const tools = functions.map(({ parameters, ...names }) => ({
    type: 'function' as const,
    function: { ...names, parameters: { ...parameters } },
  }));
  return {
    model,
    ...outputLimit(request.maxTokens, { endpoint, adjusted }),
    ...(effort && { reasoning_effort: effort }),
    ...(temperature !== undefined && { temperature }),
    ...(request.output && {
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'answer', ...outputFormat(request.output, adjusted) },
      },
    }),
    stream: true,
    ...(!adjusted.has('stream_options') && { stream_options: { include_usage: true } }),
    ...(tools.length > 0 ? { tools } : {}),
    messages: [
      // One message: many chat templates accept only a single one of the system, at the start.
      ...(system.length > 0 ? [{ role: 'system' as const, content: systemText(system) }] : []),
      ...turns.flatMap((turn) =>
        turn.role === 'user' ? userMessages(turn) : [assistantMessage(turn.content, adjusted)],
      ),
    ],
  };
}

/** The schema for the output. Only with `strict` does a server guarantee that the output matches it. */
export const outputFormat = (schema: JsonObject, adjusted: BodyContext['adjusted']) => ({
  schema: { ...schema },
  ...(!adjusted.has('strict') && { strict: isStrict(schema) }),
});

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
function outputLimit(maxTokens: number, { endpoint, adjusted }: Pick<BodyContext, 'endpoint' | 'adjusted'>) {
  const isOpenai = /(^|\.)openai\.(com|azure\.com)$/.test(new URL(endpoint.baseUrl).hostname);
  const names = ['max_tokens', 'max_completion_tokens'] as const;
  const name = (isOpenai ? names.toReversed() : names).find((one) => !adjusted.has(one));
  return name ? { [name]: maxTokens } : {};
}

function userMessages({ results, content }: UserTurn): readonly ChatCompletionMessageParam[] {
  const ofCalls = results.map((result) => {
    return { role: 'tool' as const, tool_call_id: result.id, content: markedText(result) };
  });
  return [
    ...ofCalls,
    ...(content.length > 0 ? [{ role: 'user' as const, content: userContent(content) }] : []),
  ];
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
function assistantMessage(content: readonly AnswerBlock[], adjusted: BodyContext['adjusted']) {
  const { parts, ...members } = joinMembers(content.map((block) => membersOf(block, 'chat-message')));
  const calls = functionCalls(content);
  const toolCalls = calls.map((call) => {
    const { function: named, ...further } = membersOf(content[content.indexOf(call) - 1], 'chat-call');
    const text = JSON.stringify(argumentsToSend(call));
    return {
      ...(adjusted.has('signatures') && FOREIGN_CALL),
      ...further,
      id: call.id,
      type: 'function' as const,
      function: { ...objectIn(named), name: call.name, arguments: text },
    };
  });
  const thoughts = content.map((block) => (block.type === 'opaque' ? thoughtsIn(block.block) : '')).join('');
  const text = thoughts + answerText(content);
  const texts = text === '' ? [] : [{ type: 'text', text }];
  const empty = adjusted.has('null-content') ? '' : null;
  return {
    ...(adjusted.has('thoughts') && { reasoning_content: foreignThought(text, calls) }),
    ...members,
    role: 'assistant',
    content: parts ? [...listIn(parts), ...texts] : text === '' ? empty : text,
    ...(calls.length > 0 ? { tool_calls: toolCalls } : {}),
  } as ChatCompletionMessageParam;
}

/** The signature that Google's documentation names for calls of other models, which have none. */
const FOREIGN_CALL = {
  extra_content: { google: { thought_signature: 'skip_thought_signature_validator' } },
};

/** A thought for a message of another model. Each differs: models fall into repeating one that is always the same. */
function foreignThought(text: string, [first, ...others]: readonly FunctionCall[]): string {
  if (!first) return `I answer (${shortHash(text)}).`;
  return `I call ${[first, ...others].map(({ name }) => name).join(' and ')} (${first.id}).`;
}
