import { z } from 'zod';
import { evaluationRun, evaluations } from '../core/evaluations.js';
import type { OperationTable } from '../core/operation.js';

/** The operations on the live runs of `lango eval` in the data folder of the server; all for operators. */
export const EVALUATION_OPERATIONS = {
  /** Lists the newest runs, and the newest reports of `evaluations.sample`. */
  listEvaluations: {
    method: 'get',
    path: '/lango/evaluations',
    input: z.object({}),
    result: evaluations,
  },
  /** Reads a run. `before`: the run that it is compared with. Default: the one before it that has the same cases. */
  readEvaluation: {
    method: 'get',
    path: '/lango/evaluations/:run',
    query: ['before'],
    input: z.object({ run: z.string(), before: z.string().optional() }),
    result: evaluationRun,
  },
  /** Stores the task of a result, by its place in the list, as `importTask` does. */
  importEvaluatedTask: {
    method: 'post',
    path: '/lango/evaluations/:run/tasks',
    audited: ['run'],
    input: z.strictObject({ run: z.string(), result: z.number().int().min(0) }),
    result: z.object({ taskId: z.string(), agent: z.string() }),
  },
} as const satisfies OperationTable;

export type EvaluationOperations = typeof EVALUATION_OPERATIONS;
