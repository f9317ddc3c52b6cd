import type { JsonObject } from '../../core/json.js';
import type { AnswerBlock, Usage } from '../../core/model.js';
import type { ServerEvent } from '../event-stream.js';
import { OutputBounds, parseEvent, type OutputReader } from '../exchange.js';
import { inStreamFailure, type Endpoint } from '../failure.js';
import { keepableObject, toFunctionCall } from '../conversation.js';
import { countIn, objectIn, textIn } from '../loose.js';

/** Others are ignored unparsed. */
const EVENTS = /^(|error|message_(start|delta|stop)|content_block_(start|delta|stop))$/;

/** A content block whose stream has not ended. */
interface Draft {
  block: JsonObject;
  inputText: string; // The JSON of its input that has arrived so far.
}

/** Assembles the events of one Messages API stream into an output. */
export class AnthropicOutputReader implements OutputReader {
  readonly #origin: string;
  readonly #endpoint: Endpoint;
  readonly #drafts = new Map<number, Draft>();
  readonly #bounds = new OutputBounds();
  #counts: JsonObject = {};
  #stopReason: string | undefined;

  constructor(origin: string, endpoint: Endpoint) {
    this.#origin = origin;
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
    if (!EVENTS.test(name)) return '';
    const event = parseEvent(data);
    switch (event.type) {
      case 'error':
        throw inStreamFailure(event, this.#endpoint);
      case 'message_start':
        this.#count(objectIn(event.message).usage);
        break;
      case 'content_block_start':
        return this.#begin(countIn(event.index), objectIn(event.content_block));
      case 'content_block_delta':
        return this.#grow(countIn(event.index), objectIn(event.delta));
      case 'message_delta':
        this.#count(event.usage);
        this.#stopReason = textIn(objectIn(event.delta).stop_reason) || this.#stopReason;
        break;
      case 'message_stop':
        this.#stopReason ??= '';
        break;
      default:
    }
    return '';
  }

  /** The blocks in the order in which the model wrote them. */
  content(): readonly AnswerBlock[] {
    const drafts = [...this.#drafts].sort(([a], [b]) => a - b).map(([, draft]) => draft);
    return drafts.flatMap((draft) => this.#finished(draft));
  }

  /** Adds the tokens written to and read from the cache to the input: the vendor counts them apart from `input_tokens`. */
  usage(): Usage {
    const counts = this.#counts;
    const cached = countIn(counts.cache_read_input_tokens);
    const written = countIn(counts.cache_creation_input_tokens);
    return {
      input: countIn(counts.input_tokens) + written + cached,
      output: countIn(counts.output_tokens),
      cached,
      ...(written ? { written } : {}),
    };
  }

  /** Later counts are totals and replace earlier ones. A null leaves the earlier count. */
  #count(counts: unknown): void {
    const known = Object.entries(objectIn(counts)).filter(([, count]) => typeof count === 'number');
    this.#counts = { ...this.#counts, ...Object.fromEntries(known) };
  }

  #begin(index: number, block: JsonObject): string {
    this.#drafts.set(index, { block, inputText: '' });
    this.#bounds.blocks(this.#drafts.size);
    return block.type === 'text' ? textIn(block.text) : '';
  }

  #grow(index: number, delta: JsonObject): string {
    const draft = this.#drafts.get(index);
    if (!draft) return '';
    const { block } = draft;
    const append = (member: 'text' | 'thinking'): string => {
      const added = this.#bounds.chunk(textIn(delta[member]));
      draft.block = { ...block, [member]: textIn(block[member]) + added };
      return added;
    };
    if (delta.type === 'input_json_delta') draft.inputText += this.#bounds.chunk(textIn(delta.partial_json));
    if (delta.type === 'text_delta' && block.type === 'text') return append('text');
    if (block.type !== 'thinking') return '';
    if (delta.type === 'thinking_delta') append('thinking');
    if (delta.type === 'signature_delta') draft.block = { ...block, signature: textIn(delta.signature) };
    return '';
  }

  #finished({ block, inputText }: Draft): readonly AnswerBlock[] {
    const { type } = block;
    if (type === 'text') return textIn(block.text) ? [{ type, text: textIn(block.text) }] : [];
    if (type === 'tool_use') {
      const argumentsText = inputText || JSON.stringify(block.input ?? {});
      return [toFunctionCall({ id: textIn(block.id), name: textIn(block.name), argumentsText })];
    }
    // An incomplete thinking block has no signature. The API refuses it when it is sent back.
    if (textIn(type) === '' || (type === 'thinking' && !textIn(block.signature))) return [];
    const whole = inputText ? { ...block, input: keepableObject(inputText) ?? {} } : block;
    return [{ type: 'opaque', provider: this.#origin, block: whole }];
  }
}
