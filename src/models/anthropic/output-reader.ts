import { countIn, objectIn, textIn, type JsonObject } from '../../core/json.js';
import type { AnswerBlock } from '../../core/model.js';
import type { ServerEvent } from '../../core/server-events.js';
import { isEnd, type Ended } from '../ends.js';
import { opaque, OutputBounds, parseEvent, usageOf, type OutputReader } from '../exchange.js';
import { inStreamFailure, type Endpoint } from '../failure.js';
import { keepableObject, toFunctionCall } from '../conversation.js';

/** Others are ignored unparsed. */
const EVENTS = /^(|error|message_(start|delta|stop)|content_block_(start|delta|stop))$/;

/** A content block whose stream has not ended. */
interface Draft {
  block: JsonObject;
  inputText: string; // The JSON of its input that has arrived so far.
  isOpen: boolean; // Whether the API has not said that the block is whole.
}

/** Assembles the events of one Messages API stream into an output. */
export class AnthropicOutputReader implements OutputReader {
  readonly #drafts = new Map<number, Draft>();
  readonly #bounds = new OutputBounds();
  #counts: JsonObject = {};
  #stopReason: string | undefined;
  #isAccountedFor = false;
  #stopDetails: JsonObject = {};

  get isWhole(): boolean {
    return this.#stopReason !== undefined;
  }

  accept({ name, data }: ServerEvent, endpoint: Endpoint): string {
    if (!EVENTS.test(name)) return '';
    const event = parseEvent(data);
    switch (event.type) {
      case 'error':
        throw inStreamFailure(event, endpoint);
      case 'message_start':
        this.#count(objectIn(event.message).usage);
        break;
      case 'content_block_start':
        return this.#begin(countIn(event.index), objectIn(event.content_block));
      case 'content_block_delta':
        return this.#grow(countIn(event.index), objectIn(event.delta));
      case 'content_block_stop': {
        const draft = this.#drafts.get(countIn(event.index));
        if (draft) draft.isOpen = false;
        break;
      }
      case 'message_delta': {
        const reason = objectIn(event.delta).stop_reason;
        this.#count(event.usage);
        if (isEnd(textIn(reason))) this.#stopReason = textIn(reason);
        this.#stopDetails = objectIn(objectIn(event.delta).stop_details);
        this.#isAccountedFor = reason === '' || countIn(objectIn(event.usage).output_tokens) > 0;
        break;
      }
      case 'message_stop':
        this.#stopReason ??= '';
        break;
      default:
    }
    return '';
  }

  ended(): Ended {
    // In the order in which the model wrote them.
    const drafts = [...this.#drafts].sort(([a], [b]) => a - b).map(([, draft]) => draft);
    const counts = this.#counts;
    // The vendor counts the tokens written to and read from the cache apart from `input_tokens`.
    const cached = countIn(counts.cache_read_input_tokens);
    const written = countIn(counts.cache_creation_input_tokens);
    const input = countIn(counts.input_tokens) + written + cached;
    const { category, explanation } = this.#stopDetails;
    // Why the vendor's classifiers refused: "bio: …".
    const refusal = [textIn(category), textIn(explanation)].filter(Boolean).join(': ');
    return {
      reason: this.#stopReason ?? '',
      isAccountedFor: this.#isAccountedFor,
      content: drafts.flatMap((draft) => this.#finished(draft)),
      usage: usageOf({ input, output: counts.output_tokens, cached, written }),
      ...(refusal && { refusal }),
    };
  }

  /** Later counts are totals and replace earlier ones. A null leaves the earlier count. */
  #count(counts: unknown): void {
    const known = Object.entries(objectIn(counts)).filter(([, count]) => typeof count === 'number');
    this.#counts = { ...this.#counts, ...Object.fromEntries(known) };
  }

  #begin(index: number, block: JsonObject): string {
    this.#drafts.set(index, { block, inputText: '', isOpen: true });
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

  #finished({ block, inputText, isOpen }: Draft): readonly AnswerBlock[] {
    const { type } = block;
    if (type === 'text') return textIn(block.text) ? [{ type, text: textIn(block.text) }] : [];
    if (type === 'tool_use') {
      const argumentsText = inputText || JSON.stringify(block.input ?? {});
      return [toFunctionCall({ id: textIn(block.id), name: textIn(block.name), argumentsText }, isOpen)];
    }
    // An incomplete thinking block has no signature. The API refuses it when it is sent back.
    if (textIn(type) === '' || (type === 'thinking' && !textIn(block.signature))) return [];
    const whole = inputText ? { ...block, input: keepableObject(inputText) ?? {} } : block;
    return [opaque(whole)];
  }
}
