import { z } from 'zod';
import type { CaseChange, CaseResult, DriftReport, EvaluationRun, Evaluations } from '../core/evaluations.js';
import type { OperationTable } from '../core/operation.js';

const varied = {
  ...{ name: z.string(), file: z.string() },
  ...{ model: z.string().exactOptional(), instruction: z.string().exactOptional() },
};
const amount = z.number().exactOptional();
export const caseResult = z.object({
  ...varied,
  ...{ repeat: amount, passed: z.boolean(), failures: z.array(z.string()).readonly() },
  ...{ tokens: amount, turns: amount, seconds: amount, cost: amount },
  ...{ taskId: z.string().exactOptional(), record: z.string().exactOptional() },
}) satisfies z.ZodType<CaseResult>;

const counts = z.tuple([z.number(), z.number()]).readonly().exactOptional();
const spread = z.object({ mean: z.number(), deviation: z.number() });
const caseChange = z.object({
  ...varied,
  change: z.enum(['better', 'worse', 'same', 'unclear', 'new', 'gone']),
  ...{ before: counts, now: counts },
  figures: z.partialRecord(z.enum(['cost', 'tokens', 'seconds']), z.object({ before: spread, now: spread })),
}) satisfies z.ZodType<CaseChange>;
const evaluationRun = z.object({
  ...{ name: z.string(), at: z.number(), currency: z.string(), before: z.string().exactOptional() },
  ...{ results: z.array(caseResult).readonly(), changes: z.array(caseChange).readonly() },
}) satisfies z.ZodType<EvaluationRun>;

const fileFigures = z.object({
  ...{ file: z.string(), cases: z.number(), results: z.number(), passed: z.number() },
  ...{ tasks: z.number(), seconds: z.number(), cost: amount },
});
const runLine = z.object({
  ...{ name: z.string(), at: z.number(), hasEnded: z.boolean(), tasks: z.number() },
  files: z.array(fileFigures).readonly(),
});
export const driftReport = z.object({
  ...{ at: z.number(), tasks: z.number(), changedTasks: z.number() },
  ...{ turns: z.number(), changedTurns: z.number() },
  changes: z.array(z.object({ what: z.string(), turns: z.number() })).readonly(),
}) satisfies z.ZodType<DriftReport>;
const evaluations = z.object({
  currency: z.string(),
  ...{ runs: z.array(runLine).readonly(), nights: z.array(driftReport).readonly() },
}) satisfies z.ZodType<Evaluations>;

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
