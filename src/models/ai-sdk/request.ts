import type { LanguageModelV4CallOptions, SharedV4ProviderOptions } from '@ai-sdk/provider';
import type { JsonObject } from '../../core/json.js';
import type { AnswerBlock, FunctionResult, ModelRequest } from '../../core/model.js';
import {
  argumentsToSend,
  markedText,
  MARKED_TURNS,
  systemText,
  toVendorRequest,
  type Content,
  type Turn,
} from '../conversation.js';
import type { BodyContext } from '../vendor.js';
import type { KnownModel } from './package.js';

type Message = LanguageModelV4CallOptions['prompt'][number];
type PartOf<Role extends Message['role']> = Extract<Message, { role: Role }>['content'][number];
type AssistantPart = PartOf<'assistant'>;

/** The type of the opaque block that holds a whole part of an answer. */
export const PART = 'part';
/** The type of the opaque block that holds the opaque options of the text or call after it. */
export const OPTIONS = 'options';

export interface CallContext extends Pick<BodyContext, 'origin' | 'tuning' | 'adjusted'> {
  readonly model: Omit<KnownModel, 'doStream'>;
  readonly providerOptions?: JsonObject | undefined;
}

/** The options of `doStream`, without its signal. Opaque blocks of the provider are sent back. */
export function toCallOptions(request: ModelRequest, context: CallContext): LanguageModelV4CallOptions {
  const { model, tuning, providerOptions } = context;
  const needsBridge = context.adjusted.has('order');
  const receiver = { origin: context.origin, model: model.modelId, takesTextResults: true, needsBridge };
  const { system, functions, turns } = toVendorRequest(request, receiver);
  const mark = CACHE_MARKS.find(([models]) => models.test(`${model.provider} ${model.modelId}`))?.[1];
  const messages = turns.map((turn, index) => {
    const isMarked = mark && turn.role === 'user' && index >= turns.length - MARKED_TURNS;
    return marked(toMessages(turn, model), isMarked ? mark : undefined);
  });
  return {
    prompt: [...systemMessages(system, mark), ...messages.flat()],
    maxOutputTokens: request.maxTokens,
    ...(tuning.temperature !== undefined && { temperature: tuning.temperature }),
    ...(tuning.effort && { reasoning: tuning.effort }),
    ...(request.output && {
      responseFormat: { type: 'json', name: 'answer', schema: { ...request.output } },
    }),
    ...(functions.length > 0 && {
      tools: functions.map(({ parameters, ...names }) => ({
        ...{ type: 'function', ...names, inputSchema: { ...parameters } },
      })),
      toolChoice: { type: 'auto' },
    }),
    providerOptions: withoutStoring(model, (providerOptions ?? {}) as SharedV4ProviderOptions),
  };
}

/**
 * Has the Responses API store nothing, as the journal has all: with stored outputs, packages send references in place of
 * calls, whose ids are not those of this request.
 */
function withoutStoring({ provider }: CallContext['model'], given: SharedV4ProviderOptions) {
  const name = /^(openai|azure)\.responses$/.exec(provider)?.[1];
  return name ? { ...given, [name]: { store: false, ...given[name] } } : given;
}

const EPHEMERAL = { cacheControl: { type: 'ephemeral' } };

/** The marks that have vendors cache a request up to their place, by provider and model. Others cache by themselves, or not. */
const CACHE_MARKS: readonly (readonly [RegExp, SharedV4ProviderOptions])[] = [
  [/^\S*anthropic/, { anthropic: EPHEMERAL }],
  // Bedrock refuses the mark for its other models.
  [/^amazon-bedrock .*(anthropic\.|amazon\.nova)/, { bedrock: { cachePoint: { type: 'default' } } }],
  [/^openrouter\S* anthropic\//, { openrouter: EPHEMERAL }],
];

/** One message, since many chat templates accept a single one of the system; two, where the stable part is marked. */
function systemMessages(system: ModelRequest['system'], mark: SharedV4ProviderOptions | undefined) {
  const last = mark ? system.findLastIndex((block) => block.stable) + 1 : 0;
  const messages = [system.slice(0, last), system.slice(last)].map((blocks, at) =>
    marked([{ role: 'system', content: systemText(blocks) }], at === 0 ? mark : undefined),
  );
  return messages.flat().filter(({ content }) => content !== '');
}

function marked(messages: readonly Message[], mark: SharedV4ProviderOptions | undefined): readonly Message[] {
  const last = messages.at(-1);
  return mark && last ? [...messages.slice(0, -1), { ...last, providerOptions: mark }] : messages;
}

function toMessages(turn: Turn, model: CallContext['model']): readonly Message[] {
  if (turn.role === 'assistant')
    return [{ role: 'assistant', content: turn.content.flatMap(toAssistantParts) }];
  const { results } = turn;
  const said = joined(turn.content).map((part) => toUserPart(part, model));
  return [
    ...(results.length > 0 ? [{ role: 'tool' as const, content: results.map(toResult) }] : []),
    ...(said.length > 0 ? [{ role: 'user' as const, content: said }] : []),
  ];
}

function toAssistantParts(
  block: AnswerBlock,
  index: number,
  blocks: readonly AnswerBlock[],
): readonly AssistantPart[] {
  const before = blocks[index - 1];
  const isOptions = before?.type === 'opaque' && before.block.type === OPTIONS;
  const given = isOptions ? (before.block.providerOptions as SharedV4ProviderOptions) : undefined;
  const options = given && { providerOptions: given };
  switch (block.type) {
    case 'text':
      return [{ type: 'text', text: block.text, ...options }];
    case 'function-call': {
      const { id: toolCallId, name: toolName } = block;
      return [{ type: 'tool-call', toolCallId, toolName, input: argumentsToSend(block), ...options }];
    }
    case 'opaque':
      // Any other block came from this provider as a part and is sent back unchanged.
      return block.block.type === PART ? [block.block.part as unknown as AssistantPart] : [];
  }
}

/** One text in place of adjacent ones: packages send a single text as a plain string, and some servers accept no lists. */
function joined(content: readonly Content[]): readonly Content[] {
  return content.reduce<Content[]>((parts, part) => {
    const last = parts.at(-1);
    if (last?.type !== 'text' || part.type !== 'text') return [...parts, part];
    return [...parts.slice(0, -1), { type: 'text', text: `${last.text}\n\n${part.text}` }];
  }, []);
}

function toResult(result: FunctionResult): PartOf<'tool'> {
  const type = result.isError ? 'error-text' : 'text';
  // Some packages send the text alone.
  const output = { type, value: markedText(result) } as const;
  return { type: 'tool-result', toolCallId: result.id, toolName: result.name, output };
}

/** In the versions before 4 of the contract, the bytes of a file stand alone. */
function toUserPart(content: Content, { specificationVersion }: CallContext['model']): PartOf<'user'> {
  if (content.type === 'text') return { type: 'text', text: content.text };
  const { mediaType, bytes } = content;
  const data = { type: 'data', data: bytes } as const;
  return { type: 'file', mediaType, data: specificationVersion === 'v4' ? data : (bytes as never) };
}
