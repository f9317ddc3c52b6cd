import { z } from 'zod';
import { TASK_STATES } from './task-states.js';

const [text, number, state] = [z.string(), z.number(), z.enum(TASK_STATES)];

/** The members of a row of a bill. Without `cost`, the model had no price. */
export const billed = {
  ...{ node: text, agent: text, model: text },
  ...{ input: number, output: number, cached: number, written: number.exactOptional() },
  ...{ currency: text, cost: number.exactOptional() },
};

/** A task in one line: `title` begins its first request. */
const taskLine = z.object({
  ...{ id: text, agent: text, state, title: text },
  ...{ createdAt: number, statusAt: number },
});

export const percentiles = z.object({ p50: number, p95: number });

/** All tasks of an agent on this node, also those that other agents delegated to it. */
const agentFigures = z.object({
  ...{ agent: text, tasks: number, failed: number },
  /** The milliseconds from the request to the end of a task. Absent while none has ended. */
  time: percentiles.exactOptional(),
  /** The milliseconds from the first call of the model to its first text. */
  firstText: percentiles.exactOptional(),
});

/** `reason`: the code of the reason, or the state. */
const errorFigures = z.object({ agent: text, reason: text, text, tasks: number, newest: taskLine });

/** The latest tasks of an owner on one node. Times are milliseconds since the epoch. */
export const overview = z.object({
  /** The tasks counted here got their state at this time or later. */
  from: number,
  /** The length of the parts of the time that `ended` and `usage` are summed over; each is named by its beginning. */
  partMs: number,
  /** Whether older tasks of this time are left out, because there are too many. */
  isCut: z.boolean(),
  /** The tasks that run or wait for a run now, whenever they began; the newest ones when there are many. */
  running: z.array(taskLine).readonly(),
  agents: z.array(agentFigures).readonly(),
  /** The tasks that people began here and that ended, by the part of the time in which they did. */
  ended: z.array(z.object({ at: number, state, tasks: number })).readonly(),
  /** The usage of these tasks, with all that they delegated. */
  usage: z.array(z.object({ ...billed, at: number })).readonly(),
  /** The tasks of `usage` that cost most, by currency; those without a price are not among them. */
  costliest: z.array(taskLine.extend({ cost: number, currency: text })).readonly(),
  /** The most frequent errors first. */
  errors: z.array(errorFigures).readonly(),
});

export type Overview = Readonly<z.output<typeof overview>>;
export type TaskLine = Readonly<z.output<typeof taskLine>>;
export type Percentiles = Readonly<z.output<typeof percentiles>>;
