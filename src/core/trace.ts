import { hash } from 'node:crypto';

/** A trace (W3C Trace Context). The members have the names of the headers and metadata entries that carry it. */
export interface Trace {
  /** In the form of version 00. */
  readonly traceparent: string;
  /** Data of the systems on the way, passed on unchanged. */
  readonly tracestate?: string;
}

const TRACE_PARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
/** The known flags: "sampled" and "random". */
const KNOWN_FLAGS = 0x03;
const TRACE_ID = { from: 3, to: 35 };
const SPAN_ID = { from: 36, to: 52 };
const SAMPLED = '01';

const STATE_MEMBER =
  /^([a-z0-9][a-z0-9_\-*/@]{0,255})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;
const MAX_STATE_MEMBERS = 32;
const MAX_STATE_LENGTH = 512;
const LONG_MEMBER = 128;

/**
 * Reads the trace of a request; `said` returns the header or metadata entry of a name. Undefined for an invalid trace: it
 * is no reason to refuse a request.
 */
export function readTrace(said: (name: keyof Trace) => string | undefined): Trace | undefined {
  const traceparent = readParent(said('traceparent') ?? '');
  if (traceparent === undefined) return undefined;
  const tracestate = readState(said('tracestate') ?? '');
  return tracestate === undefined ? { traceparent } : { traceparent, tracestate };
}

/** The task, or one step of it, whose span a trace goes on from. */
interface TracedWork {
  readonly task: { readonly id: string; readonly grant: { readonly trace?: Trace } };
  readonly step?: string;
}

/** Returns the trace that a task or one of its steps passes on: all attempts and all readers of the journal say the same. */
export function continueTrace({ task, step }: TracedWork): Trace {
  const { trace } = task.grant;
  const flags = trace?.traceparent.slice(-2) ?? SAMPLED;
  return { ...trace, traceparent: parentOf(traceIdOfTask(task), spanIdOf(task.id, step), flags) };
}

/** Returns the trace id of a task. Without a trace from its caller, the id is made from the id of the task. */
export function traceIdOfTask({ id, grant: { trace } }: TracedWork['task']): string {
  return trace ? traceIdOf(trace) : hash('sha256', id).slice(-32);
}

/** Returns the id of the span of a task, or of one step of it. */
export function spanIdOf(taskId: string, step?: string): string {
  return hash('sha256', step === undefined ? taskId : `${taskId}/${step}`).slice(0, 16);
}

/** Returns the span that a trace goes on from. */
export function parentSpanOf({ traceparent }: Trace): string {
  return traceparent.slice(SPAN_ID.from, SPAN_ID.to);
}

/** Returns the trace id, which stays the same over all hops. */
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

/** Undefined for an absent or malformed state. Shortens a long state: first drops long members, then the last ones, which are the oldest. */
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
