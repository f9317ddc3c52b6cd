import { hash } from 'node:crypto';
import type { Trace } from './task.js';

const TRACE_PARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
/** The known flags: "sampled" and "random". */
const KNOWN_FLAGS = 0x03;
const TRACE_ID = { from: 3, to: 35 };
const SAMPLED = '01';

type Traced = Readonly<{ id: string; grant: Readonly<{ trace?: Trace }> }>;

/** Returns the trace that a task, or one of its steps, passes on: the same on all attempts. */
export function continueTrace(task: Traced, step?: string): Trace {
  const { trace } = task.grant;
  const flags = trace?.traceparent.slice(-2) ?? SAMPLED;
  return { ...trace, traceparent: parentOf(traceIdOfTask(task), spanIdOf(task.id, step), flags) };
}

/** Returns the trace id of a task. Without a trace from its caller, it is made from the id of the task. */
export function traceIdOfTask({ id, grant: { trace } }: Traced): string {
  return trace ? traceIdOf(trace) : hash('sha256', id).slice(-32);
}

/** Returns the id of the span of a task, or of one step of it. */
export function spanIdOf(taskId: string, step?: string): string {
  return hash('sha256', step === undefined ? taskId : `${taskId}/${step}`).slice(0, 16);
}

/** Returns the trace id, which stays the same over all hops. */
export function traceIdOf({ traceparent }: Trace): string {
  return traceparent.slice(TRACE_ID.from, TRACE_ID.to);
}

/** Reads the header `traceparent`. Undefined for an invalid one. */
export function readTraceparent(given: string): string | undefined {
  if (given === '') return undefined;
  const [, version = 'ff', traceId = '', parentId = '', flags = '', more] = TRACE_PARENT.exec(given) ?? [];
  if (version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(parentId)) return undefined;
  return parentOf(traceId, parentId, flags);
}

function parentOf(traceId: string, parentId: string, flags: string): string {
  const known = (Number.parseInt(flags, 16) & KNOWN_FLAGS).toString(16).padStart(2, '0');
  return `00-${traceId}-${parentId}-${known}`;
}
