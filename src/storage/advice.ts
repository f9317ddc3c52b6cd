import { LangoError } from '../core/errors.js';

/** What went wrong with a database, and what its operator can do. */
export interface Advice {
  readonly message: string;
  readonly hint: string;
  readonly retryable?: boolean;
}

const OTHER: Advice = {
  message: 'The database refused the operation.',
  hint: 'See the server log for details.',
};

/**
 * Wraps an error of a driver in a `LangoError` `storage` with advice. Returns a `LangoError` unchanged. `retryAfterMs`: how long
 * clients should wait before they retry after a temporary failure.
 */
export function advised(cause: unknown, advice: Advice = OTHER, retryAfterMs: number): LangoError {
  if (cause instanceof LangoError) return cause;
  const { message, hint, retryable = false } = advice;
  return new LangoError('storage', message, {
    ...{ hint, cause, retryable },
    ...(retryable ? { retryAfterMs } : {}),
  });
}
