import { readTraceparent } from '../../core/trace.js';
import { type Trace } from '../../core/task.js';

const STATE_MEMBER =
  /^([a-z0-9][a-z0-9_\-*/@]{0,255})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;
const MAX_STATE_MEMBERS = 32;
const MAX_STATE_LENGTH = 512;
const LONG_MEMBER = 128;

/**
 * Reads the trace of a request; `header` returns the header or metadata entry of a name. Returns undefined for an invalid
 * trace, since a request is not refused because of its trace.
 */
export function readTrace(header: (name: keyof Trace) => string | undefined): Trace | undefined {
  const traceparent = readTraceparent(header('traceparent') ?? '');
  if (traceparent === undefined) return undefined;
  const tracestate = readState(header('tracestate') ?? '');
  return tracestate === undefined ? { traceparent } : { traceparent, tracestate };
}

/** Returns undefined for an absent or malformed state. Shortens a long one: drops long members, then the oldest, which are last. */
function readState(given: string): string | undefined {
  const members = given
    .split(',')
    .map((member) => member.trim())
    .filter((member) => member !== '');
  const keys = new Set(members.map((member) => STATE_MEMBER.exec(member)?.[1]));
  if (keys.has(undefined) || keys.size < members.length || members.length > MAX_STATE_MEMBERS)
    return undefined;
  const isLong = members.join(',').length > MAX_STATE_LENGTH;
  const kept = isLong ? members.filter(({ length }) => length <= LONG_MEMBER) : members;
  while (kept.join(',').length > MAX_STATE_LENGTH) kept.pop();
  return kept.join(',') || undefined;
}
