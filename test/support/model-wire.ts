import type { IncomingHttpHeaders } from 'node:http';
import type { JsonObject } from '../../src/core/json.js';
import type { Logger } from '../../src/core/logger.js';
import type { ModelProvider, StopReason, Usage } from '../../src/core/model.js';
import type { Tuning } from '../../src/models/vendor.js';

/** A response in no vendor's format. */
export interface AnswerScript {
  readonly texts?: readonly string[];
  /** `json`: the text of the arguments, in the chunks in which it is sent. */
  readonly calls?: readonly {
    readonly id: string;
    readonly name: string;
    readonly json: readonly string[];
  }[];
  readonly stop: StopReason;
}

export interface WireOptions extends Tuning {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly maxRetries?: number;
  readonly timeoutMs?: number;
  readonly logger?: Logger;
  readonly fetch?: typeof fetch;
}

/** A vendor's wire format, for the suite below. */
export interface ModelWire {
  create(options: WireOptions): ModelProvider;
  /** The event stream of a complete response; it reports `usage` tokens. */
  answer(script: AnswerScript): string;
  /** The beginning of a stream whose text so far is `text`. */
  beginning(text: string): string;
  /** An error inside a stream. */
  streamError(code: 'overloaded' | 'rate-limited' | 'rejected', message: string): string;
  /** The data of an event of an unknown name, which is skipped. Default: no JSON at all. */
  readonly unknownEvent?: string;
  /** The body of an HTTP error. */
  errorBody(message: string): JsonObject;
  readonly usage: Usage;
  /** The usage that an unfinished stream reports; absent for a vendor that reports usage only at the end. */
  readonly begun?: Usage;
  /** The API key in a request's headers. */
  key(headers: IncomingHttpHeaders): string | undefined;
  /** A request's body; `messages` are one line a turn: "user: result a | text", "assistant: text | call a". */
  sent(body: JsonObject): {
    readonly maxTokens: number;
    readonly functions: readonly { readonly name: string; readonly parameters: object }[];
    readonly messages: readonly string[];
  };
}

export const API_KEY = 'sk-very-secret-0123456789';
