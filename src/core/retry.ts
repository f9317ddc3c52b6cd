import { backoffMs } from './time.js';

const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 16_000;

/** The longest wait that a server may ask for. When it asks for more, the caller decides what to do. */
export const LONGEST_ASKED_MS = 60_000;

/**
 * Returns the wait after a number of failures: a doubling time, less a random part, and at least what the server asked for.
 * Some servers ask for no wait, or for the same second each time, as long as they are overloaded.
 */
export function retryDelayMs(failures: number, askedMs = 0, longestMs = LONGEST_DELAY_MS): number {
  const longest = backoffMs(failures, { firstMs: FIRST_DELAY_MS, longestMs });
  return Math.max(askedMs, longest * (1 - Math.random() / 2));
}

/** Reads `retry-after-ms` or `Retry-After` (seconds or a date, RFC 9110 section 10.2.3). Never negative. */
export function retryAfterMs(headers: Pick<Headers, 'get'> | undefined): number | undefined {
  const milliseconds = headers?.get('retry-after-ms');
  if (milliseconds) return atLeastZero(Number(milliseconds));
  const value = headers?.get('retry-after');
  if (!value) return undefined;
  const seconds = Number(value);
  return atLeastZero(Number.isNaN(seconds) ? Date.parse(value) - Date.now() : seconds * 1000);
}

/** Shorter waits need no time of day. */
const MIN_TOLD_MS = 60_000;

/** " It takes requests again at 14:05 GMT+01:00, in 3 h."; empty for a short or unknown wait. */
export function againAt(waitMs: number | undefined): string {
  if (waitMs === undefined || waitMs < MIN_TOLD_MS || waitMs > 30 * 86_400_000) return '';
  // Swedish dates are those of ISO 8601.
  const at = new Date(Date.now() + waitMs).toLocaleString('sv-SE', {
    ...(waitMs > 43_200_000 && { year: 'numeric', month: '2-digit', day: '2-digit' }),
    ...{ hour: '2-digit', minute: '2-digit', timeZoneName: 'longOffset' },
  });
  const left =
    waitMs < 3_600_000 ? `${Math.ceil(waitMs / 60_000)} min` : `${Math.round(waitMs / 360_000) / 10} h`;
  return ` It takes requests again at ${at}, in ${left}.`;
}

function atLeastZero(value: number): number | undefined {
  return Number.isNaN(value) ? undefined : Math.max(0, value);
}
