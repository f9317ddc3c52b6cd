import type {
  ChatCompletionContentPart,
  ChatCompletionCreateParamsStreaming,
  ChatCompletionMessageParam,
} from 'openai/resources/chat/completions';
import {
  answerText,
  functionCalls,
  type AnswerBlock,
  type FunctionResult,
  type ModelRequest,
  type SystemBlock,
} from '../../core/model.js';
import { argumentsToSend, toContent, toVendorRequest, type Content, type UserTurn } from '../conversation.js';
import type { Endpoint } from '../failure.js';

/** The body of a Chat Completions request, kept to what compatible servers understand. */
export function toOpenaiRequest(
  request: ModelRequest,
  endpoint: Endpoint,
  providerId: string,
): ChatCompletionCreateParamsStreaming {
  const { system, functions, turns } = toVendorRequest(request, providerId);
  const tools = functions.map(({ parameters, ...names }) => ({
    type: 'function' as const,
    function: { ...names, parameters: { ...parameters } },
  }));
  return {
    model: endpoint.model,
    ...answerLimit(request.maxTokens, endpoint),
    stream: true,
    stream_options: { include_usage: true },
    ...(tools.length > 0 ? { tools } : {}),
    messages: [
      ...systemMessage(system),
      ...turns.flatMap((turn) =>
        turn.role === 'user' ? userMessages(turn) : [assistantMessage(turn.content)],
      ),
    ],
  };
}

/**
 * OpenAI's own hosts (Azure's too) want `max_completion_tokens`: their newer models refuse the older name. All
 * other servers get `max_tokens`, which every one knows, while some ignore the newer name.
 */
function answerLimit(
  maxTokens: number,
  { baseUrl }: Endpoint,
): Pick<ChatCompletionCreateParamsStreaming, 'max_tokens' | 'max_completion_tokens'> {
  const isOpenai = /(^|\.)openai\.(com|azure\.com)$/.test(new URL(baseUrl).hostname);
  return isOpenai ? { max_completion_tokens: maxTokens } : { max_tokens: maxTokens };
}

/** One message, since many chat templates take a single one at the start. */
function systemMessage(system: readonly SystemBlock[]): readonly ChatCompletionMessageParam[] {
  const texts = system.map((block) => block.text);
  return texts.length > 0 ? [{ role: 'system', content: texts.join('\n\n') }] : [];
}

/** The results first, each in its message; images in them follow, because a tool message holds text only. */
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

function imagesOf({ id, name, images }: FunctionResult): readonly Content[] {
  const content = toContent(images ?? []);
  return content.length > 0
    ? [{ type: 'text', text: `From the result of ${name} (${id}):` }, ...content]
    : [];
}

/** Plain text where there is nothing else: not every server takes a list of parts. */
function userContent(content: readonly Content[]): string | ChatCompletionContentPart[] {
  const texts = content.flatMap((item) => (item.type === 'text' ? [item.text] : []));
  if (texts.length === content.length) return texts.join('\n\n');
  return content.map((item) =>
    item.type === 'text'
      ? item
      : { type: 'image_url', image_url: { url: `data:${item.mediaType};base64,${item.bytes}` } },
  );
}

function assistantMessage(content: readonly AnswerBlock[]): ChatCompletionMessageParam {
  const calls = functionCalls(content).map((call) => ({
    id: call.id,
    type: 'function' as const,
    function: { name: call.name, arguments: JSON.stringify(argumentsToSend(call)) },
  }));
  const text = answerText(content);
  return {
    role: 'assistant',
    content: text === '' ? null : text,
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  };
}
