import { causesOf, codeOf, isLangoError } from '../core/errors.js';
import { isJsonObject } from '../core/json.js';
import type { ModelErrorCode } from '../core/model.js';
import { oneLine } from '../core/text.js';

/** The address of a model server, and how messages name it. */
export interface Endpoint {
  /** The subject of error messages: "Anthropic at api.anthropic.com:443". */
  readonly place: string;
  readonly model: string;
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  /** The environment variable that holds the key. */
  readonly keyVariable: string;
}

export interface FailureDetails {
  readonly retryable?: boolean;
  /** The wait before the next attempt that the vendor asks for. */
  readonly retryAfterMs?: number | undefined;
}

/** Why a model call ended without an answer; becomes its `error` event. `message` never holds a key. */
export class ModelFailure extends Error {
  readonly code: ModelErrorCode;
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;

  constructor(code: ModelErrorCode, message: string, details: FailureDetails = {}) {
    super(message);
    this.name = 'ModelFailure';
    this.code = code;
    this.retryable = details.retryable ?? false;
    this.retryAfterMs = details.retryAfterMs;
  }
}

/** An error that a vendor sent: as the answer to a request, or in the middle of a stream. */
export interface VendorError {
  /** The HTTP status, or the status that corresponds to the kind of error. */
  readonly status: number;
  /** The parsed body, or its text. */
  readonly body: unknown;
  /** Whether the vendor says that another attempt makes sense. */
  readonly shouldRetry?: boolean | undefined;
  readonly retryAfterMs?: number | undefined;
}

const MAX_QUOTED_CHARACTERS = 500;

/** No credit left. Some vendors send status 429 for it, although waiting does not help; the body tells the kind. */
const NO_CREDIT = 402;

/** The HTTP statuses that correspond to the kinds of error in the bodies of vendors. */
const STATUS_OF_KIND: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: NO_CREDIT,
  insufficient_quota: NO_CREDIT,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  api_error: 500,
  server_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
};

interface Verdict {
  readonly code: ModelErrorCode;
  readonly retryable: boolean;
  readonly words: string;
}

export function vendorFailure(error: VendorError, endpoint: Endpoint): ModelFailure {
  const kind = kindOf(error.body);
  const status = kind === NO_CREDIT ? kind : error.status;
  const { code, retryable, words } = verdictOn(status, endpoint);
  const said = vendorText(error.body, endpoint.apiKey);
  const message = `${endpoint.place} ${words}${said ? ` It says: ${said}` : ''}`;
  return new ModelFailure(code, message, {
    retryable: error.shouldRetry ?? retryable,
    retryAfterMs: error.retryAfterMs,
  });
}

/** The failure for an error object inside a stream, which has no HTTP status of its own. */
export function inStreamFailure(body: unknown, endpoint: Endpoint): ModelFailure {
  return vendorFailure({ status: kindOf(body) ?? 500, body }, endpoint);
}

function verdictOn(status: number, endpoint: Endpoint): Verdict {
  const rejected = (words: string): Verdict => ({ code: 'rejected', retryable: false, words });
  const http = `(HTTP ${status})`;
  if (status === 401 || status === 403) {
    const key = endpoint.apiKey ? 'refuses the API key' : 'wants an API key';
    return rejected(`${key} ${http}. Set ${endpoint.keyVariable} or model.apiKey to a key that may use it.`);
  }
  if (status === 402)
    return rejected(`has no credit left for this API key ${http}. Check the account's plan.`);
  if (status === 404) {
    return rejected(
      `does not know the model "${endpoint.model}" or this address ${http}. Check model.name and model.baseUrl.`,
    );
  }
  if (status === 413)
    return rejected(`finds the request too large ${http}. Send less text or smaller images.`);
  if (status === 429) return { code: 'rate-limited', retryable: true, words: `limits our rate ${http}.` };
  if (status === 408 || status === 409 || status >= 500) {
    return { code: 'overloaded', retryable: true, words: `cannot answer right now ${http}.` };
  }
  if (status >= 300 && status < 400) {
    return rejected(
      `answers with a redirect ${http}, which is not followed. Set model.baseUrl to the final address.`,
    );
  }
  return rejected(`rejects the request ${http}. Check model.name and model.baseUrl.`);
}

/** The status for the kind of error in a body; undefined for an unknown kind. */
function kindOf(body: unknown): number | undefined {
  const error = innerError(body);
  if (!isJsonObject(error)) return undefined;
  const details = isJsonObject(error.details) ? error.details : {};
  for (const word of [error.code, details.error_code, error.type]) {
    if (typeof word === 'number') return word;
    if (typeof word !== 'string') continue;
    if (word.endsWith('spend_limit_reached')) return NO_CREDIT;
    if (Object.hasOwn(STATUS_OF_KIND, word)) return STATUS_OF_KIND[word];
  }
  return undefined;
}

/** Vendors send `{error: {message}}`, `{error: "text"}`, or the inner part alone. */
function innerError(body: unknown): unknown {
  return isJsonObject(body) && body.error !== undefined ? body.error : body;
}

function vendorText(body: unknown, apiKey: string | undefined): string {
  const error = innerError(body);
  const message = isJsonObject(error) ? error.message : error;
  if (typeof message !== 'string' || /<html|<!doctype/i.test(message)) return '';
  const text = apiKey ? message.replaceAll(apiKey, '[API key]') : message;
  return oneLine(text).slice(0, MAX_QUOTED_CHARACTERS);
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'no such host name',
  EAI_AGAIN: 'its name cannot be looked up',
  ETIMEDOUT: 'no connection in time',
  UND_ERR_CONNECT_TIMEOUT: 'no connection in time',
};

/** The failure for a connection that could not be opened, or that closed before the answer was complete. */
export function connectionFailure(error: unknown, endpoint: Endpoint): ModelFailure {
  const causes = causesOf(error);
  const codes = causes.flatMap((cause) => codeOf(cause) ?? []);
  const untrusted = codes.find((code) => /CERT|TLS|SSL|SIGNATURE/.test(code));
  if (untrusted) {
    return new ModelFailure(
      'unreachable',
      `${endpoint.place} shows a certificate that is not trusted (${untrusted}).`,
    );
  }
  // The egress refuses the same address again at the next attempt.
  const refused = causes.filter((cause) => isLangoError(cause)).find(({ retryable }) => !retryable);
  if (refused) return new ModelFailure('rejected', refused.message);
  const reason = codes.map((code) => REASONS[code]).find((words) => words !== undefined);
  const message = reason
    ? `${endpoint.place} cannot be reached: ${reason}. Check model.baseUrl and that the server runs.`
    : `${endpoint.place} gave no whole answer: the connection failed.`;
  return new ModelFailure('unreachable', message, { retryable: true });
}
