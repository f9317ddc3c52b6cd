import { causesOf, codeOf, isLangoError } from '../core/errors.js';
import { isJsonObject } from '../core/json.js';
import type { ModelErrorCode, RefusalReason, Usage } from '../core/model.js';
import { oneLine } from '../core/text.js';

/** The address of a model server, and how messages name it. */
export interface Endpoint {
  readonly place: string; // The subject of error messages: "Anthropic at api.anthropic.com:443".
  readonly model: string;
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  readonly keyVariable: string;
}

export interface FailureDetails {
  readonly retryable?: boolean;
  readonly retryAfterMs?: number | undefined; // The wait before the next attempt that the vendor asks for.
  readonly about?: RefusalReason;
}

/** The reason why a model call ended without an output. It becomes the `error` event. `message` never holds a key. */
export class ModelFailure extends Error {
  readonly code: ModelErrorCode;
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;
  readonly about: RefusalReason | undefined;
  /** The usage that the vendor reported for the attempt. */
  usage: Usage | undefined;

  constructor(code: ModelErrorCode, message: string, details: FailureDetails = {}) {
    super(message);
    this.name = 'ModelFailure';
    this.code = code;
    this.retryable = details.retryable ?? false;
    this.retryAfterMs = details.retryAfterMs;
    this.about = details.about;
  }
}

/** An error that a vendor sent: as the response to a request, or in the middle of a stream. */
export interface VendorError {
  readonly status: number | undefined; // The vendor's HTTP status; undefined for an error inside a stream.
  readonly body: unknown; // The parsed body, or its text.
  readonly shouldRetry?: boolean | undefined; // Whether the vendor says that another attempt makes sense.
  readonly retryAfterMs?: number | undefined;
}

const MAX_QUOTED_CHARACTERS = 500;

/** The kinds of errors, by their names in the bodies of the vendors. */
const KINDS: Readonly<Record<string, Kind>> = {
  authentication_error: 'key',
  invalid_api_key: 'key',
  permission_error: 'key',
  billing_error: 'credit',
  insufficient_quota: 'credit',
  not_found_error: 'model-name',
  model_not_found: 'model-name',
  invalid_prompt: 'other',
  request_too_large: 'length',
  context_length_exceeded: 'length',
  rate_limit_error: 'rate',
  rate_limit_exceeded: 'rate',
  api_error: 'overload',
  server_error: 'overload',
  timeout_error: 'overload',
  overloaded_error: 'overload',
};

/** Vendors report some failures as an invalid request, of which only the text tells the kind. */
const INVALID_REQUESTS: readonly (readonly [RegExp, Kind])[] = [
  [/prompt is too long|context (length|window)|maximum context|too many (input )?tokens/i, 'length'],
  [/credit balance is too low|reached your specified .*usage limits/i, 'credit'],
];

type Kind = RefusalReason | 'rate' | 'overload' | 'redirect' | 'other';

function kindOfStatus(status: number): Kind {
  if (status === 401 || status === 403) return 'key';
  if (status === 402) return 'credit';
  if (status === 404) return 'model-name';
  if (status === 413) return 'length';
  if (status === 429) return 'rate';
  if (status === 408 || status === 409 || status >= 500) return 'overload';
  return status >= 300 && status < 400 ? 'redirect' : 'other';
}

/** Completes a message that begins with the server: says what happened, and what to do. */
function verdictOn(kind: Kind, status: string, endpoint: Endpoint): string {
  switch (kind) {
    case 'key': {
      const key = endpoint.apiKey ? 'refuses the API key' : 'requires an API key';
      return `${key} ${status}. Set ${endpoint.keyVariable} or model.apiKey to a key that may use it.`;
    }
    case 'credit':
      return `has no credit left for this API key ${status}. Check the account's plan.`;
    case 'model-name':
      return `does not know the model "${endpoint.model}" or this address ${status}. Check model.name and model.baseUrl.`;
    case 'length':
      return `finds the request too large ${status}. Begin a new conversation, or send less text or smaller images.`;
    case 'rate':
      return `limits the rate of requests ${status}. Try again later.`;
    case 'overload':
      return `cannot respond right now ${status}. Try again later.`;
    case 'redirect':
      return `responds with a redirect ${status}, which is not followed. Set model.baseUrl to the final address.`;
    case 'other':
      return `rejects the request ${status}. Check model.name and model.baseUrl.`;
  }
}

export function vendorFailure(error: VendorError, endpoint: Endpoint): ModelFailure {
  const said = vendorText(error.body, endpoint.apiKey);
  const kind = kindOf(error);
  const status = error.status === undefined ? '(in its response)' : `(HTTP ${error.status})`;
  const message = `${endpoint.place} ${verdictOn(kind, status, endpoint)}${said ? ` It says: ${said}` : ''}`;
  const isTemporary = kind === 'rate' || kind === 'overload';
  const code = kind === 'rate' ? 'rate-limited' : kind === 'overload' ? 'overloaded' : 'rejected';
  return new ModelFailure(code, message, {
    retryable: error.shouldRetry ?? isTemporary,
    retryAfterMs: error.retryAfterMs,
    ...(isTemporary || kind === 'redirect' || kind === 'other' ? {} : { about: kind }),
  });
}

/** The failure for an error object inside a stream, which has no HTTP status of its own. */
export function inStreamFailure(body: unknown, endpoint: Endpoint): ModelFailure {
  return vendorFailure({ status: undefined, body }, endpoint);
}

/** Returns the kind of the status, except for kinds that only the body tells: no credit, and why a request is invalid. */
function kindOf({ status, body }: VendorError): Kind {
  const named = namedKind(body);
  if (status === undefined) return named ?? 'overload';
  const kind = kindOfStatus(status);
  if (named === 'credit') return named;
  return kind === 'other' && named !== 'rate' && named !== 'overload' ? (named ?? kind) : kind;
}

/** The kind of error that a body names; undefined when it names none that is known. */
function namedKind(body: unknown): Kind | undefined {
  const error = innerError(body);
  if (!isJsonObject(error)) return undefined;
  const details = isJsonObject(error.details) ? error.details : {};
  for (const word of [error.code, details.error_code, error.type]) {
    if (typeof word === 'number') return kindOfStatus(word);
    if (typeof word !== 'string') continue;
    if (word.endsWith('spend_limit_reached')) return 'credit';
    if (Object.hasOwn(KINDS, word)) return KINDS[word];
    if (word !== 'invalid_request_error') continue;
    const text = typeof error.message === 'string' ? error.message : '';
    return INVALID_REQUESTS.find(([words]) => words.test(text))?.[1] ?? 'other';
  }
  return undefined;
}

/** Vendors send `{error: {message}}`, `{error: "text"}`, or the inner part alone. */
function innerError(body: unknown): unknown {
  return isJsonObject(body) && body.error !== undefined ? body.error : body;
}

/** Anything that looks like a key of a vendor, whole or with its middle left out. */
const KEY_SHAPE = /\b(sk|xai|gsk|key)-[\w*.-]{6,}/g;

function vendorText(body: unknown, apiKey: string | undefined): string {
  const error = innerError(body);
  const message = isJsonObject(error) ? error.message : error;
  if (typeof message !== 'string' || /<html|<!doctype/i.test(message)) return '';
  const text = apiKey ? message.replaceAll(apiKey, '[API key]') : message;
  return oneLine(text.replaceAll(KEY_SHAPE, '[API key]')).slice(0, MAX_QUOTED_CHARACTERS);
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'no such host name',
  EAI_AGAIN: 'its name cannot be looked up',
  ETIMEDOUT: 'no connection in time',
  UND_ERR_CONNECT_TIMEOUT: 'no connection in time',
};

/** The failure for a connection that could not be opened, or that closed before the output was complete. */
export function connectionFailure(error: unknown, endpoint: Endpoint): ModelFailure {
  const causes = causesOf(error);
  const codes = causes.flatMap((cause) => codeOf(cause) ?? []);
  const untrusted = codes.find((code) => /CERT|TLS|SSL|SIGNATURE/.test(code));
  if (untrusted) {
    return new ModelFailure(
      'unreachable',
      `${endpoint.place} shows a certificate that is not trusted (${untrusted}). Start this server with NODE_EXTRA_CA_CERTS if the authority is your own.`,
    );
  }
  // The egress would refuse the same address at the next attempt too.
  const refused = causes.filter((cause) => isLangoError(cause)).find(({ retryable }) => !retryable);
  if (refused) return new ModelFailure('rejected', refused.message);
  const reason = codes.map((code) => REASONS[code]).find((words) => words !== undefined);
  const message = reason
    ? `${endpoint.place} cannot be reached: ${reason}. Check model.baseUrl, and that the server runs.`
    : `${endpoint.place} gave no complete response: the connection failed.`;
  return new ModelFailure('unreachable', message, { retryable: true });
}
