import { LangoError } from '../core/errors.js';
import { LONGEST_TIMER_MS } from '../core/limits.js';

/** How long work that was told to stop may take to do so before it is left behind, in milliseconds. */
const STOP_GRACE_MS = 1_000;

export interface TimeLimit {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

/**
 * Does `work` with a signal that aborts on `signal` or when the time is up. Rejects with code `timeout`
 * when the time was up first, whatever the work threw, and also when it ignores its signal.
 */
export async function withinTime<T>(
  work: (signal: AbortSignal) => Promise<T>,
  { signal, timeoutMs }: TimeLimit,
): Promise<T> {
  const clock = new AbortController();
  const ring = () =>
    clock.abort(
      new LangoError(
        'timeout',
        `no result after ${timeoutMs / 1_000} s; what it did until then is not known`,
      ),
    );
  const timer = setTimeout(ring, Math.min(timeoutMs, LONGEST_TIMER_MS));
  const either = AbortSignal.any([signal, clock.signal]);
  try {
    return await Promise.race([work(either), leftBehind(either)]);
  } catch (error) {
    throw clock.signal.aborted ? clock.signal.reason : error;
  } finally {
    clearTimeout(timer);
  }
}

function leftBehind(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const later = () => void setTimeout(() => reject(signal.reason as Error), STOP_GRACE_MS).unref();
    if (signal.aborted) later();
    else signal.addEventListener('abort', later, { once: true });
  });
}
