import { hash } from 'node:crypto';

/** The header, and the gRPC metadata entry, that carries a trace. */
export const TRACE_PARAMETER = 'traceparent';

const TRACE_PARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
/** "Sampled" and "random": the flags that are known. */
const KNOWN_FLAGS = 0x03;
const TRACE_ID = { from: 3, to: 35 };

/**
 * The trace that a caller says its request is part of (W3C Trace Context), as version 00 writes it. Undefined for
 * anything that is not one: a trace is a courtesy, and a broken one is no reason to refuse a request.
 */
export function readTrace(given: string | undefined): string | undefined {
  const [, version = 'ff', traceId = '', parentId = '', flags = '', more] =
    TRACE_PARENT.exec(given ?? '') ?? [];
  if (version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(parentId)) return undefined;
  return traceOf(traceId, parentId, flags);
}

/** The trace as the work with this id hands it on: the id of its span is made of its own, the same on each attempt. */
export function continueTrace(trace: string, workId: string): string {
  return traceOf(traceIdOf(trace), hash('sha256', workId).slice(0, 16), trace.slice(-2));
}

/** What stays the same over all hops. */
export function traceIdOf(trace: string): string {
  return trace.slice(TRACE_ID.from, TRACE_ID.to);
}

function traceOf(traceId: string, parentId: string, flags: string): string {
  const known = (Number.parseInt(flags, 16) & KNOWN_FLAGS).toString(16).padStart(2, '0');
  return `00-${traceId}-${parentId}-${known}`;
}
