import { z } from 'zod';

const [text, number] = [z.string(), z.number()];
const [maybeText, maybeNumber] = [text.exactOptional(), number.exactOptional()];
const varied = { name: text, file: text, model: maybeText, instruction: maybeText };

/** The use of a task with the tasks below it. */
const use = z.object({
  ...{ tokens: number, turns: number, seconds: number },
  /** Absent when a model has no price. */
  cost: maybeNumber,
});

/** The result of one case, or in a live run of one case with one model, instruction and repeat. */
export const caseResult = z.object({
  ...varied,
  repeat: maybeNumber,
  passed: z.boolean(),
  /** A sentence for each expectation that does not hold. */
  failures: z.array(text).readonly(),
  ...use.partial().shape,
  /** The task that was checked. */
  taskId: maybeText,
  /** The file with that task. */
  record: maybeText,
});

export const figure = z.enum(['cost', 'tokens', 'seconds']);
/** The mean of repeats, and their standard deviation. */
const spread = z.object({ mean: number, deviation: number });
/** How many repeats passed, of all; absent where there is none. */
const counts = z.tuple([number, number]).readonly().exactOptional();

/**
 * The results of a case with one model and one instruction, before and now. `unclear`: another number of repeats passed, but
 * that many differ by chance too. `figures`: those that differ by more than their repeats do.
 */
const caseChange = z.object({
  ...varied,
  change: z.enum(['better', 'worse', 'same', 'unclear', 'new', 'gone']),
  ...{ before: counts, now: counts },
  figures: z.partialRecord(figure, z.object({ before: spread, now: spread })),
});

/**
 * The findings of a night, which hold counts and names, and no contents: the tasks that were compared, those of them whose
 * models would be asked something else now, and each part that is another one, with the number of turns.
 */
export const driftReport = z.object({
  ...{ at: number, tasks: number, changedTasks: number, turns: number, changedTurns: number },
  changes: z.array(z.object({ what: text, turns: number })).readonly(),
});

/** The file of these findings in a data folder: a line of JSON for each night. */
export const DRIFT_FILE = 'evals/drift.jsonl';

/** The results of a run for one file of cases: `tasks` and `seconds` are of those whose use is known. */
const fileFigures = z.object({
  ...{ file: text, cases: number, results: number, passed: number },
  ...{ tasks: number, seconds: number, cost: maybeNumber },
});

/** A run in one line. */
const runLine = z.object({ name: text, at: number, files: z.array(fileFigures).readonly() });

/** A run that has ended, and the run `before` that it is compared with; none for the first one of its cases. */
export const evaluationRun = z.object({
  ...{ name: text, at: number, currency: text, before: maybeText },
  ...{ results: z.array(caseResult).readonly(), changes: z.array(caseChange).readonly() },
});

/** The newest runs and nights of a data folder, the newest first. */
export const evaluations = z.object({
  currency: text,
  ...{ runs: z.array(runLine).readonly(), nights: z.array(driftReport).readonly() },
});

export type Use = Readonly<z.output<typeof use>>;
export type CaseResult = Readonly<z.output<typeof caseResult>>;
export type Spread = Readonly<z.output<typeof spread>>;
export type CaseChange = Readonly<z.output<typeof caseChange>>;
export type DriftReport = Readonly<z.output<typeof driftReport>>;
export type RunLine = Readonly<z.output<typeof runLine>>;
export type EvaluationRun = Readonly<z.output<typeof evaluationRun>>;
export type Evaluations = Readonly<z.output<typeof evaluations>>;
