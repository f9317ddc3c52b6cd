import type { ErrorCode, ErrorDetails } from '../../core/errors.js';
import { LangoError, isLangoError } from '../../core/errors.js';
import type { JsonObject } from '../../core/json.js';
import { isJsonObject } from '../../core/json.js';

/** The protocol versions (Major.Minor) of our interfaces. */
const SUPPORTED_VERSIONS: readonly string[] = ['1.0', '0.3'];

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

interface Row {
  readonly jsonRpc: number;
  readonly http: number;
  readonly status: string;
  /** The reason that A2A defines. Without it the error is reported under our own domain. */
  readonly reason?: string;
  /** The message is for the log only. */
  readonly hidden?: true;
}

const A2A_DOMAIN = 'a2a-protocol.org';
const LANGO_DOMAIN = 'lango';
const ERROR_INFO = 'type.googleapis.com/google.rpc.ErrorInfo';
const BAD_REQUEST = 'type.googleapis.com/google.rpc.BadRequest';
const SERVER_ERROR = -32000;
const INTERNAL_ERROR = -32603;
const INTERNAL: Row = { jsonRpc: INTERNAL_ERROR, http: 500, status: 'INTERNAL', hidden: true };
const UNSUPPORTED: Row = {
  jsonRpc: -32004,
  http: 400,
  status: 'FAILED_PRECONDITION',
  reason: 'UNSUPPORTED_OPERATION',
};

/** Maps our error codes to numbers. In the other direction, the first code with a reason counts. */
const TABLE: Readonly<Record<ErrorCode, Row>> = {
  'not-found': { jsonRpc: -32001, http: 404, status: 'NOT_FOUND', reason: 'TASK_NOT_FOUND' },
  'not-cancelable': precondition(-32002, 'TASK_NOT_CANCELABLE'),
  'push-not-supported': precondition(-32003, 'PUSH_NOTIFICATION_NOT_SUPPORTED'),
  'not-supported': UNSUPPORTED,
  'already-ended': UNSUPPORTED,
  'limit-reached': UNSUPPORTED,
  'content-type-not-supported': {
    jsonRpc: -32005,
    http: 400,
    status: 'INVALID_ARGUMENT',
    reason: 'CONTENT_TYPE_NOT_SUPPORTED',
  },
  'invalid-agent-response': {
    jsonRpc: -32006,
    http: 500,
    status: 'INTERNAL',
    reason: 'INVALID_AGENT_RESPONSE',
  },
  'extended-card-not-configured': precondition(-32007, 'EXTENDED_AGENT_CARD_NOT_CONFIGURED'),
  'extension-required': precondition(-32008, 'EXTENSION_SUPPORT_REQUIRED'),
  'version-not-supported': precondition(-32009, 'VERSION_NOT_SUPPORTED'),
  'invalid-input': { jsonRpc: -32602, http: 400, status: 'INVALID_ARGUMENT', reason: 'INVALID_PARAMS' },
  conflict: { jsonRpc: -32602, http: 409, status: 'ALREADY_EXISTS', reason: 'INVALID_PARAMS' },
  unauthenticated: { jsonRpc: SERVER_ERROR, http: 401, status: 'UNAUTHENTICATED' },
  forbidden: { jsonRpc: SERVER_ERROR, http: 403, status: 'PERMISSION_DENIED' },
  'too-large': { jsonRpc: SERVER_ERROR, http: 413, status: 'RESOURCE_EXHAUSTED' },
  'too-many': { jsonRpc: SERVER_ERROR, http: 429, status: 'RESOURCE_EXHAUSTED' },
  timeout: { jsonRpc: SERVER_ERROR, http: 504, status: 'DEADLINE_EXCEEDED' },
  unavailable: { jsonRpc: SERVER_ERROR, http: 503, status: 'UNAVAILABLE' },
  fenced: { jsonRpc: SERVER_ERROR, http: 503, status: 'UNAVAILABLE', hidden: true },
  canceled: { jsonRpc: SERVER_ERROR, http: 409, status: 'CANCELLED' },
  internal: INTERNAL,
  'invalid-config': INTERNAL,
  'outcome-unknown': INTERNAL,
  storage: INTERNAL,
  model: INTERNAL,
  tool: INTERNAL,
};

/** Whether clients may see the message of an error. Other messages go to the log only. */
export function isVisible(error: unknown): error is LangoError {
  return isLangoError(error) && TABLE[error.code].hidden !== true;
}

/** Converts an error for clients. A hidden one becomes "internal error", without its cause. */
export function toWireError(error: unknown): WireError {
  if (!isVisible(error)) {
    const row = isLangoError(error) ? TABLE[error.code] : INTERNAL;
    return wireError(row, { code: 'internal', message: 'internal error', details: {} });
  }
  return wireError(TABLE[error.code], { code: error.code, message: error.message, details: error });
}

/**
 * Converts an error of the SDK's client: by our own code when the peer is Lango, else by A2A's reason, else by the number
 * of the transport. An error without a readable response is `unavailable`.
 */
export function fromWireError(error: unknown): LangoError {
  if (isLangoError(error)) return error;
  const response = responseIn(error);
  if (!response)
    return new LangoError('unavailable', 'The peer sent no readable response.', {
      cause: error,
      retryable: true,
    });
  const code = codeOf(response);
  const retryable = code === 'unavailable' || code === 'too-many' || code === 'timeout';
  return new LangoError(code, response.message, { cause: error, retryable });
}

interface VisibleError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details: ErrorDetails;
}

function wireError(row: Row, { code, message, details }: VisibleError): WireError {
  const violations = details.violations ?? [];
  const retryable = row.http === 429 || row.http === 503;
  const waitMs = details.retryAfterMs ?? (retryable ? 1_000 : undefined);
  return {
    jsonRpcCode: row.jsonRpc,
    httpStatus: row.http,
    status: row.status,
    message,
    details: [
      {
        '@type': ERROR_INFO,
        reason: row.reason ?? code.toUpperCase().replaceAll('-', '_'),
        domain: row.reason === undefined ? LANGO_DOMAIN : A2A_DOMAIN,
        metadata: {
          code,
          ...(details.hint === undefined ? {} : { hint: details.hint }),
          ...(code === 'version-not-supported' ? { supportedVersions: SUPPORTED_VERSIONS.join(',') } : {}),
        },
      },
      ...(violations.length === 0
        ? []
        : [{ '@type': BAD_REQUEST, fieldViolations: violations.map((violation) => ({ ...violation })) }]),
    ],
    retryAfterSeconds: waitMs === undefined ? undefined : Math.max(1, Math.ceil(waitMs / 1_000)),
    headers: details.headers ?? {},
  };
}

function precondition(jsonRpc: number, reason: string): Row {
  return { jsonRpc, http: 400, status: 'FAILED_PRECONDITION', reason };
}

interface PeerResponse {
  readonly message: string;
  readonly reason: unknown;
  readonly code: unknown;
  readonly httpStatus: unknown;
  readonly grpcStatus: unknown;
  readonly jsonRpcCode: unknown;
}

/** Reads the peer's response in an error of the SDK's client. For streams it is in the cause. */
function responseIn(error: unknown): PeerResponse | undefined {
  if (!(error instanceof Error)) return undefined;
  const { reason, metadata, data, statusCode, envelopeCode, transport, status } = error as Error &
    Record<string, unknown>;
  if (reason === undefined && statusCode === undefined && envelopeCode === undefined)
    return responseIn(error.cause);
  const info = (Array.isArray(data) ? data : []).find(
    (detail): detail is JsonObject => isJsonObject(detail) && detail['@type'] === ERROR_INFO,
  );
  const members = info?.['metadata'] ?? metadata;
  const isGrpc = transport === 'grpc';
  return {
    message: (isGrpc && grpcMessage(error.cause)) || error.message,
    reason: info?.['reason'] ?? reason,
    code: isJsonObject(members) ? members['code'] : undefined,
    httpStatus: statusCode,
    grpcStatus: isGrpc ? status : undefined,
    jsonRpcCode: envelopeCode,
  };
}

/** The peer's message, without the library's prefix. */
function grpcMessage(cause: unknown): string | undefined {
  const details: unknown = cause instanceof Error && 'details' in cause ? cause.details : undefined;
  return typeof details === 'string' ? details : undefined;
}

function codeOf(response: PeerResponse): ErrorCode {
  if (isCode(response.code)) return response.code;
  const rows = Object.entries(TABLE) as [ErrorCode, Row][];
  const row =
    rows.find(([, { reason }]) => reason !== undefined && reason === response.reason) ??
    rows.find(([, { jsonRpc }]) => jsonRpc !== SERVER_ERROR && jsonRpc === response.jsonRpcCode) ??
    rows.find(([, { http }]) => http !== 400 && http !== 500 && http === response.httpStatus);
  if (row) return row[0];
  if (response.httpStatus === 400) return 'invalid-input';
  return FROM_GRPC_STATUS[Number(response.grpcStatus)] ?? 'internal';
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

function isCode(value: unknown): value is ErrorCode {
  return typeof value === 'string' && Object.hasOwn(TABLE, value);
}
