import { useState } from 'preact/hooks';
import type { Span, TaskTrace } from '../../core/node-status.js';
import { owner } from './api.js';
import { money, number, useLoaded } from './page.js';
import { hasEnded, type Task } from './wire.js';

/** The spans below each span, as they were at a time. */
export type Below = ReadonlyMap<string | undefined, readonly Span[]>;

const REFRESH_MS = 500;
/** A trace of so many spans is large to read, so it is read less often. */
const MANY_SPANS = 1_000;
const MANY_REFRESH_MS = 5_000;

/** Reads the trace of a task with the tasks below it, again and again while the task works. */
export function useTrace(task: Task) {
  const isOver = hasEnded(task.status.state);
  const [isLarge, setLarge] = useState(false);
  const load = async () => {
    const trace = await owner<TaskTrace>(`tasks/${encodeURIComponent(task.id)}/trace`);
    if (!isOver) setLarge(trace.spans.length > MANY_SPANS);
    return trace;
  };
  const everyMs = isLarge ? MANY_REFRESH_MS : REFRESH_MS;
  return useLoaded(load, [task.id, isOver, isLarge], isOver ? undefined : everyMs);
}

/** The spans of a trace as they were at `at`: those that ended later have no end and no usage. */
export function spansAt(trace: TaskTrace | undefined, at = Infinity): readonly Span[] {
  const begun = trace?.spans.filter(({ startedAt }) => startedAt <= at) ?? [];
  return begun.map((span) => {
    const { endedAt, attributes, ...rest } = span;
    if (endedAt === undefined || endedAt <= at) return span;
    const known = Object.entries(attributes).filter(([name]) => !/usage|cost|state|error/.test(name));
    return { ...rest, attributes: Object.fromEntries(known) };
  });
}

export const textIn = ({ attributes }: Span, name: string) => {
  const value = attributes[name];
  return typeof value === 'string' ? value : undefined;
};

type Spent = Readonly<{ tokens: number; costs: readonly { cost: number; currency: string }[] }>;

/** The tokens and money of a span; while it works, those of the steps below it. */
function spent(span: Span, below: Below): Spent {
  const { attributes } = span;
  const input = attributes['gen_ai.usage.input_tokens'];
  if (typeof input !== 'number') {
    const parts = (below.get(span.id) ?? []).map((one) => spent(one, below));
    return {
      tokens: parts.reduce((sum, { tokens }) => sum + tokens, 0),
      costs: parts.flatMap(({ costs }) => costs),
    };
  }
  const cost = attributes['lango.cost'];
  const currency = textIn(span, 'lango.currency');
  return {
    tokens: input + Number(attributes['gen_ai.usage.output_tokens'] ?? 0),
    costs: typeof cost === 'number' && currency !== undefined ? [{ cost, currency }] : [],
  };
}

/** The tokens of a span, and its money if there is any. */
export function spentWords(span: Span, below: Below): readonly string[] {
  const { tokens, costs } = spent(span, below);
  return [`${number(tokens)} tokens`, money(costs)].filter(Boolean);
}
