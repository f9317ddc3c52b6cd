import type { LanguageModelV4FinishReason, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { countIn, isJsonObject, objectIn, textIn, type JsonObject } from '../../core/json.js';
import { NO_USAGE, type AnswerBlock, type Usage } from '../../core/model.js';
import { keepableObject, toFunctionCall } from '../conversation.js';
import type { Ended } from '../ends.js';
import { opaque, OutputBounds, usageOf, type OutputReader } from '../exchange.js';
import type { Endpoint } from '../failure.js';
import { isForeignEvent, toModelFailure } from './failure.js';
import { OPTIONS, PART } from './request.js';

type Part = LanguageModelV4StreamPart;
type PartOf<Type extends Part['type']> = Extract<Part, { type: Type }>;
type GrowingPart = PartOf<`${'text' | 'reasoning'}-${'start' | 'delta' | 'end'}`>;

/** A block of the answer, or a part of another type that goes back as it is. A text or reasoning may still grow. */
interface Draft {
  readonly part: { readonly type: string; text?: string };
  options: JsonObject;
}

/** Assembles the parts of one stream of a model of the AI SDK into an output. */
export class AiSdkOutputReader implements OutputReader<Part> {
  readonly #bounds = new OutputBounds();
  readonly #drafts: Draft[] = [];
  readonly #open = new Map<string, Draft>();
  #usage: Usage = NO_USAGE;
  #reason: string | undefined;

  get isWhole(): boolean {
    return this.#reason !== undefined;
  }

  accept(part: Part, endpoint: Endpoint): string {
    switch (part.type) {
      case 'text-start':
      case 'text-delta':
      case 'text-end':
        return this.#grow('text', part);
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end':
        this.#grow('reasoning', part);
        break;
      case 'tool-call':
        this.#add(part.providerExecuted === true ? executedCall(part) : functionCall(part), part);
        break;
      case 'tool-result': {
        const { type, toolCallId, toolName, result: value, preliminary } = part;
        const output = { type: 'json', value };
        if (preliminary !== true) this.#add({ type, toolCallId, toolName, output }, part);
        break;
      }
      case 'custom':
      case 'reasoning-file': {
        const { providerMetadata: _, ...own } = part;
        this.#add(own, part);
        break;
      }
      case 'file': {
        const text = `[The model made a file (${part.mediaType}), which cannot be shown.]`;
        this.#add({ type: 'text', text }, part);
        return text;
      }
      case 'error':
        if (!isForeignEvent(part.error)) throw toModelFailure(part.error, endpoint);
        break;
      case 'finish':
        this.#usage = toUsage(part.usage);
        this.#reason = reasonIn(part.finishReason);
        break;
      default:
      // Other parts, such as sources, are no part of the conversation.
    }
    return '';
  }

  ended(): Ended {
    return {
      reason: this.#reason ?? '',
      isAccountedFor: this.#reason === '',
      content: this.#drafts.flatMap(finished),
      usage: this.#usage,
    };
  }

  #add(
    part: Draft['part'] & Record<string, unknown>,
    { providerMetadata = {} }: { readonly providerMetadata?: object },
  ): Draft {
    const draft = { part, options: plain(providerMetadata) };
    this.#bounds.chunk(written(draft));
    this.#drafts.push(draft);
    this.#bounds.blocks(this.#drafts.length);
    return draft;
  }

  #grow(type: 'text' | 'reasoning', given: GrowingPart): string {
    const key = `${type} ${given.id}`;
    const begun = given.type.endsWith('-start') ? undefined : this.#open.get(key);
    const draft = begun ?? this.#add({ type, text: '' }, given);
    this.#open.set(key, draft);
    const added = 'delta' in given ? this.#bounds.chunk(textIn(given.delta)) : '';
    draft.part.text += added;
    draft.options = merged(draft.options, plain(given.providerMetadata ?? {}));
    return added;
  }
}

function finished({ part, options }: Draft): readonly AnswerBlock[] {
  const hasOptions = Object.keys(options).length > 0;
  // A blank text is a whole part, since blank texts are left out of requests, and its options would go with it.
  const isBlock = part.type === 'function-call' || (part.type === 'text' && part.text?.trim() !== '');
  if (isBlock) {
    const block = part as AnswerBlock;
    return hasOptions ? [opaque({ type: OPTIONS, providerOptions: options }), block] : [block];
  }
  if (part.text === '' && !hasOptions) return [];
  return [opaque({ type: PART, part: plain({ ...part, ...(hasOptions && { providerOptions: options }) }) })];
}

/** The object as the journal keeps it. */
const plain = (given: object): JsonObject => keepableObject(written(given)) ?? {};

/** The JSON of an object, with its bytes as Base64. */
function written(given: object): string {
  return JSON.stringify(given, function (this: Record<string, unknown>, name, value: unknown) {
    const own = this[name];
    return own instanceof Uint8Array ? Buffer.from(own).toString('base64') : value;
  });
}

function functionCall({ toolCallId, toolName, input }: PartOf<'tool-call'>) {
  const argumentsText = textIn(input);
  // A package closes a call that a limit has cut with what has arrived.
  const isOpen = keepableObject(argumentsText) === undefined;
  const call = { id: textIn(toolCallId), name: textIn(toolName), argumentsText };
  return { ...toFunctionCall(call, isOpen) };
}

/** A call that the vendor carried out itself. Its result follows. */
function executedCall({ type, toolCallId, toolName, input }: PartOf<'tool-call'>) {
  return { type, toolCallId, toolName, input: keepableObject(input) ?? {}, providerExecuted: true };
}

/** Adds the members of each provider: later parts of a block may hold the rest of its options. */
function merged(first: JsonObject, second: JsonObject): JsonObject {
  const names = Object.keys({ ...first, ...second });
  return Object.fromEntries(
    names.map((name) => [name, { ...objectIn(first[name]), ...objectIn(second[name]) }]),
  );
}

/** Reads the counts of version 3 and 4 of the contract, and those of version 2, which are plain numbers. */
function toUsage(usage: unknown): Usage {
  const { inputTokens, outputTokens, cachedInputTokens } = objectIn(usage);
  const input = isJsonObject(inputTokens)
    ? inputTokens
    : { total: inputTokens, cacheRead: cachedInputTokens };
  const output = isJsonObject(outputTokens) ? outputTokens.total : outputTokens;
  const [cached, written] = [countIn(input.cacheRead), countIn(input.cacheWrite)];
  return usageOf({ input: Math.max(countIn(input.total), cached + written), output, cached, written });
}

/** The vendor's word for the end, as far as the package kept it. In version 2 of the contract the reason is a plain word. */
function reasonIn(finish: LanguageModelV4FinishReason | string): string | undefined {
  const { unified, raw } = typeof finish === 'string' ? { unified: finish, raw: undefined } : finish;
  switch (unified) {
    case 'stop':
    case 'tool-calls':
      return 'stop';
    case 'content-filter':
      return 'refusal';
    case 'length':
      // Packages call a full window so too.
      return raw && /window|context|model_?length/i.test(raw) ? raw : 'length';
    case 'error':
      return raw ?? 'error';
    default:
      // Packages end the stream of a lost connection without the vendor's own reason.
      return raw;
  }
}
