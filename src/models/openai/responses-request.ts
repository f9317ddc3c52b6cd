import type {
  EasyInputMessage,
  ResponseCreateParamsStreaming,
  ResponseInputContent,
  ResponseInputItem,
} from 'openai/resources/responses/responses';
import type { AnswerBlock, FunctionResult, ModelRequest } from '../../core/model.js';
import {
  argumentsToSend,
  markedText,
  systemText,
  toContent,
  toVendorRequest,
  type Content,
  type UserTurn,
} from '../conversation.js';
import type { BodyContext } from '../vendor.js';
import { outputFormat } from './request.js';

/** The body of a Responses request. The vendor stores nothing: encrypted reasoning goes back as opaque blocks. */
export function toResponsesRequest(
  request: ModelRequest,
  { origin, endpoint, tuning: { effort, temperature }, adjusted }: BodyContext,
): ResponseCreateParamsStreaming {
  const { system, functions, turns } = toVendorRequest(request, { origin });
  const tools = functions.map((spec) => ({
    type: 'function' as const,
    ...spec,
    parameters: { ...spec.parameters },
    // The default would refuse schemas with optional properties.
    strict: false,
  }));
  return {
    model: endpoint.model,
    ...(!adjusted.has('max_output_tokens') && { max_output_tokens: request.maxTokens }),
    ...(effort && { reasoning: { effort } }),
    ...(temperature !== undefined && { temperature }),
    ...(request.output && {
      text: { format: { type: 'json_schema', name: 'answer', ...outputFormat(request.output, adjusted) } },
    }),
    stream: true,
    ...(!adjusted.has('store') && { store: false }),
    ...(!adjusted.has('include') && { include: ['reasoning.encrypted_content'] }),
    ...(system.length > 0 ? { instructions: systemText(system) } : {}),
    ...(tools.length > 0 ? { tools } : {}),
    input: turns.flatMap((turn) => (turn.role === 'user' ? userItems(turn) : turn.content.flatMap(toItems))),
  };
}

function userItems({ results, content }: UserTurn): readonly ResponseInputItem[] {
  return [
    ...results.map(toOutput),
    ...(content.length > 0 ? [{ role: 'user' as const, content: content.map(toInput) }] : []),
  ];
}

function toOutput(result: FunctionResult): ResponseInputItem {
  const { id, images } = result;
  const text = markedText(result);
  const output = images?.length ? toContent([{ kind: 'text', text }, ...images]).map(toInput) : text;
  return { type: 'function_call_output', call_id: id, output };
}

type Input = Extract<ResponseInputContent, { type: 'input_text' | 'input_image' }>;

function toInput(content: Content): Input {
  if (content.type === 'text') return { type: 'input_text', text: content.text };
  const url = `data:${content.mediaType};base64,${content.bytes}`;
  return { type: 'input_image', image_url: url, detail: 'auto' };
}

/** The type of the opaque block that holds the phase of the text after it. */
export const PHASE = 'phase';

function toItems(
  block: AnswerBlock,
  index: number,
  blocks: readonly AnswerBlock[],
): readonly ResponseInputItem[] {
  switch (block.type) {
    case 'text': {
      const before = blocks[index - 1];
      const { type, phase } = before?.type === 'opaque' ? before.block : {};
      return [{ role: 'assistant', content: block.text, ...(type === PHASE && { phase: phase as Phase }) }];
    }
    case 'function-call': {
      const text = JSON.stringify(argumentsToSend(block));
      return [{ type: 'function_call', call_id: block.id, name: block.name, arguments: text }];
    }
    case 'opaque':
      // Another block came from this API as an item and is sent back unchanged.
      return block.block.type === PHASE ? [] : [block.block as unknown as ResponseInputItem];
  }
}

type Phase = NonNullable<EasyInputMessage['phase']>;
