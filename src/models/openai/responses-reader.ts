import { isJsonObject, type JsonObject } from '../../core/json.js';
import { type AnswerBlock, type ModelAnswer, type StopReason, type Usage } from '../../core/model.js';
import { toFunctionCall } from '../conversation.js';
import type { ServerEvent } from '../event-stream.js';
import { OutputBounds, parseEvent, type OutputReader } from '../exchange.js';
import { inStreamFailure, type Endpoint } from '../failure.js';
import { countIn, listIn, objectIn, textIn } from '../loose.js';
import { PHASE } from './responses-request.js';

/** An item of the output whose stream may not have ended. */
interface Draft {
  item: JsonObject;
  text: string; // The text, or the arguments of a call, that has arrived so far.
}

/** Assembles the events of one Responses stream into an output. */
export class ResponsesReader implements OutputReader {
  readonly #origin: string;
  readonly #endpoint: Endpoint;
  readonly #drafts = new Map<number, Draft>();
  readonly #bounds = new OutputBounds();
  #end: JsonObject | undefined;
  #counts: unknown;
  #hasRefused = false;

  constructor(origin: string, endpoint: Endpoint) {
    this.#origin = origin;
    this.#endpoint = endpoint;
  }

  get isWhole(): boolean {
    return this.#end !== undefined;
  }

  accept({ name, data }: ServerEvent): string {
    if (!/^(|error|response\..*)$/.test(name)) return '';
    const event = parseEvent(data);
    const at = countIn(event.output_index);
    switch (event.object === 'response' ? 'response.completed' : event.type) {
      case 'error':
        throw inStreamFailure(event, this.#endpoint);
      case 'response.output_item.added':
      case 'response.output_item.done':
        this.#keep(at, { text: this.#drafts.get(at)?.text ?? '', item: objectIn(event.item) });
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
        return this.#finish(isJsonObject(event.response) ? event.response : event);
      default:
        return '';
    }
  }

  usage(): Usage {
    const counts = objectIn(this.#counts);
    const details = objectIn(counts.input_tokens_details);
    const written = countIn(details.cache_write_tokens);
    return {
      input: countIn(counts.input_tokens),
      output: countIn(counts.output_tokens),
      cached: countIn(details.cached_tokens),
      ...(written ? { written } : {}),
    };
  }

  output(): ModelAnswer {
    const drafts = [...this.#drafts].sort(([a], [b]) => a - b).map(([, draft]) => draft);
    const content = drafts.flatMap((draft) => this.#finished(draft));
    const hasCalls = content.some(({ type }) => type === 'function-call');
    return { content, stopReason: this.#stopReason(hasCalls), usage: this.usage() };
  }

  #keep(at: number, draft: Draft): void {
    this.#drafts.set(at, draft);
    this.#bounds.blocks(this.#drafts.size);
  }

  #grow(at: number, type: string, delta: string): string {
    const draft = this.#drafts.get(at) ?? { item: { type }, text: '' };
    draft.text += this.#bounds.chunk(delta);
    this.#keep(at, draft);
    return delta;
  }

  /** Takes the last event. For servers that do not stream, it holds all items and their text. */
  #finish(end: JsonObject): string {
    this.#counts = end.usage;
    if (end.status === 'failed' || end.error) throw inStreamFailure(end, this.#endpoint);
    this.#end = end;
    if (this.#drafts.size > 0) return '';
    for (const [at, item] of listIn(end.output).map(objectIn).entries()) {
      const refusal = textOf(item, 'refusal');
      this.#hasRefused ||= refusal !== '';
      this.#keep(at, { item, text: textOf(item, 'text') + refusal });
    }
    return [...this.#drafts.values()].map(({ text }) => text).join('');
  }

  #finished({ item, text }: Draft): readonly AnswerBlock[] {
    switch (item.type) {
      case 'message': {
        if (text === '') return [];
        const phase = textIn(item.phase) ? [this.#opaque({ type: PHASE, phase: item.phase })] : [];
        return [...phase, { type: 'text', text }];
      }
      case 'function_call': {
        const argumentsText = textIn(item.arguments) || text;
        return [toFunctionCall({ id: textIn(item.call_id), name: textIn(item.name), argumentsText })];
      }
      case 'reasoning':
        // The server stores nothing, so reasoning without its encrypted content is useless to it.
        return textIn(item.encrypted_content) ? [this.#opaque(item)] : [];
      default:
        return [];
    }
  }

  #opaque(block: JsonObject): AnswerBlock {
    return { type: 'opaque', provider: this.#origin, block };
  }

  #stopReason(hasCalls: boolean): StopReason {
    const reason = textIn(objectIn(this.#end?.incomplete_details).reason);
    if (reason === 'content_filter' || this.#hasRefused) return 'refusal';
    if (reason) return 'max-tokens';
    return hasCalls ? 'function-calls' : 'end';
  }
}

function textOf({ content }: JsonObject, field: 'text' | 'refusal'): string {
  return listIn(content)
    .map((part) => textIn(objectIn(part)[field]))
    .join('');
}
