import { newId } from '../../core/ids.js';
import type { JsonObject } from '../../core/json.js';
import {
  NO_USAGE,
  type AnswerBlock,
  type ModelAnswer,
  type StopReason,
  type Usage,
} from '../../core/model.js';
import { toFunctionCall } from '../conversation.js';
import type { ServerEvent } from '../event-stream.js';
import { parseEvent, type AnswerReader } from '../exchange.js';
import { inStreamFailure, type Endpoint } from '../failure.js';
import { PHASE } from './responses-request.js';

/** An event as servers send it in practice: every field may be missing. */
interface StreamEvent {
  readonly type?: string;
  readonly object?: string;
  readonly output_index?: number;
  readonly delta?: string;
  readonly item?: Item | null;
  readonly response?: ResponseBody | null;
}

interface ResponseBody {
  readonly status?: string;
  readonly output?: readonly Item[] | null;
  readonly error?: unknown;
  readonly incomplete_details?: { readonly reason?: string | null } | null;
  readonly usage?: Counts | null;
}

interface Counts {
  readonly input_tokens?: number;
  readonly output_tokens?: number;
  readonly input_tokens_details?: {
    readonly cached_tokens?: number | null;
    readonly cache_write_tokens?: number | null;
  } | null;
}

interface Item {
  readonly type?: string;
  readonly content?: readonly { readonly text?: string; readonly refusal?: string }[] | null;
  readonly call_id?: string;
  readonly name?: string;
  readonly arguments?: string;
  readonly encrypted_content?: string | null;
  /** Whether a text comments on the work or is the answer. The vendor wants it back with the text. */
  readonly phase?: string | null;
}

/** An item of the answer whose stream may not have ended. */
interface Draft {
  item: Item;
  /** The text, or the arguments of a call, that has arrived so far. */
  text: string;
}

/** Assembles the events of one Responses stream into an answer. */
export class ResponsesReader implements AnswerReader {
  readonly #providerId: string;
  readonly #endpoint: Endpoint;
  readonly #drafts = new Map<number, Draft>();
  #end: ResponseBody | undefined;
  #counts: Counts | null | undefined;
  #hasRefused = false;

  constructor(providerId: string, endpoint: Endpoint) {
    this.#providerId = providerId;
    this.#endpoint = endpoint;
  }

  get isWhole(): boolean {
    return this.#end !== undefined;
  }

  accept({ name, data }: ServerEvent): string {
    if (!/^(|error|response\..*)$/.test(name)) return '';
    const event: StreamEvent = parseEvent(data);
    const at = event.output_index ?? 0;
    switch (event.object === 'response' ? 'response.completed' : event.type) {
      case 'error':
        throw inStreamFailure(event, this.#endpoint);
      case 'response.output_item.added':
      case 'response.output_item.done':
        this.#drafts.set(at, { text: this.#drafts.get(at)?.text ?? '', item: event.item ?? {} });
        return '';
      case 'response.refusal.delta':
        this.#hasRefused = true;
        return this.#grow(at, 'message', event.delta);
      case 'response.output_text.delta':
        return this.#grow(at, 'message', event.delta);
      case 'response.function_call_arguments.delta':
        this.#grow(at, 'function_call', event.delta);
        return '';
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
        return this.#finish(event.response ?? (event as ResponseBody));
      default:
        return '';
    }
  }

  usage(): Usage {
    return toUsage(this.#counts);
  }

  answer(): ModelAnswer {
    const drafts = [...this.#drafts].sort(([a], [b]) => a - b).map(([, draft]) => draft);
    const content = drafts.flatMap((draft) => this.#finished(draft));
    const hasCalls = content.some(({ type }) => type === 'function-call');
    return { content, stopReason: this.#stopReason(hasCalls), usage: this.usage() };
  }

  #grow(at: number, type: string, delta = ''): string {
    const draft = this.#drafts.get(at) ?? { item: { type }, text: '' };
    draft.text += delta;
    this.#drafts.set(at, draft);
    return delta;
  }

  /** Some servers do not stream: the items, and their text, are in the last event alone. */
  #finish(end: ResponseBody): string {
    this.#counts = end.usage;
    if (end.status === 'failed' || end.error) throw inStreamFailure(end, this.#endpoint);
    this.#end = end;
    if (this.#drafts.size > 0) return '';
    for (const [at, item] of (end.output ?? []).entries()) {
      const refusal = textOf(item, 'refusal');
      this.#hasRefused ||= refusal !== '';
      this.#drafts.set(at, { item, text: textOf(item, 'text') + refusal });
    }
    return [...this.#drafts.values()].map(({ text }) => text).join('');
  }

  #finished({ item, text }: Draft): readonly AnswerBlock[] {
    switch (item.type) {
      case 'message':
        return text
          ? [...this.#opaque(item.phase && { type: PHASE, phase: item.phase }), { type: 'text', text }]
          : [];
      case 'function_call': {
        const { call_id: id, name = '' } = item;
        return [toFunctionCall({ id: id || `call_${newId()}`, name, argumentsText: item.arguments || text })];
      }
      case 'reasoning':
        // The server stored nothing, so it could not find reasoning that is not in the item.
        return this.#opaque(item.encrypted_content && (item as unknown as JsonObject));
      default:
        return [];
    }
  }

  #opaque(block: JsonObject | string | null | undefined): readonly AnswerBlock[] {
    return block && typeof block === 'object' ? [{ type: 'opaque', provider: this.#providerId, block }] : [];
  }

  #stopReason(hasCalls: boolean): StopReason {
    const reason = this.#end?.incomplete_details?.reason;
    if (reason === 'content_filter' || this.#hasRefused) return 'refusal';
    if (reason) return 'max-tokens';
    return hasCalls ? 'function-calls' : 'end';
  }
}

function textOf({ content }: Item, field: 'text' | 'refusal'): string {
  return (content ?? []).map((part) => part[field] ?? '').join('');
}

function toUsage(counts: Counts | null | undefined): Usage {
  if (!counts) return NO_USAGE;
  const { input_tokens: input = 0, output_tokens: output = 0, input_tokens_details: details } = counts;
  const written = details?.cache_write_tokens;
  return { input, output, cached: details?.cached_tokens ?? 0, ...(written ? { written } : {}) };
}
