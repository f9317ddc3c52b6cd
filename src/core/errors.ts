/** The kinds of errors that all rings share. Only the borders (a2a/translate, http, cli) translate them to numbers. */
export type ErrorCode =
  | 'invalid-input'
  | 'invalid-config'
  | 'not-found'
  | 'already-ended'
  | 'not-cancelable'
  | 'conflict'
  | 'generation-mismatch'
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
  /** One sentence on what to do about it. */
  readonly hint?: string;
  readonly cause?: unknown;
  /** The wrong fields, each as a path ("message.parts") with what is wrong. */
  readonly violations?: readonly { readonly field: string; readonly description: string }[];
  /** Whether the same request may succeed later. */
  readonly retryable?: boolean;
  readonly retryAfterMs?: number;
  /** Headers for an HTTP response, such as a challenge or a rate limit. */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * The error kind that crosses rings. Its message is for the caller: it holds no stack, no path of this machine and no
 * value of a secret. Any other error is a defect, and only the log shows it.
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

/** Returns the text of a thrown value, without a stack. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The message of an error with its advice. */
export function adviceText({ message, hint }: LangoError): string {
  return hint === undefined ? message : `${message} ${hint}`;
}

/** The error for requests that arrive while the server stops: the client may repeat them soon. */
export function serverStopping(): LangoError {
  return new LangoError('unavailable', 'The server is stopping.', { retryable: true, retryAfterMs: 2_000 });
}

/** Loads a package that only its users install. Rejects with `not-supported`, and how to install it, where it is missing. */
export async function loadPackage<Module>(name: string, load: () => Promise<Module>): Promise<Module> {
  try {
    return await load();
  } catch (cause) {
    if (!codeOf(cause)?.endsWith('MODULE_NOT_FOUND') || !errorText(cause).includes(`'${name}'`)) throw cause;
    const text = `This needs the package ${name}, which is not installed.`;
    throw new LangoError('not-supported', text, { hint: `Run: npm install ${name}`, cause });
  }
}

const MAX_CAUSES = 20;

/** Returns an error and its causes, the outermost first, with the parts of an aggregate; about 20 at most. */
export function causesOf(error: unknown): readonly unknown[] {
  const causes: unknown[] = [error];
  for (const cause of causes) {
    if (!isObject(cause) || causes.length > MAX_CAUSES) continue;
    if (cause.cause !== undefined) causes.push(cause.cause);
    if (Array.isArray(cause.errors)) causes.push(...(cause.errors as unknown[]));
  }
  return causes;
}

/** Returns the code of a system or library error ("ENOENT"); undefined without one. */
export function codeOf(error: unknown): string | undefined {
  return isObject(error) && typeof error.code === 'string' ? error.code : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** Returns a promise that rejects with `error`, for functions that return their result at once where they can. */
export async function rejected(error: unknown): Promise<never> {
  throw error;
}
