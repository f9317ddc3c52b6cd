import type {
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
} from '@ai-sdk/provider';
import { isJsonObject, type JsonObject } from '../../core/json.js';
import { NO_USAGE, type AnswerBlock, type Usage } from '../../core/model.js';
import { keepableObject, toFunctionCall, withOwnIds } from '../conversation.js';
import type { Ended } from '../ends.js';
import { OutputBounds } from '../exchange.js';
import { connectionFailure, type Endpoint } from '../failure.js';
import { countIn, objectIn, textIn } from '../loose.js';
import { isForeignEvent, toModelFailure } from './failure.js';
import { OPTIONS, PART } from './request.js';

type Part = LanguageModelV4StreamPart;
type Metadata = SharedV4ProviderMetadata | undefined;

/** A text or reasoning block whose stream may not have ended. */
interface Draft {
  readonly kind: 'text' | 'reasoning';
  text: string;
  options: JsonObject;
}

/** Assembles the parts of one stream of a model of the AI SDK into an output. */
export class AiSdkOutputReader {
  readonly #origin: string;
  readonly #endpoint: Endpoint;
  readonly #bounds = new OutputBounds();
  readonly #blocks: (Draft | readonly AnswerBlock[])[] = [];
  readonly #open = new Map<string, Draft>();
  #usage: Usage = NO_USAGE;
  #reason: string | undefined;

  constructor(origin: string, endpoint: Endpoint) {
    this.#origin = origin;
    this.#endpoint = endpoint;
  }

  /** Whether the output has ended. */
  get isWhole(): boolean {
    return this.#reason !== undefined;
  }

  /** Takes the next part and returns the new text in it, empty when there is none. Throws `ModelFailure`. */
  accept(part: Part): string {
    switch (part.type) {
      case 'text-start':
      case 'reasoning-start':
        this.#begin(part.type === 'text-start' ? 'text' : 'reasoning', part.id, part.providerMetadata);
        return '';
      case 'text-delta':
        return this.#grow('text', part);
      case 'reasoning-delta':
        this.#grow('reasoning', part);
        return '';
      case 'text-end':
      case 'reasoning-end':
        this.#grow(part.type === 'text-end' ? 'text' : 'reasoning', { ...part, delta: '' });
        return '';
      case 'error':
        if (isForeignEvent(part.error)) return '';
        throw toModelFailure(part.error, this.#endpoint);
      case 'finish':
        this.#finish(part);
        return '';
      default:
        return this.#keep(part);
    }
  }

  ended(): Ended {
    const blocks = this.#blocks.flatMap((block) => ('kind' in block ? this.#finished(block) : block));
    return {
      reason: this.#reason ?? '',
      isAccountedFor: this.#reason === '',
      content: withOwnIds(blocks),
      usage: this.#usage,
    };
  }

  #begin(kind: Draft['kind'], id: string, metadata: Metadata): Draft {
    const draft: Draft = { kind, text: '', options: this.#optionsOf(metadata) };
    this.#open.set(`${kind} ${id}`, draft);
    this.#add(draft);
    return draft;
  }

  #add(block: Draft | readonly AnswerBlock[]): void {
    this.#blocks.push(block);
    this.#bounds.blocks(this.#blocks.length);
  }

  #grow(
    kind: Draft['kind'],
    { id, delta, providerMetadata }: { id: string; delta: string; providerMetadata?: Metadata },
  ): string {
    const draft = this.#open.get(`${kind} ${id}`) ?? this.#begin(kind, id, undefined);
    const added = this.#bounds.chunk(textIn(delta));
    draft.text += added;
    if (providerMetadata) draft.options = merged(draft.options, this.#optionsOf(providerMetadata));
    return added;
  }

  /** Keeps a whole part of the output. Other kinds of parts, such as sources, are no part of the conversation. */
  #keep(part: Part): string {
    switch (part.type) {
      case 'tool-call':
        this.#add(part.providerExecuted === true ? this.#executedCall(part) : this.#call(part));
        return '';
      case 'tool-result': {
        if (part.preliminary === true) return '';
        const { toolCallId, toolName, result, providerMetadata } = part;
        const output = { type: 'json', value: result };
        this.#add(this.#part({ type: 'tool-result', toolCallId, toolName, output }, providerMetadata));
        return '';
      }
      case 'custom':
        this.#add(this.#part({ type: 'custom', kind: part.kind }, part.providerMetadata));
        return '';
      case 'reasoning-file': {
        const { mediaType, providerMetadata } = part;
        const data = plainData(part.data);
        this.#add(this.#part({ type: 'reasoning-file', mediaType, data }, providerMetadata));
        return '';
      }
      case 'file': {
        const text = `[The model made a file (${part.mediaType}), which cannot be shown.]`;
        this.#add([...this.#options(part.providerMetadata), { type: 'text', text }]);
        return text;
      }
      default:
        return '';
    }
  }

  #call(part: Extract<Part, { type: 'tool-call' }>): readonly AnswerBlock[] {
    const argumentsText = this.#bounds.chunk(textIn(part.input));
    // A package closes a call that a limit has cut with what has arrived.
    const isOpen = keepableObject(argumentsText) === undefined;
    const written = { id: textIn(part.toolCallId), name: textIn(part.toolName), argumentsText, isOpen };
    const call = toFunctionCall(written);
    return [...this.#options(part.providerMetadata), call];
  }

  /** A call that the vendor carried out itself. Its result follows. */
  #executedCall(part: Extract<Part, { type: 'tool-call' }>): readonly AnswerBlock[] {
    const { toolCallId, toolName, providerMetadata } = part;
    const input = keepableObject(part.input) ?? {};
    return this.#part(
      { type: 'tool-call', toolCallId, toolName, input, providerExecuted: true },
      providerMetadata,
    );
  }

  #finished({ kind, text, options }: Draft): readonly AnswerBlock[] {
    const hasOptions = Object.keys(options).length > 0;
    if (text === '' && !hasOptions) return [];
    // A blank text is a whole part, since blank texts are left out of requests, and its options would go with it.
    if (kind === 'reasoning' || text.trim() === '') return this.#part({ type: kind, text }, options);
    return [...(hasOptions ? [this.#optionsBlock(options)] : []), { type: 'text', text }];
  }

  /** A part of a prompt that is sent back as it is. */
  #part(part: object, metadata: Metadata | JsonObject): readonly AnswerBlock[] {
    const options = this.#optionsOf(metadata);
    const hasOptions = Object.keys(options).length > 0;
    const whole = this.#plain({ ...part, ...(hasOptions && { providerOptions: options }) });
    return [{ type: 'opaque', provider: this.#origin, block: { type: PART, part: whole } }];
  }

  /** The block with the options of the text or call after it. */
  #options(metadata: Metadata): readonly AnswerBlock[] {
    const options = this.#optionsOf(metadata);
    return Object.keys(options).length > 0 ? [this.#optionsBlock(options)] : [];
  }

  #optionsBlock(providerOptions: JsonObject): AnswerBlock {
    return { type: 'opaque', provider: this.#origin, block: { type: OPTIONS, providerOptions } };
  }

  #optionsOf(metadata: Metadata | JsonObject): JsonObject {
    return metadata ? this.#plain(metadata) : {};
  }

  /** The object as the journal keeps it. */
  #plain(given: object): JsonObject {
    return keepableObject(this.#bounds.chunk(JSON.stringify(given))) ?? {};
  }

  #finish({ usage, finishReason }: Extract<Part, { type: 'finish' }>): void {
    this.#usage = toUsage(usage);
    this.#reason = reasonIn(finishReason, this.#endpoint);
  }
}

/** Adds the members of each provider: later parts of a block may hold the rest of its options. */
function merged(first: JsonObject, second: JsonObject): JsonObject {
  const entries = Object.entries(second).map(([name, value]) => [
    name,
    { ...objectIn(first[name]), ...objectIn(value) },
  ]);
  return { ...first, ...(Object.fromEntries(entries) as JsonObject) };
}

function plainData(data: { readonly type: string; readonly data?: unknown; readonly url?: URL }): object {
  if (data.type === 'url') return { type: 'url', url: String(data.url) };
  const bytes = data.data;
  return { type: 'data', data: bytes instanceof Uint8Array ? Buffer.from(bytes).toString('base64') : bytes };
}

/** Reads the counts of version 3 and 4 of the contract, and those of version 2, which are plain numbers. */
function toUsage(usage: LanguageModelV4Usage | undefined): Usage {
  const counts = objectIn(usage);
  const { inputTokens, outputTokens, cachedInputTokens } = counts;
  const [input, output] = [objectIn(inputTokens), objectIn(outputTokens)];
  const cached = countIn(isJsonObject(inputTokens) ? input.cacheRead : cachedInputTokens);
  const written = countIn(input.cacheWrite);
  return {
    input: Math.max(countIn(isJsonObject(inputTokens) ? input.total : inputTokens), cached + written),
    output: countIn(isJsonObject(outputTokens) ? output.total : outputTokens),
    cached,
    ...(written ? { written } : {}),
  };
}

/** The vendor's word for the end, as far as the package kept it. In version 2 of the contract the reason is a plain word. */
function reasonIn(finish: LanguageModelV4FinishReason | string, endpoint: Endpoint): string {
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
      if (raw === undefined) throw connectionFailure(undefined, endpoint);
      return raw;
  }
}
