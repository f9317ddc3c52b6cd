import { newId } from '../../core/ids.js';
import { isJsonObject } from '../../core/json.js';
import {
  NO_USAGE,
  type AnswerBlock,
  type FunctionCall,
  type ModelAnswer,
  type StopReason,
  type Usage,
} from '../../core/model.js';
import type { ServerEvent } from '../event-stream.js';
import { parseObject, toFunctionCall } from '../conversation.js';
import { parseEvent, type AnswerReader } from '../exchange.js';
import { inStreamFailure, type Endpoint } from '../failure.js';

const DONE = '[DONE]';

/** A chunk as servers send it in practice: every field may be missing, and `message` may replace `delta`. */
interface Chunk {
  readonly object?: unknown;
  readonly error?: unknown;
  readonly choices?: readonly Choice[] | null;
  readonly usage?: ChunkUsage | null;
}

interface Choice {
  readonly index?: number;
  readonly delta?: Delta | null;
  readonly message?: Delta | null;
  readonly finish_reason?: string | null;
}

interface Delta {
  readonly content?: string | readonly unknown[] | null;
  readonly refusal?: string | null;
  readonly tool_calls?: readonly CallFragment[] | null;
}

interface ChunkUsage {
  readonly prompt_tokens?: number | null;
  readonly completion_tokens?: number | null;
  readonly prompt_tokens_details?: { readonly cached_tokens?: number | null } | null;
}

/** Assembles the chunks of one Chat Completions stream into an answer. */
export class OpenaiAnswerReader implements AnswerReader {
  readonly #endpoint: Endpoint;
  readonly #calls = new CallCollector();
  #text = '';
  #hasDelta = false;
  #hasRefused = false;
  #finishReason: string | undefined;
  #usage: Usage = NO_USAGE;

  constructor(endpoint: Endpoint) {
    this.#endpoint = endpoint;
  }

  get isWhole(): boolean {
    return this.#finishReason !== undefined;
  }

  accept({ name, data }: ServerEvent): string {
    if (data.startsWith(DONE)) {
      this.#finishReason ??= '';
      return '';
    }
    if (name !== '' && name !== 'message' && name !== 'error') return '';
    const chunk: Chunk = parseEvent(data);
    if (chunk.error || chunk.object === 'error' || name === 'error')
      throw inStreamFailure(chunk, this.#endpoint);
    if (chunk.usage) this.#usage = toUsage(chunk.usage);
    const choice = chunk.choices?.find((item) => (item.index ?? 0) === 0);
    return choice ? this.#take(choice) : '';
  }

  usage(): Usage {
    return this.#usage;
  }

  answer(): ModelAnswer {
    const calls = this.#calls.calls();
    const text: readonly AnswerBlock[] = this.#text ? [{ type: 'text', text: this.#text }] : [];
    return {
      content: [...text, ...calls],
      stopReason: this.#stopReason(calls.length > 0),
      usage: this.#usage,
    };
  }

  #take(choice: Choice): string {
    if (choice.finish_reason) this.#finishReason = choice.finish_reason;
    // Some servers repeat the whole message after its deltas.
    const delta = choice.delta ?? (this.#hasDelta ? undefined : choice.message);
    if (!delta) return '';
    this.#hasDelta = true;
    this.#hasRefused ||= Boolean(delta.refusal);
    for (const fragment of delta.tool_calls ?? []) this.#calls.add(fragment);
    const text = textOf(delta.content) + (delta.refusal ?? '');
    this.#text += text;
    return text;
  }

  /** Calls count more than "stop", with which some servers end them. A refusal may come with any finish reason. */
  #stopReason(hasCalls: boolean): StopReason {
    if (this.#finishReason === 'length') return 'max-tokens';
    if (this.#finishReason === 'content_filter' || this.#hasRefused) return 'refusal';
    return hasCalls ? 'function-calls' : 'end';
  }
}

/** The text of content that is a string, or a list of parts of which some have `text`. */
function textOf(content: Delta['content']): string {
  if (typeof content === 'string') return content;
  return (content ?? [])
    .map((part) => (isJsonObject(part) && typeof part.text === 'string' ? part.text : ''))
    .join('');
}

function toUsage(usage: ChunkUsage): Usage {
  return {
    input: usage.prompt_tokens ?? 0,
    output: usage.completion_tokens ?? 0,
    cached: usage.prompt_tokens_details?.cached_tokens ?? 0,
  };
}

/** A fragment of a call as servers send it in practice: every field may be missing. */
interface CallFragment {
  readonly index?: number | null;
  readonly id?: string | null;
  readonly function?: { readonly name?: string | null; readonly arguments?: unknown } | null;
}

interface Draft {
  readonly index: number | undefined;
  id: string;
  name: string;
  argumentsText: string;
}

/**
 * Assembles function calls from their fragments. A fragment belongs to the newest call of its index. Some servers omit the
 * index, or number every call 0, so a fragment with a name may start another call.
 */
class CallCollector {
  readonly #drafts: Draft[] = [];

  add(fragment: CallFragment): void {
    const draft = this.#draftFor(fragment);
    const { name, arguments: args } = fragment.function ?? {};
    if (fragment.id && fragment.id !== draft.id) draft.id += fragment.id;
    if (name && name !== draft.name) draft.name += name;
    if (typeof args === 'string') draft.argumentsText += args;
    else if (args !== undefined && args !== null) draft.argumentsText = JSON.stringify(args);
  }

  /** The calls in the order in which they started. A missing or repeated id is replaced by a new one. */
  calls(): readonly FunctionCall[] {
    const ids = new Set<string>();
    return this.#drafts.map((draft) => {
      const id = draft.id === '' || ids.has(draft.id) ? `call_${newId()}` : draft.id;
      ids.add(id);
      return toFunctionCall({ ...draft, id });
    });
  }

  #draftFor(fragment: CallFragment): Draft {
    const index = fragment.index ?? undefined;
    const open = this.#drafts.findLast((draft) => index === undefined || draft.index === index);
    if (open && !beginsAnother(fragment, open)) return open;
    const draft: Draft = { index, id: '', name: '', argumentsText: '' };
    this.#drafts.push(draft);
    return draft;
  }
}

function beginsAnother(fragment: CallFragment, open: Draft): boolean {
  if (!fragment.function?.name) return false;
  if (fragment.id && open.id) return fragment.id !== open.id;
  return typeof fragment.index !== 'number' || parseObject(open.argumentsText) !== undefined;
}
