import { LangoError, causesOf, errorText, isLangoError, type ErrorCode } from '../../core/errors.js';
import { statusOf } from '../../core/http.js';
import { isJsonObject, type JsonObject } from '../../core/json.js';

/** An error with its fields for every binding (A2A 1.0 sections 5.4, 9.5, 11.6). */
export interface WireError {
  readonly jsonRpcCode: number;
  readonly httpStatus: number;
  /** The canonical gRPC name, which REST bodies carry too. */
  readonly status: string;
  readonly message: string;
  readonly details: readonly JsonObject[];
  /** Seconds to wait before a retry, for `Retry-After`. */
  readonly retryAfterSeconds: number | undefined;
  /** Headers of the response over HTTP: a challenge, a rate limit. */
  readonly headers: Readonly<Record<string, string>>;
}

export class VersionNotSupported extends LangoError {
  /** The versions (Major.Minor) of the interface. */
  readonly supported: readonly string[];

  constructor(supported: readonly string[]) {
    super('version-not-supported', 'This interface does not speak that version of A2A.', {
      hint: `It speaks ${supported.join(', ')}.`,
    });
    this.supported = supported;
  }
}

const A2A_DOMAIN = 'a2a-protocol.org';
const LANGO_DOMAIN = 'lango';
const ERROR_INFO = 'type.googleapis.com/google.rpc.ErrorInfo';
const BAD_REQUEST = 'type.googleapis.com/google.rpc.BadRequest';
const SERVER_ERROR = -32000;
const INTERNAL_ERROR = -32603;
const PRECONDITION = [400, 'FAILED_PRECONDITION'] as const;
/**
 * An error that A2A (section 5.4) or JSON-RPC numbers. `reason`: the one that A2A defines; other errors are reported under
 * our own domain. Default of `http`: the status that other HTTP routes have for the error.
 */
function row(jsonRpc: number, reason: string, http?: readonly [number, string]) {
  return { jsonRpc, reason, http };
}

const UNSUPPORTED = row(-32004, 'UNSUPPORTED_OPERATION', PRECONDITION);

/** Maps our error codes to A2A's errors. In the other direction, the first code with a reason counts. */
const TABLE: Readonly<Partial<Record<ErrorCode, ReturnType<typeof row>>>> = {
  'not-found': row(-32001, 'TASK_NOT_FOUND'),
  'not-cancelable': row(-32002, 'TASK_NOT_CANCELABLE', PRECONDITION),
  'push-not-supported': row(-32003, 'PUSH_NOTIFICATION_NOT_SUPPORTED', PRECONDITION),
  'not-supported': UNSUPPORTED,
  'already-ended': UNSUPPORTED,
  'limit-reached': UNSUPPORTED,
  'content-type-not-supported': row(-32005, 'CONTENT_TYPE_NOT_SUPPORTED', [400, 'INVALID_ARGUMENT']),
  'invalid-agent-response': row(-32006, 'INVALID_AGENT_RESPONSE'),
  'extended-card-not-configured': row(-32007, 'EXTENDED_AGENT_CARD_NOT_CONFIGURED', PRECONDITION),
  'extension-required': row(-32008, 'EXTENSION_SUPPORT_REQUIRED', PRECONDITION),
  'version-not-supported': row(-32009, 'VERSION_NOT_SUPPORTED', PRECONDITION),
  'generation-mismatch': row(-32010, 'TASK_GENERATION_MISMATCH'),
  'invalid-input': row(-32602, 'INVALID_PARAMS'),
  conflict: row(-32602, 'INVALID_PARAMS'),
};

/** Errors whose message is for the log only. */
const HIDDEN = new Set<ErrorCode>([
  'internal',
  'invalid-config',
  'outcome-unknown',
  'storage',
  'model',
  'tool',
  'fenced',
]);
const INTERNAL = new LangoError('internal', 'Internal error.');
/** The error that clients get when the database fails. The log says more. */
const STORAGE_FAILED = new LangoError('unavailable', 'The server cannot read or store its data at present.', {
  retryable: true,
  retryAfterMs: 5_000,
});
/** Errors of the transport, which A2A does not number. */
const TRANSPORT: readonly ErrorCode[] = [
  'unauthenticated',
  'forbidden',
  'too-large',
  'too-many',
  'timeout',
  'unavailable',
  'canceled',
];
/** The errors that a peer's response can name. For an HTTP status, the first that has it counts. */
const NAMED_BY_PEERS = [...(Object.keys(TABLE) as ErrorCode[]), ...TRANSPORT];

/** Whether clients may see the message of an error. Other messages go to the log only. */
export function isVisible(error: unknown): error is LangoError {
  return isLangoError(error) && !HIDDEN.has(error.code);
}

/** Converts an error for clients. A hidden one becomes "Internal error.", without its cause. */
export function toWireError(error: unknown): WireError {
  if (isVisible(error)) return wireError(error.code, error);
  if (isLangoError(error, 'storage')) return wireError(STORAGE_FAILED.code, STORAGE_FAILED);
  return wireError(isLangoError(error) ? error.code : 'internal', INTERNAL);
}

const OVERSIZED = /^SSE .* exceeded the maximum allowed size/;

/**
 * Converts an error of the SDK's client: by our own code when the peer is Lango, else by A2A's reason, else by the number
 * of the transport. An error without a readable response is `unavailable`.
 */
export function fromWireError(error: unknown): LangoError {
  if (isLangoError(error)) return error;
  const response = responseIn(error);
  // The SDK's parser has no error class for this. A retry would bring the same event.
  if (!response && OVERSIZED.test(errorText(error)))
    return new LangoError('too-large', 'The peer sent an event of more than 4 MiB.', { cause: error });
  if (!response)
    return new LangoError('unavailable', 'The peer sent no readable response.', {
      cause: error,
      retryable: true,
    });
  const code = codeOf(response);
  const retryable = code === 'unavailable' || code === 'too-many' || code === 'timeout';
  return new LangoError(code, response.message, { cause: error, retryable });
}

/** `code` decides about the numbers, `shown` about the texts. */
function wireError(code: ErrorCode, shown: LangoError): WireError {
  const { message, hint, violations = [], retryAfterMs, headers = {} } = shown;
  const known = TABLE[code];
  const [httpStatus, status] = httpOf(code);
  const retryable = httpStatus === 429 || httpStatus === 503;
  const waitMs = retryAfterMs ?? (retryable ? 1_000 : undefined);
  return {
    jsonRpcCode: known?.jsonRpc ?? (httpStatus === 500 ? INTERNAL_ERROR : SERVER_ERROR),
    // Only HTTP has codings of bodies, so HTTP says what is accepted (RFC 9110, section 15.5.16).
    httpStatus: 'Accept-Encoding' in headers ? 415 : httpStatus,
    status,
    message,
    details: [
      {
        '@type': ERROR_INFO,
        reason: known?.reason ?? shown.code.toUpperCase().replaceAll('-', '_'),
        domain: known ? A2A_DOMAIN : LANGO_DOMAIN,
        metadata: {
          code: shown.code,
          ...(hint === undefined ? {} : { hint }),
          ...(shown instanceof VersionNotSupported && { supportedVersions: shown.supported.join(',') }),
        },
      },
      ...(violations.length === 0
        ? []
        : [{ '@type': BAD_REQUEST, fieldViolations: violations.map((violation) => ({ ...violation })) }]),
    ],
    retryAfterSeconds: waitMs === undefined ? undefined : Math.max(1, Math.ceil(waitMs / 1_000)),
    headers,
  };
}

function httpOf(code: ErrorCode): readonly [number, string] {
  return TABLE[code]?.http ?? statusOf(code);
}

/** Reads the peer's response in an error of the SDK's client. For streams it is in the cause. */
function responseIn(given: unknown) {
  const error = causesOf(given).find(isResponse);
  if (!error) return undefined;
  const { reason, metadata, data, statusCode, envelopeCode, transport, status } = error;
  const info = (Array.isArray(data) ? data : []).find(
    (detail): detail is JsonObject => isJsonObject(detail) && detail['@type'] === ERROR_INFO,
  );
  const members = info?.['metadata'] ?? metadata;
  const isGrpc = transport === 'grpc';
  // The library gives a response without a message the status of an unknown method.
  if (isGrpc && grpcMessage(error.cause) === NO_MESSAGE) return undefined;
  return {
    message: (isGrpc && grpcMessage(error.cause)) || error.message,
    reason: info?.['reason'] ?? reason,
    code: isJsonObject(members) ? members['code'] : undefined,
    httpStatus: statusCode,
    grpcStatus: isGrpc ? status : undefined,
    jsonRpcCode: envelopeCode,
  };
}

function isResponse(error: unknown): error is Error & Readonly<Record<string, unknown>> {
  const told = ['reason', 'statusCode', 'envelopeCode'];
  return error instanceof Error && told.some((name) => Reflect.get(error, name) !== undefined);
}

const NO_MESSAGE = 'No message received';

/** The peer's message, without the library's prefix. */
function grpcMessage(cause: unknown): string | undefined {
  const details: unknown = cause instanceof Error && 'details' in cause ? cause.details : undefined;
  return typeof details === 'string' ? details : undefined;
}

type PeerResponse = NonNullable<ReturnType<typeof responseIn>>;

function codeOf({ code, reason, jsonRpcCode, httpStatus, grpcStatus }: PeerResponse): ErrorCode {
  return (
    NAMED_BY_PEERS.find((one) => one === code) ??
    NAMED_BY_PEERS.find((one) => reason !== undefined && TABLE[one]?.reason === reason) ??
    NAMED_BY_PEERS.find((one) => jsonRpcCode !== undefined && TABLE[one]?.jsonRpc === jsonRpcCode) ??
    NAMED_BY_PEERS.find((one) => httpStatus !== 400 && httpStatus !== 500 && httpOf(one)[0] === httpStatus) ??
    (httpStatus === 400 ? 'invalid-input' : FROM_GRPC_STATUS[Number(grpcStatus)]) ??
    'internal'
  );
}

/** Error codes by the number of a gRPC status. */
const FROM_GRPC_STATUS: Readonly<Partial<Record<number, ErrorCode>>> = {
  1: 'canceled',
  3: 'invalid-input',
  4: 'timeout',
  5: 'not-found',
  6: 'conflict',
  7: 'forbidden',
  8: 'too-many',
  9: 'not-supported',
  12: 'not-supported',
  14: 'unavailable',
  16: 'unauthenticated',
};
