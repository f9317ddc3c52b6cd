import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4TextPart,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider';
import type { JsonObject } from '../../core/json.js';
import type { AnswerBlock, FunctionResult, ModelRequest } from '../../core/model.js';
import { argumentsToSend, toContent, toVendorRequest, type Content, type Turn } from '../conversation.js';
import type { BodyContext } from '../vendor.js';
import type { KnownModel } from './language-model.js';

type AssistantMessage = Extract<LanguageModelV4Message, { role: 'assistant' }>;
type AssistantPart = AssistantMessage['content'][number];
type UserPart = LanguageModelV4TextPart | LanguageModelV4FilePart;

/** The type of the opaque block that holds a whole part of an answer. */
export const PART = 'part';
/** The type of the opaque block that holds the opaque options of the text or call after it. */
export const OPTIONS = 'options';

export interface CallContext extends Pick<BodyContext, 'origin' | 'tuning'> {
  readonly model: Omit<KnownModel, 'doStream'>;
  readonly providerOptions?: JsonObject | undefined;
}

/** The options of `doStream`, without its signal. Opaque blocks of the provider are sent back. */
export function toCallOptions(request: ModelRequest, context: CallContext): LanguageModelV4CallOptions {
  const { model, tuning, providerOptions } = context;
  const receiver = { origin: context.origin, model: model.modelId };
  const { system, functions, turns } = toVendorRequest(request, receiver);
  const mark = cacheMark(model);
  const messages = turns.map((turn, index) => {
    const isMarked = mark && turn.role === 'user' && index >= turns.length - MARKED_TURNS;
    return marked(toMessages(turn, context), isMarked ? mark : undefined);
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
      tools: functions.map(({ name, description, parameters }) => ({
        ...{ type: 'function', name, description, inputSchema: { ...parameters } },
      })),
      toolChoice: { type: 'auto' },
    }),
    providerOptions: withoutStoring(model, (providerOptions ?? {}) as SharedV4ProviderOptions),
  };
}

/** Whether the model is one of the Responses API, which stores outputs unless it is told not to. */
const isOfResponses = ({ provider }: CallContext['model']): boolean =>
  /^(openai|azure)\.responses$/.test(provider);

/**
 * Has the Responses API store nothing, as the journal has all: with stored outputs, packages send references in place of
 * calls, whose ids are not those of this request.
 */
function withoutStoring(
  model: CallContext['model'],
  given: SharedV4ProviderOptions,
): SharedV4ProviderOptions {
  if (!isOfResponses(model)) return given;
  const [name = ''] = model.provider.split('.', 1);
  return { ...given, [name]: { store: false, ...given[name] } };
}

/** The last request of the user, the output before it, and the request before that. */
const MARKED_TURNS = 3;

/** The mark that has a vendor cache a request up to its place; undefined for vendors that cache by themselves, or not. */
function cacheMark({ provider, modelId }: CallContext['model']): SharedV4ProviderOptions | undefined {
  const cacheControl = { type: 'ephemeral' };
  if (provider.includes('anthropic')) return { anthropic: { cacheControl } };
  // Bedrock refuses the mark for its other models.
  if (provider === 'amazon-bedrock' && /anthropic\.|amazon\.nova/.test(modelId))
    return { bedrock: { cachePoint: { type: 'default' } } };
  if (provider.startsWith('openrouter') && modelId.startsWith('anthropic/'))
    return { openrouter: { cacheControl } };
  return undefined;
}

/** One message, since many chat templates accept a single one of the system; two, where the stable part is marked. */
function systemMessages(
  system: ModelRequest['system'],
  mark: SharedV4ProviderOptions | undefined,
): readonly LanguageModelV4Message[] {
  const last = mark ? system.findLastIndex((block) => block.stable) + 1 : 0;
  return [system.slice(0, last), system.slice(last)].flatMap((blocks, at) => {
    const content = blocks.map(({ text }) => text).join('\n\n');
    return blocks.length === 0 ? [] : marked([{ role: 'system', content }], at === 0 ? mark : undefined);
  });
}

function marked(
  messages: readonly LanguageModelV4Message[],
  providerOptions: SharedV4ProviderOptions | undefined,
): readonly LanguageModelV4Message[] {
  const last = messages.length - 1;
  return messages.map((message, at) =>
    providerOptions && at === last ? { ...message, providerOptions } : message,
  );
}

function toMessages(turn: Turn, { model }: CallContext): readonly LanguageModelV4Message[] {
  if (turn.role === 'assistant') {
    const parts = turn.content.flatMap(toAssistantParts);
    // A truncated answer may end with reasoning, which some vendors refuse at the end.
    const content = parts.slice(0, parts.findLastIndex(({ type }) => type !== 'reasoning') + 1);
    return content.length === 0 ? [] : [{ role: 'assistant', content }];
  }
  const { results, content } = turn;
  const said = joined([...results.flatMap(imagesOf), ...content]).map((part) => toUserPart(part, model));
  const needsBridge = results.length > 0 && said.length > 0 && isMistral(model);
  return [
    ...(results.length > 0 ? [{ role: 'tool' as const, content: results.map(toResult) }] : []),
    ...(needsBridge ? [BRIDGE] : []),
    ...(said.length > 0 ? [{ role: 'user' as const, content: said }] : []),
  ];
}

/** Mistral's models refuse a message of the user right after the results of calls. */
const isMistral = ({ provider, modelId }: CallContext['model']): boolean =>
  /mi[sx]tral|magistral|ministral|pixtral|codestral|devstral/i.test(`${provider} ${modelId}`);
const BRIDGE: AssistantMessage = {
  role: 'assistant',
  content: [{ type: 'text', text: 'I have the results.' }],
};

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

/** Most vendors take no images in a result. They follow the results, in a message of the user. */
function imagesOf({ id, name, images = [] }: FunctionResult): readonly Content[] {
  const content = toContent(images);
  if (content.length === 0) return [];
  return [{ type: 'text', text: `From the result of ${name} (${id}):` }, ...content];
}

function toResult({ id, name, content, isError }: FunctionResult): LanguageModelV4ToolResultPart {
  // Some packages send the text alone.
  const output = isError
    ? ({ type: 'error-text', value: `Error: ${content}` } as const)
    : ({ type: 'text', value: content } as const);
  return { type: 'tool-result', toolCallId: id, toolName: name, output };
}

/** In the versions before 4 of the contract, the bytes of a file stand alone. */
function toUserPart(content: Content, { specificationVersion }: CallContext['model']): UserPart {
  if (content.type === 'text') return { type: 'text', text: content.text };
  const { mediaType, bytes } = content;
  const data = { type: 'data', data: bytes } as const;
  return { type: 'file', mediaType, data: specificationVersion === 'v4' ? data : (bytes as never) };
}
