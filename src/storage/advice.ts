import { LangoError } from '../core/errors.js';

/** Problems of a database, each with the advice for its operator. */
export interface Advice {
  readonly message: string;
  readonly hint: string;
  readonly retryable: boolean;
}

/** For a fault after which the same request may succeed later. */
export const temporary = (message: string, hint: string): Advice => ({ message, hint, retryable: true });
export const lasting = (message: string, hint: string): Advice => ({ message, hint, retryable: false });

const OTHER = lasting('The database refused the operation.', 'See the server log for details.');

/** Wraps an error of a driver in `storage` with advice, or returns a `LangoError` unchanged. Temporary ones get `retryAfterMs`. */
export function advised(cause: unknown, advice = OTHER, retryAfterMs: number): LangoError {
  if (cause instanceof LangoError) return cause;
  const { message, hint, retryable } = advice;
  return new LangoError('storage', message, {
    ...{ hint, cause, retryable },
    ...(retryable ? { retryAfterMs } : {}),
  });
}
