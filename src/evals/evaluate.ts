import { copyFile } from 'node:fs/promises';
import { errorText } from '../core/errors.js';
import type { CaseResult } from '../core/evaluations.js';
import { defined } from '../core/json.js';
import { describeDivergence } from '../replay/comparison.js';
import { replayTask } from '../replay/replay.js';
import type { TaskFile } from '../replay/task-file.js';
import { besides, readCases } from './case-file.js';
import { cellsOf, modelName, recordOf, type Cell } from './cells.js';
import { outcomeOf } from './deeds.js';
import { failureOf } from './expectations.js';
import { recordedVerdict, withoutJudges } from './judge.js';
import { createLiveTasks, type LiveRun } from './live.js';

export interface Evaluation {
  /** Whether all cases passed. */
  readonly passed: boolean;
  readonly results: readonly CaseResult[];
}

/**
 * Evaluates the cases at a path, a file or a folder. Without `live` each record is replayed, without models, tools and
 * network, and what is expected is checked on its events. With it the messages of each case are sent to agents, and what
 * is expected is checked on what they did. Rejects with `invalid-input` when a file of cases is wrong.
 */
export async function evaluateCases(path: string, live?: LiveRun): Promise<Evaluation> {
  const files = await readCases(path);
  const { parallel = 1, judgesOnly = false, writesRecords = false } = live ?? {};
  const isReplayed = !live || judgesOnly;
  const cells = cellsOf(files, !isReplayed);
  const taskOf = live ? await createLiveTasks(cells, live) : recordOf;
  const results: CaseResult[] = [];
  const left = cells.entries();
  const work = async (): Promise<void> => {
    for (const [index, cell] of left) {
      const result = await resultOf(cell, isReplayed, taskOf);
      const isNewRecord = writesRecords && result.passed && cell.isFirst && cell.one.at === undefined;
      if ((judgesOnly || isNewRecord) && cell.one.record !== undefined && result.record !== undefined)
        await copyFile(result.record, besides(cell.file, cell.one.record));
      results[index] = result;
    }
  };
  await Promise.all(Array.from({ length: parallel }, work));
  return { passed: results.every(({ passed }) => passed), results };
}

/** The name of a case with what was compared. */
export function nameOfResult({ name, model, instruction, repeat }: Partial<CaseResult>): string {
  const varied = [name, model, instruction, repeat === undefined ? undefined : `#${repeat}`];
  return varied.filter((one) => one !== undefined).join('  ');
}

/**
 * Checks what a case expects on the events of a task. `isReplayed`: the task must also be the same when it runs again.
 * A task that cannot be had is a failure of the case.
 */
async function resultOf(
  cell: Cell,
  isReplayed: boolean,
  taskOf: (cell: Cell) => Promise<{ readonly path: string; readonly task: TaskFile }>,
): Promise<CaseResult> {
  const { file, one, instruction, repeat } = cell;
  const varied = defined({ model: modelName(cell.model), instruction, repeat });
  const about = { name: one.name, file: file.path, ...varied };
  try {
    const { path: record, task } = await taskOf(cell);
    const outcome = outcomeOf(withoutJudges(task));
    const context = {
      pathOf: (name: string) => besides(file, name),
      judge: (rubric: string) => recordedVerdict(task, rubric),
    };
    const different = isReplayed ? await differenceOf(task) : undefined;
    const checked = await Promise.all(one.expect.map((expected) => failureOf(expected, outcome, context)));
    const failures = [different, ...checked].filter((failure) => failure !== undefined);
    const taskId = task.tasks[0]!.id;
    return { ...about, passed: failures.length === 0, failures, ...outcome.use, taskId, record };
  } catch (error) {
    return { ...about, passed: false, failures: [errorText(error)] };
  }
}

/** Says where this version of Lango would do something else than the record. */
async function differenceOf(record: TaskFile): Promise<string | undefined> {
  const { divergence } = await replayTask(record);
  if (!divergence) return undefined;
  const { where, recorded, now } = describeDivergence(divergence);
  return `the replay differs at ${where} of ${divergence.agent}: recorded ${recorded}, now ${now}`;
}
