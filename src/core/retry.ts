import { backoffMs } from './time.js';

const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 16_000;

/** The longest wait that a server may ask for. When it asks for more, the caller decides what to do. */
export const LONGEST_ASKED_MS = 60_000;

/** Returns the wait after a number of failures: what the server asked for, else a doubling time, less a random part. */
export function retryDelayMs(failures: number, askedMs: number | undefined): number {
  if (askedMs !== undefined) return askedMs;
  const longest = backoffMs(failures, { firstMs: FIRST_DELAY_MS, longestMs: LONGEST_DELAY_MS });
  return longest * (1 - Math.random() / 2);
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

function atLeastZero(value: number): number | undefined {
  return Number.isNaN(value) ? undefined : Math.max(0, value);
}
