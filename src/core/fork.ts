import { z } from 'zod';

/** The place where a task parts from another one: it shares the events up to and including the number `seq`. */
export type ForkPlace = Readonly<{ taskId: string; seq: number }>;

/** The wishes of a person for a fork. */
export const forkRequest = z.strictObject({
  taskId: z.string(),
  /** The number of the last event that the fork shares. Default: the last one before the end. */
  at: z.number().int().min(1).optional(),
  /** The name of the model. Default: the agent's own. */
  model: z.string().min(1).max(200).optional(),
  /** In place of the agent's instruction. */
  instruction: z.string().min(1).optional(),
  /** A message that is added. */
  message: z.string().min(1).optional(),
  /** Texts in place of the results of steps. */
  results: z.array(z.strictObject({ step: z.string(), text: z.string() })).default([]),
  /** `recorded`: a call with recorded arguments gets the recorded result, and any other asks a person. */
  tools: z.enum(['recorded', 'live']).default('live'),
});
export type ForkRequest = Readonly<z.output<typeof forkRequest>>;

/** The changes to an agent in a fork. */
export type Variation = Pick<ForkRequest, 'model' | 'instruction'> & { readonly tools?: 'recorded' };

/** An event that says what was done, without the ids, keys, times and costs that are others in every task. */
const comparedEvent = z.object({
  ...{ seq: z.number(), author: z.string(), type: z.string() },
  /** Its other members as JSON. */
  text: z.string(),
});

/** The events of two tasks from the place on at which they part. A side without events ended there. */
export const comparison = z.object({
  isSame: z.boolean(),
  ...{ a: z.array(comparedEvent).readonly(), b: z.array(comparedEvent).readonly() },
});
export type ComparedEvent = Readonly<z.output<typeof comparedEvent>>;
export type Comparison = Readonly<z.output<typeof comparison>>;
