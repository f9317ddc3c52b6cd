const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 16_000;

/** A server that asks for more patience than this gets none: the caller decides what to do. */
export const LONGEST_ASKED_MS = 60_000;

/**
 * How long to wait after the `failures`-th failure in a row: what the server asked for, else a time that
 * doubles each time, of which a random part up to a half is taken off so that clients do not come back at once.
 */
export function retryDelayMs(failures: number, askedMs: number | undefined): number {
  if (askedMs !== undefined) return askedMs;
  const longest = Math.min(FIRST_DELAY_MS * 2 ** (failures - 1), LONGEST_DELAY_MS);
  return longest * (1 - Math.random() / 2);
}

/** The headers of a response, of whichever `fetch`. */
export interface HeaderLookup {
  get(name: string): string | null;
}

/** What `retry-after-ms` or `Retry-After` (seconds or a date, RFC 9110 section 10.2.3) ask for; never negative. */
export function retryAfterMs(headers: HeaderLookup | undefined): number | undefined {
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
