/**
 * What can go wrong, in words that every ring shares. Numbers and HTTP statuses are given at the
 * borders only (a2a/translate for A2A and JSON-RPC, http for plain routes, cli for exit codes).
 */
export type ErrorCode =
  | 'invalid-input'
  | 'invalid-config'
  | 'not-found'
  | 'already-ended'
  | 'not-cancelable'
  | 'conflict'
  | 'not-supported'
  | 'content-type-not-supported'
  | 'version-not-supported'
  | 'extension-required'
  | 'extended-card-not-configured'
  | 'push-not-supported'
  | 'invalid-agent-response'
  | 'unauthenticated'
  | 'forbidden'
  | 'too-large'
  | 'too-many'
  | 'fenced'
  | 'outcome-unknown'
  | 'limit-reached'
  | 'timeout'
  | 'canceled'
  | 'unavailable'
  | 'storage'
  | 'model'
  | 'tool'
  | 'internal';

export interface ErrorDetails {
  /** What the reader can do about it, one sentence. */
  readonly hint?: string;
  readonly cause?: unknown;
  /** Which fields were wrong: a path in dots ("message.parts") and what is wrong with it. */
  readonly violations?: readonly { readonly field: string; readonly description: string }[];
  /** Whether the same request may succeed later. */
  readonly retryable?: boolean;
  readonly retryAfterMs?: number;
  /** What an answer over HTTP says besides: a challenge, a rate limit. */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * The one error kind that crosses rings. `message` is fit for the person who asked: no stack, no
 * path of this machine, no value of a secret. Anything else that is thrown is a defect and is shown
 * to nobody but the log.
 */
export class LangoError extends Error {
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  readonly violations: ErrorDetails['violations'];
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;
  readonly headers: ErrorDetails['headers'];

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'LangoError';
    this.code = code;
    this.hint = details.hint;
    this.violations = details.violations;
    this.retryable = details.retryable ?? false;
    this.retryAfterMs = details.retryAfterMs;
    this.headers = details.headers;
  }
}

export function isLangoError(error: unknown, code?: ErrorCode): error is LangoError {
  return error instanceof LangoError && (code === undefined || error.code === code);
}

/** The text of whatever was thrown, without its stack. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** For whatever comes in while the server stops: another node may take it, or this one when it is back. */
export function serverStopping(): LangoError {
  return new LangoError('unavailable', 'The server is stopping.', { retryable: true, retryAfterMs: 2_000 });
}

const MOST_CAUSES = 20;

/**
 * An error, what caused it, and so on, the outermost first; the parts of an aggregate too, at most about 20 in all.
 * Libraries throw more than `Error`s: whatever is not an object stands alone.
 */
export function causesOf(error: unknown): readonly unknown[] {
  const causes: unknown[] = [error];
  for (const cause of causes) {
    if (!isObject(cause) || causes.length > MOST_CAUSES) continue;
    if (cause.cause !== undefined) causes.push(cause.cause);
    if (Array.isArray(cause.errors)) causes.push(...(cause.errors as unknown[]));
  }
  return causes;
}

/** The code of an error that the system or a library threw ("ENOENT"); undefined when it has none. */
export function codeOf(error: unknown): string | undefined {
  return isObject(error) && typeof error.code === 'string' ? error.code : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
