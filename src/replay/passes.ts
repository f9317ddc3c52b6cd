import { LangoError } from '../core/errors.js';
import type { BodyOf, TaskEvent } from '../core/task.js';
import type { RecordedTask } from './task-file.js';

/** One run of a recorded task. */
export interface Pass {
  /** The events before the run began. */
  readonly before: readonly TaskEvent[];
  /** The events of the run: its `run-start`, and all up to its `run-end`. Without one, the run was cut off. */
  readonly events: readonly TaskEvent[];
  readonly end: BodyOf<'run-end'> | undefined;
}

/** A recorded task as one of its runs is replayed. */
export interface Recording {
  /** The agent of the task. */
  readonly agent: string;
  readonly limits: RecordedTask['limits'];
  readonly events: readonly TaskEvent[];
  readonly pass: Pass;
  /** Called when the record holds no more of what the run needs. */
  readonly blocked: () => Promise<never>;
}

/** Splits the events of a task into its runs. Those that a fork shares are runs of another task. */
export function passesOf(events: readonly TaskEvent[]): readonly Pass[] {
  const own = events.findLastIndex(({ body }) => body.type === 'fork');
  const starts = events.flatMap(({ body }, index) =>
    index > own && body.type === 'run-start' ? [index] : [],
  );
  return starts.map((start, number) => {
    const all = events.slice(start, starts[number + 1]);
    const last = all.findIndex(({ body }) => body.type === 'run-end');
    const end = last < 0 ? undefined : (all[last]!.body as BodyOf<'run-end'>);
    return { before: events.slice(0, start), events: last < 0 ? all : all.slice(0, last + 1), end };
  });
}

/** The reasons of ends that the journal, the store or the budget of money causes, and not the agent with what it is told. */
const OUTSIDE_REASONS = new Set(
  'crashed damaged no-agent internal limit-reached storage limit-seconds limit-cost limit-cost-day'.split(
    ' ',
  ),
);

/** Whether something else than the agent ended the run: a crash, a person, a time limit. The record says when. */
export function isEndedFromOutside({ end }: Pass): boolean {
  return !end || end.state === 'canceled' || (end.reason !== undefined && OUTSIDE_REASONS.has(end.reason));
}

/** The reason with which a replayed run is aborted, once it has written all that the record holds. */
export function abortReasonOf({ end }: Pass): LangoError {
  if (end?.state === 'canceled') return new LangoError('canceled', 'The task was canceled.');
  if (end?.reason === 'limit-seconds') return new LangoError('timeout', 'The time of the task was over.');
  return new LangoError('fenced', 'The record of this run ends here.');
}

const OWN_STEP = /^t\d+(?:\.c\d+)?/;

/** The turn or the call that a step belongs to: "t2.c0" for "t2.c0.x1". */
export function rootOf(step: string): string {
  return OWN_STEP.exec(step)?.[0] ?? step;
}

/** The call in whose name an artifact or message of a delegation is kept: "t2.c0" of "t2.c0.x1/answer.1". */
export function stepOfId(id: string): string | undefined {
  return /^(t\d+\.c\d+[.\w]*)(?:\/|\.f\d+$)/.exec(id)?.[1];
}
