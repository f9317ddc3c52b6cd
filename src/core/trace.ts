import { hash } from 'node:crypto';

/** The trace that work is part of (W3C Trace Context), under the names of the headers and metadata entries that carry it. */
export interface Trace {
  /** As version 00 writes it. */
  readonly traceparent: string;
  /** What the systems on the way have to say of it; it goes on as it came. */
  readonly tracestate?: string;
}

const TRACE_PARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
/** "Sampled" and "random": the flags that are known. */
const KNOWN_FLAGS = 0x03;
const TRACE_ID = { from: 3, to: 35 };

const STATE_MEMBER =
  /^([a-z0-9][a-z0-9_\-*/@]{0,255})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;
const MAX_STATE_MEMBERS = 32;
const MAX_STATE_LENGTH = 512;
const LONG_MEMBER = 128;

/**
 * The trace that a caller says its request is part of; `said` gives what stands under a name. Undefined for anything
 * that is not one: a trace is a courtesy, and a broken one is no reason to refuse a request.
 */
export function readTrace(said: (name: keyof Trace) => string | undefined): Trace | undefined {
  const traceparent = readParent(said('traceparent') ?? '');
  if (traceparent === undefined) return undefined;
  const tracestate = readState(said('tracestate') ?? '');
  return tracestate === undefined ? { traceparent } : { traceparent, tracestate };
}

/** The trace as the work with this id hands it on: the id of its span is made of its own, the same on each attempt. */
export function continueTrace(trace: Trace, workId: string): Trace {
  const spanId = hash('sha256', workId).slice(0, 16);
  return { ...trace, traceparent: parentOf(traceIdOf(trace), spanId, trace.traceparent.slice(-2)) };
}

/** What stays the same over all hops. */
export function traceIdOf({ traceparent }: Trace): string {
  return traceparent.slice(TRACE_ID.from, TRACE_ID.to);
}

function readParent(given: string): string | undefined {
  const [, version = 'ff', traceId = '', parentId = '', flags = '', more] = TRACE_PARENT.exec(given) ?? [];
  if (version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(parentId)) return undefined;
  return parentOf(traceId, parentId, flags);
}

function parentOf(traceId: string, parentId: string, flags: string): string {
  const known = (Number.parseInt(flags, 16) & KNOWN_FLAGS).toString(16).padStart(2, '0');
  return `00-${traceId}-${parentId}-${known}`;
}

/** Undefined for none and for a malformed one. Of one that is too long the long members are left out, then the oldest, which stand last. */
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
