import type { Anthropic } from '@anthropic-ai/sdk';
import { functionCalls, type AnswerBlock, type FunctionResult, type ModelRequest } from '../../core/model.js';
import { argumentsToSend, MARKED_TURNS, toContent, toVendorRequest } from '../conversation.js';
import type { Content, Turn, VendorRequest } from '../conversation.js';
import type { BodyContext, Tuning } from '../vendor.js';

const CACHED = { cache_control: { type: 'ephemeral' } } as const;
type Mark = Partial<typeof CACHED>;

/**
 * Makes the body of a Messages API request; opaque blocks of the provider are sent back. The API accepts four cache marks.
 * They are at the last function, at the last stable block of the instruction, at the end of the conversation, with which
 * the next request begins, and at the end of the turn before the last output, where the previous request ended.
 */
export function toAnthropicRequest(
  request: ModelRequest,
  { origin, endpoint, tuning, adjusted }: BodyContext,
): Anthropic.MessageCreateParamsStreaming {
  const { turns, ...prepared } = toVendorRequest(request, { origin });
  const { effort, temperature } = tuning;
  const mark = adjusted.has('cache_control') ? {} : CACHED;
  const lastStable = prepared.system.findLastIndex((block) => block.stable);
  const system = prepared.system.map(({ text }, index): Anthropic.TextBlockParam => ({
    type: 'text',
    text,
    ...(index === lastStable && mark),
  }));
  return {
    model: endpoint.model,
    max_tokens: request.maxTokens,
    stream: true,
    ...((request.output || effort) && {
      output_config: {
        // `config check` refuses the levels that only OpenAI has.
        ...(effort && { effort: effort as Anthropic.OutputConfig['effort'] }),
        ...(request.output && { format: { type: 'json_schema', schema: { ...request.output } } }),
      },
    }),
    ...thinkingField(tuning, request.maxTokens, turns),
    ...(temperature !== undefined && { temperature }),
    ...(system.length > 0 ? { system } : {}),
    ...toolFields(prepared.functions, turns, { mark, adjusted }),
    messages: turns.map((turn, at) => toMessage(turn, at >= turns.length - MARKED_TURNS ? mark : {})),
  };
}

/** The smallest budget that the API accepts. */
const MIN_THINKING_TOKENS = 1_024;

/** Sets no budget after results for an output that began without thinking (of another model): the API would refuse it. */
function thinkingField(
  { thinking }: Tuning,
  maxTokens: number,
  turns: readonly Turn[],
): Pick<Anthropic.MessageCreateParamsStreaming, 'thinking'> {
  if (thinking === undefined) return {};
  if (typeof thinking === 'string') return { thinking: { type: thinking === 'off' ? 'disabled' : thinking } };
  const [before, last] = turns.slice(-2);
  const isForeign = last?.role === 'user' && last.results.length > 0 && before?.content[0]?.type !== 'opaque';
  const budget = Math.min(thinking, maxTokens - 1);
  if (isForeign || budget < MIN_THINKING_TOKENS) return {};
  return { thinking: { type: 'enabled', budget_tokens: budget } };
}

/** The API refuses calls in a conversation when no tool is declared: functions called before are declared and forbidden. */
function toolFields(
  functions: VendorRequest['functions'],
  turns: readonly Turn[],
  { mark, adjusted }: { readonly mark: Mark; readonly adjusted: BodyContext['adjusted'] },
): Pick<Anthropic.MessageCreateParamsStreaming, 'tools' | 'tool_choice'> {
  const contents = turns.flatMap((turn) => (turn.role === 'assistant' ? turn.content : []));
  const called = [...new Set(functionCalls(contents).map(({ name }) => name))];
  const gone = called.map((name) => ({ name, description: 'Cannot be called any more.', parameters: {} }));
  const declared = functions.length > 0 ? functions : gone;
  const tools = declared.map(({ name, description, parameters }, index) => ({
    ...{ name, description, input_schema: { ...parameters, type: 'object' as const } },
    ...(index === declared.length - 1 && mark),
  }));
  const isForbidden = declared === gone && !adjusted.has('tool_choice');
  return tools.length === 0 ? {} : { tools, ...(isForbidden && { tool_choice: { type: 'none' } }) };
}

function toMessage(turn: Turn, mark: Mark): Anthropic.MessageParam {
  if (turn.role === 'assistant') return { role: 'assistant', content: turn.content.map(toBlock) };
  const blocks = [...turn.results.map(toResultBlock), ...turn.content.map(toContentBlock)];
  return {
    role: 'user',
    content: blocks.map((block, at) => (at === blocks.length - 1 ? { ...block, ...mark } : block)),
  };
}

function toBlock(block: AnswerBlock): Anthropic.ContentBlockParam {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text };
    case 'function-call':
      return { type: 'tool_use', id: block.id, name: block.name, input: argumentsToSend(block) };
    case 'opaque':
      // The block came from this API as a content block and is sent back unchanged.
      return block.block as unknown as Anthropic.ContentBlockParam;
  }
}

function toResultBlock({ id, content, images, isError }: FunctionResult): Anthropic.ToolResultBlockParam {
  const parts: readonly Content[] = toContent([{ kind: 'text', text: content }, ...(images ?? [])]);
  return {
    type: 'tool_result',
    tool_use_id: id,
    ...(parts.length > 0 ? { content: parts.map(toContentBlock) } : {}),
    ...(isError ? { is_error: true } : {}),
  };
}

function toContentBlock(content: Content): Anthropic.TextBlockParam | Anthropic.ImageBlockParam {
  if (content.type === 'text') return content;
  return { type: 'image', source: { type: 'base64', media_type: content.mediaType, data: content.bytes } };
}
