import type { UsageRow } from './model.js';
import type { TaskState } from './task.js';

/** The latest tasks of an owner on one node. Times are milliseconds since the epoch. */
export interface Overview {
  /** The tasks counted here got their state at this time or later. */
  readonly from: number;
  /** The length of the parts of the time that `ended` and `usage` are summed over; each is named by its beginning. */
  readonly partMs: number;
  /** Whether older tasks of this time are left out, because there are too many. */
  readonly isCut: boolean;
  /** The tasks that run or wait for a run now, whenever they began; the newest ones when there are many. */
  readonly running: readonly TaskLine[];
  readonly agents: readonly AgentFigures[];
  /** The tasks that people began here and that ended, by the part of the time in which they did. */
  readonly ended: readonly { readonly at: number; readonly state: TaskState; readonly tasks: number }[];
  /** The usage of these tasks, with all that they delegated. */
  readonly usage: readonly (UsageRow & { readonly at: number })[];
  /** The tasks of `usage` that cost most, by currency; those without a price are not among them. */
  readonly costliest: readonly (TaskLine & { readonly cost: number; readonly currency: string })[];
  /** The most frequent errors first. */
  readonly errors: readonly ErrorFigures[];
}

/** A task in one line: `title` begins its first request. */
export interface TaskLine {
  readonly id: string;
  readonly agent: string;
  readonly state: TaskState;
  readonly title: string;
  readonly createdAt: number;
  readonly statusAt: number;
}

/** All tasks of an agent on this node, also those that other agents delegated to it. */
interface AgentFigures {
  readonly agent: string;
  readonly tasks: number;
  readonly failed: number;
  /** The milliseconds from the request to the end of a task. Absent while none has ended. */
  readonly time?: Percentiles;
  /** The milliseconds from the first call of the model to its first text. */
  readonly firstText?: Percentiles;
}

export interface Percentiles {
  readonly p50: number;
  readonly p95: number;
}

export interface ErrorFigures {
  readonly agent: string;
  /** The code of the reason, or the state. */
  readonly reason: string;
  readonly text: string;
  readonly tasks: number;
  readonly newest: TaskLine;
}
