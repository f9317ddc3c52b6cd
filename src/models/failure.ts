import { causesOf, codeOf, isLangoError } from '../core/errors.js';
import { isJsonObject, objectIn, parseJson, textIn, type JsonObject } from '../core/json.js';
import type { ModelErrorCode, RefusalReason, Usage } from '../core/model.js';
import { againAt, retryAfterMs } from '../core/retry.js';
import { meaningsOf, reasonIn, windowIn } from './reason.js';

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
  /** Whether more than a few attempts would cost money, or patience for nothing. */
  readonly triesFew?: boolean;
  /** The same is asked again so many times, with a note for the model. */
  readonly again?: { readonly note: string; readonly times: number };
  readonly windowTokens?: number | undefined; // The context window that the vendor named.
  readonly refused?: Refused;
  readonly usage?: Usage;
}

/** The response of a server that refuses a request for good. */
interface Refused {
  /** The parameter that the body names; else empty. */
  readonly param: string;
  readonly said: string;
}

/** The reason why a model call ended without an output. It becomes the `error` event. `message` never holds a key. */
export class ModelFailure extends Error {
  readonly code: ModelErrorCode;
  readonly details: FailureDetails;
  /** The usage that the vendor reported for the attempt. */
  usage: Usage | undefined;

  constructor(code: ModelErrorCode, message: string, details: FailureDetails = {}) {
    super(message);
    this.name = 'ModelFailure';
    this.code = code;
    this.details = details;
    this.usage = details.usage;
  }
}

/** The failure of a response that is not in the form of its API, or out of bounds. */
export const badAnswer = (text: string): ModelFailure => new ModelFailure('bad-answer', text);

/** An error that a vendor sent: as the response to a request, or in the middle of a stream. */
export interface VendorError {
  readonly status: number | undefined; // The vendor's HTTP status; undefined for an error inside a stream.
  readonly body: unknown; // The parsed body, or its text.
  readonly shouldRetry?: boolean | undefined; // Whether the vendor says that another attempt makes sense.
  readonly retryAfterMs?: number | undefined;
}

/** The kinds of errors, by the codes and types in the bodies of the vendors. A body's code says more than its status. */
const KINDS = meaningsOf<Kind>({
  key: 'authentication_error invalid_api_key permission_error UNAUTHENTICATED PERMISSION_DENIED',
  credit: 'billing_error insufficient_quota exceeded_current_quota_error Arrearage',
  'model-name': 'not_found_error model_not_found model_decommissioned DeploymentNotFound NOT_FOUND',
  content: `invalid_prompt content_filter content_policy_violation
    data_inspection_failed DataInspectionFailed`,
  length: `request_too_large context_length_exceeded exceed_context_size_error
    tokens_limit_reached string_above_max_length`,
  rate: `rate_limit_error rate_limit_exceeded rate_limit_reached_error
    too_many_requests RESOURCE_EXHAUSTED ThrottlingException`,
  overload: 'overloaded_error engine_overloaded_error insufficient_system_resource UNAVAILABLE',
});

/** Names that gateways also give to requests that they refuse for good: only their status tells. */
const VAGUE_KINDS = meaningsOf<Kind>({
  overload: 'api_error server_error timeout_error INTERNAL',
  other: 'invalid_request_error',
});

/** Vendors report some failures as an invalid or too large request, of which only the text tells the kind. */
const KINDS_OF_TEXT: readonly (readonly [RegExp, Kind])[] = [
  [/(tokens|requests) per (min|day)|\b[TR]P[MD]\b|rate.?limit/i, 'rate'],
  [
    /prompt is too long|context.?(length|window|size|limit)|maximum (context|prompt)|too many (input )?tokens/i,
    'length',
  ],
  [/input (is too long|token count)|reduce the length|exceeds? the (maximum|model'?s?) .*tokens/i, 'length'],
  [/credit balance is too low|reached your specified .*usage limits|insufficient balance/i, 'credit'],
  [/content (management|filter|policy|exists risk)|safety (system|policy|filter)|usage policy/i, 'content'],
  [
    /inappropriate content|prohibited.?content|(input|prompt) was flagged|blocked by (the )?(safety|moderation|guardrail)/i,
    'content',
  ],
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

/** The words before and after the status in the message about a failure: the event, and the advice. */
const verdicts = (endpoint: Endpoint): Readonly<Record<Kind, readonly [before: string, after: string]>> => ({
  key: [
    endpoint.apiKey ? 'refuses the API key' : 'requires an API key',
    `. Set ${endpoint.keyVariable} or model.apiKey to a key that may use it.`,
  ],
  credit: ['has no credit left for this API key', ". Check the account's plan."],
  'model-name': [
    `does not know the model "${endpoint.model}" or this address`,
    '. Check model.name and model.baseUrl.',
  ],
  content: ['refuses the content of the request', '. Say it in other words.'],
  length: ['finds the request too large', '. Begin a new conversation, or send less text or smaller images.'],
  rate: ['limits the rate of requests', '. Try again later.'],
  overload: ['cannot respond right now', '. Try again later.'],
  redirect: ['responds with a redirect', ', which is not followed. Set model.baseUrl to the final address.'],
  other: ['rejects the request', '. Check model.name and model.baseUrl.'],
});

export function vendorFailure(error: VendorError, endpoint: Endpoint): ModelFailure {
  const said = reasonIn(error.body, endpoint.apiKey);
  const kind = kindOf(error, said);
  const status = error.status === undefined ? '(in its response)' : `(HTTP ${error.status})`;
  const isTemporary = kind === 'rate' || kind === 'overload';
  const asked = isTemporary ? waitIn(`${said} ${JSON.stringify(error.body)}`) : undefined;
  const wait = error.retryAfterMs ?? asked;
  const again = isTemporary ? againAt(wait) : '';
  const [before, after] = verdicts(endpoint)[kind];
  const message = `${endpoint.place} ${before} ${status}${after}${again}${said ? ` It says: ${said}` : ''}`;
  const code = kind === 'rate' ? 'rate-limited' : kind === 'overload' ? 'overloaded' : 'rejected';
  return new ModelFailure(code, message, {
    retryable: error.shouldRetry ?? isTemporary,
    retryAfterMs: wait,
    // A server that fails at a request mostly fails at it again.
    triesFew: error.status === 500,
    ...(isTemporary || kind === 'redirect' || kind === 'other' ? {} : { about: kind }),
    windowTokens: kind === 'length' ? windowIn(error.body) : undefined,
    // A change of the request may help.
    ...((kind === 'other' || kind === 'model-name') && {
      refused: { param: textIn(innerError(error.body).param), said },
    }),
  });
}

/** The failure for a response that is no success, with its whole text. Its header says more than `shouldRetry`. */
export function responseFailure(
  { status, headers, shouldRetry }: Pick<Response, 'status' | 'headers'> & Pick<VendorError, 'shouldRetry'>,
  text: string,
  endpoint: Endpoint,
): ModelFailure {
  const advice = headers.get('x-should-retry');
  const error = {
    status,
    body: parseJson(text) ?? text,
    shouldRetry: advice ? advice === 'true' : shouldRetry,
    retryAfterMs: retryAfterMs(headers),
  };
  return vendorFailure(error, endpoint);
}

const ASKED_WAIT = /(?:try again|retry|wait|available)\D{0,20}?((?:[\d.]+ ?(?:ms|[dhms])(?![a-z]) ?)+)/i;
const UNITS = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000, ms: 1 };

/** The wait that a text asks for: "try again in 7m12.5s", `"retryDelay":"34s"`; undefined when it asks for none. */
function waitIn(said: string): number | undefined {
  const [, asked] = ASKED_WAIT.exec(said) ?? [];
  if (asked === undefined) return undefined;
  let sum = 0;
  for (const [, count, unit] of asked.matchAll(/([\d.]+) ?(ms|[dhms])/gi))
    sum += Number(count) * UNITS[unit!.toLowerCase() as keyof typeof UNITS];
  return Number.isFinite(sum) ? sum : undefined;
}

/** The failure for an error object inside a stream, which has no HTTP status of its own. */
export function inStreamFailure(body: unknown, endpoint: Endpoint): ModelFailure {
  return vendorFailure({ status: undefined, body }, endpoint);
}

/** Returns the kind that the body names, else that of the status, else that of the text. */
function kindOf({ status: given, body }: VendorError, said: string): Kind {
  const names = namesIn(body);
  const status = given ?? names.find((name) => typeof name === 'number' && name >= 300);
  const named = names.map((name) => kindNamed(name, KINDS)).find((kind) => kind !== undefined);
  if (named) return named;
  const vague = names.map((name) => kindNamed(name, VAGUE_KINDS)).find((kind) => kind !== undefined);
  const kind = typeof status === 'number' ? kindOfStatus(status) : (vague ?? 'overload');
  const isVague = kind === 'other' || status === 403 || status === 413 || (!status && !vague);
  return (isVague ? KINDS_OF_TEXT.find(([words]) => words.test(said))?.[1] : undefined) ?? kind;
}

function kindNamed(name: unknown, kinds: ReadonlyMap<unknown, Kind>): Kind | undefined {
  if (typeof name === 'string' && name.endsWith('spend_limit_reached')) return 'credit';
  if (typeof name !== 'number') return kinds.get(name);
  // A gateway may send the status of the vendor behind it in the body. Others repeat their own there.
  const kind = kindOfStatus(name);
  return kind === 'rate' || kind === 'overload' || kind === 'credit' ? kind : undefined;
}

/** The codes and types of the error in a body, the most exact one first. */
function namesIn(body: unknown): readonly unknown[] {
  const error = innerError(body);
  const { details, innererror } = error;
  return [error.code, objectIn(innererror).code, objectIn(details).error_code, error.status, error.type];
}

/** Vendors send `{error: {…}}`, the inner part alone, one inside the other, or a list of these. */
function innerError(body: unknown): JsonObject {
  if (Array.isArray(body)) return innerError(body[0]);
  if (!isJsonObject(body)) return {};
  const inner = [body.error, body.detail].find((one) => isJsonObject(one) || Array.isArray(one));
  return inner === undefined ? body : innerError(inner);
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'no such host name',
  EAI_AGAIN: 'its name cannot be looked up',
  ETIMEDOUT: 'no connection in time',
  UND_ERR_CONNECT_TIMEOUT: 'no connection in time',
};

const PROXY = /\bproxy\b/i;

/** The failure for a connection that could not be opened, or that closed before the output was complete. */
export function connectionFailure(error: unknown, endpoint: Endpoint): ModelFailure {
  const causes = causesOf(error);
  const codes = causes.flatMap((cause) => codeOf(cause) ?? []);
  const ofEgress = causes.filter((cause) => isLangoError(cause));
  const lost = (what: string, retryable = true): ModelFailure =>
    new ModelFailure('unreachable', `${endpoint.place} ${what}`, { retryable });
  const untrusted = codes.find((code) => /CERT|TLS|SSL|SIGNATURE/.test(code));
  if (untrusted) {
    const todo = 'Start this server with NODE_EXTRA_CA_CERTS if the authority is your own.';
    return lost(`shows a certificate that is not trusted (${untrusted}). ${todo}`, false);
  }
  // The egress would refuse the same address at the next attempt too.
  const refused = ofEgress.find(({ retryable }) => !retryable);
  if (refused) return new ModelFailure('rejected', refused.message);
  const ofProxy = ofEgress.find(({ message }) => PROXY.test(message));
  if (ofProxy) return lost(`failed: ${ofProxy.message}`);
  const reason = codes.map((code) => REASONS[code]).find((words) => words !== undefined);
  if (!reason) return lost('gave no complete response: the connection failed.');
  return lost(`cannot be reached: ${reason}. Check model.baseUrl, and that the server runs.`);
}
