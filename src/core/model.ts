import type { JsonObject } from './json.js';
import type { Part } from './message.js';

/**
 * A model vendor behind one streaming call. `stream` never throws once it was started: it ends with
 * exactly one `end` or `error` event, and nothing comes after that. Retries on 429, 5xx and overload
 * happen inside, and only before the first text was handed out.
 */
export interface ModelProvider {
  /** Provider and model, for logs and usage: "anthropic/claude-…", "offline". */
  readonly id: string;
  stream(request: ModelRequest): AsyncIterable<ModelEvent>;
}

export interface ModelRequest {
  /** The instruction, most stable text first; a provider may cache up to the last `stable` block. */
  readonly system: readonly SystemBlock[];
  readonly messages: readonly ModelMessage[];
  readonly functions: readonly FunctionSpec[];
  /** Upper bound of the answer, in tokens. */
  readonly maxTokens: number;
  /** Aborting ends the stream with an `error` event of code `canceled`. */
  readonly signal: AbortSignal;
}

export interface SystemBlock {
  readonly text: string;
  readonly stable: boolean;
}

/** A function that the model may call: a tool, the delegation, or a control function of the loop. */
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
  /** Passed back to the same provider as it came (thinking blocks), and to no other. */
  | { readonly type: 'opaque'; readonly provider: string; readonly block: JsonObject };

export interface FunctionCall {
  readonly type: 'function-call';
  /** The vendor's id of the call: its result carries the same. Unique within an answer. */
  readonly id: string;
  readonly name: string;
  /** The arguments; `undefined` when the model wrote no JSON object, or one that cannot be kept: see `invalid`. */
  readonly arguments: JsonObject | undefined;
  /** What the model wrote instead of a JSON object, at most 2,000 characters. */
  readonly invalid?: string;
}

export interface FunctionResult {
  readonly id: string;
  readonly name: string;
  readonly content: string;
  readonly isError: boolean;
  /** Images for a model that takes them; others are told of in `content`. */
  readonly images?: readonly Part[];
}

export type StopReason = 'end' | 'function-calls' | 'max-tokens' | 'refusal';

export interface ModelAnswer {
  readonly content: readonly AnswerBlock[];
  readonly stopReason: StopReason;
  readonly usage: Usage;
}

/** Tokens of one or more model calls. `input` counts cached ones too; `cached` is the part read from a cache. */
export interface Usage {
  readonly input: number;
  readonly output: number;
  readonly cached: number;
}

export type ModelErrorCode =
  'canceled' | 'overloaded' | 'rate-limited' | 'unreachable' | 'rejected' | 'bad-answer';

export type ModelEvent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'end'; readonly answer: ModelAnswer }
  | {
      readonly type: 'error';
      readonly code: ModelErrorCode;
      /** Fit for a log and for the person who runs the server; never holds a key. */
      readonly message: string;
      readonly retryable: boolean;
    };

export const NO_USAGE: Usage = { input: 0, output: 0, cached: 0 };

export function addUsage(a: Usage, b: Usage): Usage {
  return { input: a.input + b.input, output: a.output + b.output, cached: a.cached + b.cached };
}

/** The text blocks of an answer, joined as they stand. */
export function answerText(content: readonly AnswerBlock[]): string {
  return content.map((block) => (block.type === 'text' ? block.text : '')).join('');
}

export function functionCalls(content: readonly AnswerBlock[]): readonly FunctionCall[] {
  return content.filter((block) => block.type === 'function-call');
}

/** Turns a text into a few lines: what is worth remembering of it, or what it says. */
export interface Distiller {
  /** A model's id: it stands beside what was made. */
  readonly by: string;
  /**
   * The lines that `instruction` asks for. The text is data, whatever stands in it. Rejects with code `model` when
   * there is no usable answer, with `unavailable` when the model cannot be asked, and with the signal's reason after an
   * abort.
   */
  distill(request: DistillRequest): Promise<readonly string[]>;
}

export interface DistillRequest {
  readonly instruction: string;
  readonly text: string;
  readonly signal: AbortSignal;
}

/** Turns texts into vectors whose angle says how near their meanings are. One implementation per vendor. */
export interface EmbeddingProvider {
  /** Vendor and model, such as "openai/text-embedding-3-small": vectors of different ids cannot be compared. */
  readonly id: string;
  /** How many texts one call takes at most. */
  readonly batch: number;
  /**
   * A vector of length 1 for each text, in order, all of one dimension. Some models make other vectors of what is
   * searched for than of what is searched. Rejects with `unavailable`, `timeout`, `invalid-config` (wrong key, no such
   * model) or with the signal's reason.
   */
  embed(
    texts: readonly string[],
    purpose: 'document' | 'query',
    signal: AbortSignal,
  ): Promise<readonly Float32Array[]>;
  /** Gives back what it holds. */
  close?(): Promise<void>;
}
