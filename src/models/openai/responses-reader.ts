import { countIn, isJsonObject, listIn, objectIn, textIn, type JsonObject } from '../../core/json.js';
import type { AnswerBlock } from '../../core/model.js';
import { toFunctionCall } from '../conversation.js';
import type { ServerEvent } from '../../core/server-events.js';
import type { Ended } from '../ends.js';
import { opaque, OutputBounds, parseEvent, textsOf, usageOf, type OutputReader } from '../exchange.js';
import { inStreamFailure, type Endpoint } from '../failure.js';
import { PHASE } from './responses-request.js';

/** An item of the output whose stream may not have ended. */
interface Draft {
  item: JsonObject;
  text: string; // The text, or the arguments of a call, that has arrived so far.
  isOpen: boolean; // Whether the server has not said that the item is done.
}

/** Assembles the events of one Responses stream into an output. */
export class ResponsesReader implements OutputReader {
  readonly #drafts = new Map<number, Draft>();
  readonly #bounds = new OutputBounds();
  #end: JsonObject | undefined;
  #counts: unknown;
  #hasRefused = false;

  get isWhole(): boolean {
    return this.#end !== undefined;
  }

  accept({ name, data }: ServerEvent, endpoint: Endpoint): string {
    if (!/^(|error|response\..*)$/.test(name)) return '';
    const event = parseEvent(data);
    const at = countIn(event.output_index);
    switch (event.object === 'response' ? 'response.completed' : event.type) {
      case 'error':
        throw inStreamFailure(event, endpoint);
      case 'response.output_item.added':
      case 'response.output_item.done':
        this.#keep(at, {
          text: this.#drafts.get(at)?.text ?? '',
          item: objectIn(event.item),
          isOpen: event.type === 'response.output_item.added',
        });
        return '';
      case 'response.refusal.delta':
        this.#hasRefused = true;
        return this.#grow(at, 'message', textIn(event.delta));
      case 'response.output_text.delta':
        return this.#grow(at, 'message', textIn(event.delta));
      case 'response.function_call_arguments.delta':
        this.#grow(at, 'function_call', textIn(event.delta));
        return '';
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
      case 'response.cancelled': {
        const status = textIn(event.type).replace('response.', '');
        const end: JsonObject = { status, ...(isJsonObject(event.response) ? event.response : event) };
        this.#counts = end.usage;
        if (end.status === 'failed' || end.error) throw inStreamFailure(end, endpoint);
        return this.#finish(end);
      }
      default:
        return '';
    }
  }

  ended(): Ended {
    const drafts = [...this.#drafts].sort(([a], [b]) => a - b).map(([, draft]) => draft);
    const { input_tokens: input, output_tokens: output, ...counts } = objectIn(this.#counts);
    const { cached_tokens: cached, cache_write_tokens: written } = objectIn(counts.input_tokens_details);
    return {
      reason: this.#reason(),
      isAccountedFor: false,
      content: drafts.flatMap((draft) => this.#finished(draft)),
      usage: usageOf({ input, output, cached, written }),
      isOwnRefusal: this.#hasRefused,
    };
  }

  #keep(at: number, draft: Draft): void {
    this.#drafts.set(at, draft);
    this.#bounds.blocks(this.#drafts.size);
  }

  #grow(at: number, type: string, delta: string): string {
    const draft = this.#drafts.get(at) ?? { item: { type }, text: '', isOpen: true };
    draft.text += this.#bounds.chunk(delta);
    this.#keep(at, draft);
    return delta;
  }

  /** Takes the last event. For servers that do not stream, it holds all items and their text. */
  #finish(end: JsonObject): string {
    this.#end = end;
    if (this.#drafts.size > 0) return '';
    for (const [at, item] of listIn(end.output).map(objectIn).entries()) {
      const refusal = textsOf(item.content, 'refusal');
      this.#hasRefused ||= refusal !== '';
      this.#keep(at, { item, text: textsOf(item.content) + refusal, isOpen: false });
    }
    return [...this.#drafts.values()].map(({ text }) => text).join('');
  }

  #finished({ item, text, isOpen }: Draft): readonly AnswerBlock[] {
    switch (item.type) {
      case 'message': {
        if (text === '') return [];
        const phase = textIn(item.phase) ? [opaque({ type: PHASE, phase: item.phase })] : [];
        return [...phase, { type: 'text', text }];
      }
      case 'function_call': {
        const argumentsText = textIn(item.arguments) || text;
        const call = { id: textIn(item.call_id), name: textIn(item.name), argumentsText };
        return [toFunctionCall(call, isOpen || item.status === 'incomplete')];
      }
      default:
        // Reasoning, and what comes to be. The server stores nothing, so without encrypted content it is useless to it.
        return textIn(item.encrypted_content) ? [opaque(item)] : [];
    }
  }

  /**
   * The reason why the response is incomplete, else its status. Some servers complete a response "in progress", or call
   * it complete although they give a reason or an item that is not.
   */
  #reason(): string {
    const end = this.#end ?? {};
    if (this.#hasRefused) return 'refusal';
    const reason = textIn(objectIn(end.incomplete_details).reason) || textIn(end.stop_reason);
    if (reason) return reason;
    const status = textIn(end.status).replace('in_progress', '') || 'completed';
    const isCut = [...this.#drafts.values()].some(({ item }) => item.status === 'incomplete');
    return status === 'completed' && isCut ? 'max_output_tokens' : status;
  }
}
