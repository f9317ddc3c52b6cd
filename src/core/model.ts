import type { z } from 'zod';
import type {
  answerBlock,
  askedRequest,
  functionCall,
  functionResult,
  stopReason,
  usage,
  usageRow,
} from './event-schema.js';
import type { JsonObject } from './json.js';
import type { Part } from './message.js';

/**
 * A model vendor behind one streaming call. A started stream never throws: its last event, and only that, is an `end` or
 * an `error`. The provider retries on 429, 5xx and overload, but not after it yielded text.
 */
export interface ModelProvider {
  /** Provider and model, for logs and usage: "anthropic/claude-…", "offline". */
  readonly id: string;
  readonly fallbacks?: readonly string[]; // The ids of models that may be asked in its place.
  readonly windowTokens?: number; // The most tokens of a request and its output, where they are known.
  readonly readsImages?: boolean; // Default: true. Other models get their descriptions.
  stream(request: ModelRequest): AsyncIterable<ModelEvent>;
}

/** The name of a model at its vendor, from its id. */
export const nameAtVendor = (id: string): string => id.slice(id.indexOf('/') + 1);

export interface ModelRequest {
  /** The instruction, the most stable text first. A provider may cache up to the last `stable` block. */
  readonly system: readonly SystemBlock[];
  readonly messages: readonly ModelMessage[];
  readonly functions: readonly FunctionSpec[];
  readonly output?: JsonObject; // JSON Schema of an output that is data.
  /** The longest output, in tokens. */
  readonly maxTokens: number;
  /** Aborting ends the stream with an `error` event of code `canceled`. */
  readonly signal: AbortSignal;
  readonly onRetry?: (code: ModelErrorCode, delayMs: number) => void; // Called before the wait. Must not throw.
  readonly deadline?: number; // The time (ms since 1970) at which the task ends: no wait goes beyond it.
  readonly hasFallback?: boolean; // Whether another model is asked after a failure, so that long waits make no sense.
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

export type AnswerBlock = Readonly<z.output<typeof answerBlock>>;
export type FunctionCall = Readonly<z.output<typeof functionCall>>;
export type FunctionResult = Readonly<z.output<typeof functionResult>>;
export type StopReason = z.output<typeof stopReason>;

export interface ModelAnswer {
  readonly content: readonly AnswerBlock[];
  readonly stopReason: StopReason;
  readonly usage: Usage;
  readonly refusal?: string; // Why a filter of the vendor ended it, in the vendor's words. Absent when the model itself refused.
  readonly by?: string; // The id of the model that was asked, of several.
  readonly failed?: readonly SpentUsage[];
}

/** The usage that a vendor reported for a failed attempt. */
export type SpentUsage = Readonly<{ usage: Usage; by?: string }>;

/** Tokens of model calls. `cached` and `written` are the parts of `input` that were read from and written to a cache. */
type Tokens = Omit<Usage, 'rows'>;
export type Usage = Readonly<z.output<typeof usage>>;
export type UsageRow = Readonly<z.output<typeof usageRow>>;

/** The price of a million tokens of a model. Tokens of a cache cost as much as other input, unless they have a price. */
export interface ModelPrice {
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number | undefined;
  readonly cacheWrite?: number | undefined;
  /** Factors on the prices of input and output when the prompt has more tokens than `above`. */
  readonly long?: { readonly above: number; readonly input: number; readonly output: number } | undefined;
}

export type ModelErrorCode =
  'canceled' | 'overloaded' | 'rate-limited' | 'unreachable' | 'rejected' | 'bad-answer' | 'empty';

export type RefusalReason = 'key' | 'model-name' | 'credit' | 'length' | 'content';

export type ModelEvent =
  /** With `restarts`, the output begins again after a lost connection, and replaces all earlier text. */
  | { readonly type: 'text'; readonly text: string; readonly restarts?: boolean }
  | { readonly type: 'end'; readonly answer: ModelAnswer }
  | {
      readonly type: 'error';
      readonly code: ModelErrorCode;
      /** For the log and the server's operator; holds no key. */
      readonly message: string;
      readonly retryable: boolean;
      /** Why the vendor refused a `rejected` request; absent for any other reason. */
      readonly about?: RefusalReason;
      readonly retryAfterMs?: number; // The wait that the vendor asks for.
      readonly windowTokens?: number; // The context window that the vendor named.
      readonly failed?: readonly SpentUsage[];
    };

export const NO_USAGE: Usage = { input: 0, output: 0, cached: 0 };

/** The request of a turn by its hashes, which tell whether another one would be sent today. */
export type AskedRequest = Readonly<z.output<typeof askedRequest>>;

/** Adds `b` to `a`, row by row. With `sign` -1 it subtracts `b`, but not below 0. */
export function addUsage(a: Usage, b: Usage, sign: 1 | -1 = 1): Usage {
  const keyOf = (row: UsageRow): string => JSON.stringify([row.node, row.agent, row.model, row.currency]);
  const rows = new Map((a.rows ?? []).map((row) => [keyOf(row), row]));
  for (const row of b.rows ?? [])
    rows.set(keyOf(row), { ...row, ...addNumbers(rows.get(keyOf(row)) ?? NO_USAGE, row, sign) });
  const used = [...rows.values()].filter((row) => row.input + row.output > 0);
  return { ...addNumbers(a, b, sign), ...(used.length > 0 && { rows: used }) };
}

function addNumbers(a: Tokens & { cost?: number }, b: typeof a, sign: number): typeof a {
  // Rounded, so that sums of money stay exact to a billionth.
  const sum = (x = 0, y = 0): number => Math.max(0, Math.round((x + sign * y) * 1e9) / 1e9);
  const { written = b.written, cost = b.cost } = a;
  return {
    ...{ input: sum(a.input, b.input), output: sum(a.output, b.output), cached: sum(a.cached, b.cached) },
    ...(written !== undefined && { written: sum(a.written, b.written) }),
    ...(cost !== undefined && { cost: sum(a.cost, b.cost) }),
  };
}

/** Joins the text blocks of an output. */
export function answerText(content: readonly AnswerBlock[]): string {
  return content.map((block) => (block.type === 'text' ? block.text : '')).join('');
}

export function functionCalls(content: readonly AnswerBlock[]): readonly FunctionCall[] {
  return content.filter((block) => block.type === 'function-call');
}

/** The last event of a call that failed, and would fail again. */
export const modelError = (code: ModelErrorCode, message: string): ModelEvent => ({
  type: 'error',
  code,
  message,
  retryable: false,
});

/** The usage of the answer, and of the failed attempts before it, as far as the vendor reported it. */
export function attemptsOf(last: Exclude<ModelEvent, { type: 'text' }>): readonly SpentUsage[] {
  return last.type === 'error' ? (last.failed ?? []) : [last.answer, ...(last.answer.failed ?? [])];
}

/** Summarizes a text in a few lines. */
export interface Distiller {
  /** The id of the model, which is stored with the result. */
  readonly by: string;
  /**
   * Returns the lines that `instruction` asks for. Instructions inside the text are not followed. Rejects with `model`
   * without a usable output, with `unavailable` when the model cannot be reached, and with the signal's reason after an
   * abort.
   */
  distill(request: DistillRequest): Promise<readonly string[]>;
}

export interface DistillRequest {
  readonly scope: Readonly<{ tenant: string; owner: string }>; // The owner of the text. The call is on the owner's bill.
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
   * differently. `onTokens` gets the tokens that the vendor charges. Rejects with `unavailable`, `timeout`,
   * `invalid-config` (wrong key, unknown model) or the signal's reason.
   */
  embed(
    texts: readonly string[],
    call: { purpose: 'document' | 'query'; signal: AbortSignal; onTokens?: (tokens: number) => void },
  ): Promise<readonly Float32Array[]>;
  /** Frees memory and connections. */
  close?(): Promise<void>;
}
