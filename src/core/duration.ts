/** The time in milliseconds at the beginning of a UUID version 7 (RFC 9562). */
const TIME_IN_ID = /^([0-9a-f]{8})-([0-9a-f]{4})-7/i;

/**
 * Returns the milliseconds from the request of a task to `at` (ISO 8601). Lists of tasks have no time of the request, but the
 * id of a task tells it. Undefined when it does not, or `at` is before it.
 */
export function timeTaken(taskId: string, at: string | undefined): number | undefined {
  const [, high = '', low = ''] = TIME_IN_ID.exec(taskId) ?? [];
  const taken = Date.parse(at ?? '') - parseInt(`${high}${low}`, 16);
  return taken >= 0 ? taken : undefined;
}

/** Returns a time in milliseconds as people read it: `3 ms`, `1.2 s`, `2 min 5 s`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.floor((ms % 60_000) / 1_000)} s`;
}
