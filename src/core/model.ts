import type { JsonObject } from './json.js';
import type { Part } from './message.js';

/**
 * A model vendor behind one streaming call. A started stream never throws: its last event, and only that, is an `end` or
 * an `error`. The provider retries on 429, 5xx and overload, but not after it yielded text.
 */
export interface ModelProvider {
  /** Provider and model, for logs and usage: "anthropic/claude-…", "offline". */
  readonly id: string;
  readonly readsImages?: boolean; // Default: true. Other models get their descriptions.
  stream(request: ModelRequest): AsyncIterable<ModelEvent>;
}

export interface ModelRequest {
  /** The instruction, the most stable text first. A provider may cache up to the last `stable` block. */
  readonly system: readonly SystemBlock[];
  readonly messages: readonly ModelMessage[];
  readonly functions: readonly FunctionSpec[];
  /** The longest answer, in tokens. */
  readonly maxTokens: number;
  /** Aborting ends the stream with an `error` event of code `canceled`. */
  readonly signal: AbortSignal;
}

export interface SystemBlock {
  readonly text: string;
  readonly stable: boolean;
}

/** A function that the model may call: a tool, delegation, or a control function of the loop. */
export interface FunctionSpec {
  readonly name: string;
  readonly description: string;
  /** JSON Schema (draft 2020-12) of the arguments, an object schema. */
  readonly parameters: JsonObject;
}

export type ModelMessage =
  | { readonly role: 'user'; readonly parts: readonly Part[] }
  | { readonly role: 'assistant'; readonly author: string; readonly content: readonly AnswerBlock[] }
  | { readonly role: 'results'; readonly results: readonly FunctionResult[] };

export type AnswerBlock =
  | { readonly type: 'text'; readonly text: string }
  | FunctionCall
  /** Content such as thinking blocks, sent back unchanged to the same provider only. */
  | { readonly type: 'opaque'; readonly provider: string; readonly block: JsonObject };

export interface FunctionCall {
  readonly type: 'function-call';
  /** The vendor's id of the call, unique within an answer. The result has the same id. */
  readonly id: string;
  readonly name: string;
  /** Undefined when the model wrote no valid JSON object: see `invalid`. */
  readonly arguments: JsonObject | undefined;
  /** What the model wrote instead of a JSON object, at most 2,000 characters. */
  readonly invalid?: string;
}

export interface FunctionResult {
  readonly id: string;
  readonly name: string;
  readonly content: string;
  readonly isError: boolean;
  /** Images for a model that reads images. `content` mentions them for others. */
  readonly images?: readonly Part[];
}

export type StopReason = 'end' | 'function-calls' | 'max-tokens' | 'refusal';

export interface ModelAnswer {
  readonly content: readonly AnswerBlock[];
  readonly stopReason: StopReason;
  readonly usage: Usage;
}

/** Tokens of one or more model calls. `cached` is the part of `input` that was read from a cache. */
export interface Usage {
  readonly input: number;
  readonly output: number;
  readonly cached: number;
}

export type ModelErrorCode =
  'canceled' | 'overloaded' | 'rate-limited' | 'unreachable' | 'rejected' | 'bad-answer';

export type RefusalReason = 'key' | 'model-name' | 'credit' | 'length';

export type ModelEvent =
  /** With `restarts`, the answer begins again after a lost connection: earlier text counts no more. */
  | { readonly type: 'text'; readonly text: string; readonly restarts?: boolean }
  | { readonly type: 'end'; readonly answer: ModelAnswer }
  | {
      readonly type: 'error';
      readonly code: ModelErrorCode;
      /** For the log and the server's operator; holds no key. */
      readonly message: string;
      readonly retryable: boolean;
      /** What a `rejected` request was refused for; absent when the vendor gave another reason. */
      readonly about?: RefusalReason;
    };

export const NO_USAGE: Usage = { input: 0, output: 0, cached: 0 };

export function addUsage(a: Usage, b: Usage): Usage {
  return { input: a.input + b.input, output: a.output + b.output, cached: a.cached + b.cached };
}

/** Joins the text blocks of an answer. */
export function answerText(content: readonly AnswerBlock[]): string {
  return content.map((block) => (block.type === 'text' ? block.text : '')).join('');
}

export function functionCalls(content: readonly AnswerBlock[]): readonly FunctionCall[] {
  return content.filter((block) => block.type === 'function-call');
}

/** Summarizes a text in a few lines. */
export interface Distiller {
  /** The id of the model, which is stored with the result. */
  readonly by: string;
  /**
   * Returns the lines that `instruction` asks for. Instructions inside the text are not followed. Rejects with `model`
   * without a usable answer, with `unavailable` when the model cannot be reached, and with the signal's reason after an
   * abort.
   */
  distill(request: DistillRequest): Promise<readonly string[]>;
}

export interface DistillRequest {
  readonly instruction: string;
  readonly text: string;
  readonly signal: AbortSignal;
}

/** Makes vectors of texts; the angle between two vectors tells how close the meanings are. */
export interface EmbeddingProvider {
  /** Vendor and model, such as "openai/text-embedding-3-small". Vectors of different ids cannot be compared. */
  readonly id: string;
  /** The most texts of one call. */
  readonly batch: number;
  readonly minSimilarity?: number; // The cosine below which a text is unrelated to a query.
  /**
   * Returns a vector of length 1 for each text, in order and of one dimension. Some models embed queries and documents
   * differently. Rejects with `unavailable`, `timeout`, `invalid-config` (wrong key, unknown model) or the signal's reason.
   */
  embed(
    texts: readonly string[],
    purpose: 'document' | 'query',
    signal: AbortSignal,
  ): Promise<readonly Float32Array[]>;
  /** Frees memory and connections. */
  close?(): Promise<void>;
}
