import type {
  ContentBlock,
  RawContentBlockDelta,
  RawMessageStreamEvent,
} from '@anthropic-ai/sdk/resources/messages/messages';
import type { JsonObject } from '../../core/json.js';
import type { AnswerBlock, Usage } from '../../core/model.js';
import type { ServerEvent } from '../event-stream.js';
import { parseEvent, type AnswerReader } from '../exchange.js';
import { inStreamFailure, type Endpoint } from '../failure.js';
import { parseObject, toFunctionCall } from '../conversation.js';

const EVENTS: ReadonlySet<string> = new Set<RawMessageStreamEvent['type'] | 'error' | ''>([
  'message_start',
  'content_block_start',
  'content_block_delta',
  'content_block_stop',
  'message_delta',
  'message_stop',
  'error',
  '',
]);

type TokenCounts = Partial<
  Record<
    'input_tokens' | 'output_tokens' | 'cache_creation_input_tokens' | 'cache_read_input_tokens',
    number | null
  >
>;

/** A content block whose stream has not ended. */
interface Draft {
  block: ContentBlock;
  /** The JSON of its input that has arrived so far. */
  inputText: string;
}

/** Assembles the events of one Messages API stream into an answer. */
export class AnthropicAnswerReader implements AnswerReader {
  readonly #providerId: string;
  readonly #endpoint: Endpoint;
  readonly #drafts = new Map<number, Draft>();
  #counts: TokenCounts = {};
  #stopReason: string | undefined;

  constructor(providerId: string, endpoint: Endpoint) {
    this.#providerId = providerId;
    this.#endpoint = endpoint;
  }

  /** The vendor's stop reason; empty while none has arrived. */
  get stopReason(): string {
    return this.#stopReason ?? '';
  }

  get isWhole(): boolean {
    return this.#stopReason !== undefined;
  }

  accept({ name, data }: ServerEvent): string {
    if (!EVENTS.has(name)) return '';
    const event = parseEvent(data) as unknown as RawMessageStreamEvent | { type: 'error' };
    switch (event.type) {
      case 'error':
        throw inStreamFailure(event, this.#endpoint);
      case 'message_start':
        this.#count(event.message.usage);
        return '';
      case 'content_block_start':
        this.#drafts.set(event.index, { block: event.content_block, inputText: '' });
        return event.content_block.type === 'text' ? event.content_block.text : '';
      case 'content_block_delta':
        return this.#grow(event.index, event.delta);
      case 'message_delta':
        this.#count(event.usage);
        this.#stopReason = event.delta.stop_reason ?? this.#stopReason;
        return '';
      case 'message_stop':
        this.#stopReason ??= '';
        return '';
      default:
        return '';
    }
  }

  /** The blocks in the order in which the model wrote them. */
  content(): readonly AnswerBlock[] {
    const drafts = [...this.#drafts].sort(([a], [b]) => a - b).map(([, draft]) => draft);
    return drafts.flatMap((draft) => this.#finished(draft));
  }

  /** The vendor counts tokens written to and read from its cache apart from `input_tokens`. */
  usage(): Usage {
    const counts = this.#counts;
    const cached = counts.cache_read_input_tokens ?? 0;
    return {
      input: (counts.input_tokens ?? 0) + (counts.cache_creation_input_tokens ?? 0) + cached,
      output: counts.output_tokens ?? 0,
      cached,
      ...(counts.cache_creation_input_tokens ? { written: counts.cache_creation_input_tokens } : {}),
    };
  }

  /** Later counts are totals and replace earlier ones. A null leaves the earlier count. */
  #count(counts: TokenCounts): void {
    const known = Object.entries(counts ?? {}).filter(([, count]) => typeof count === 'number');
    this.#counts = { ...this.#counts, ...Object.fromEntries(known) };
  }

  #grow(index: number, delta: RawContentBlockDelta): string {
    const draft = this.#drafts.get(index);
    if (!draft) return '';
    const { block } = draft;
    if (delta.type === 'input_json_delta') draft.inputText += delta.partial_json;
    if (delta.type === 'text_delta' && block.type === 'text') {
      draft.block = { ...block, text: block.text + delta.text };
      return delta.text;
    }
    if (delta.type === 'thinking_delta' && block.type === 'thinking') {
      draft.block = { ...block, thinking: block.thinking + delta.thinking };
    }
    if (delta.type === 'signature_delta' && block.type === 'thinking') {
      draft.block = { ...block, signature: delta.signature };
    }
    return '';
  }

  #finished({ block, inputText }: Draft): readonly AnswerBlock[] {
    if (block.type === 'text') return block.text ? [{ type: 'text', text: block.text }] : [];
    if (block.type === 'tool_use') {
      const argumentsText = inputText || JSON.stringify(block.input ?? {});
      return [toFunctionCall({ id: block.id, name: block.name, argumentsText })];
    }
    // An incomplete thinking block has no signature. The API refuses it when it is sent back.
    if (block.type === 'thinking' && !block.signature) return [];
    const raw = block as unknown as JsonObject;
    const whole = inputText ? { ...raw, input: parseObject(inputText) ?? {} } : raw;
    return [{ type: 'opaque', provider: this.#providerId, block: whole }];
  }
}
