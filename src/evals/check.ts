import type { CaseResult } from '../core/evaluations.js';
import { errorText } from '../core/errors.js';
import { describeDivergence } from '../replay/comparison.js';
import { replayTask } from '../replay/replay.js';
import type { TaskFile } from '../replay/task-file.js';
import { besides, type CaseFile, type EvalCase } from './case-file.js';
import { failureOf, outcomeOf } from './expectations.js';
import { recordedVerdict, withoutJudges } from './judge.js';

/** The name of a case with what was compared. */
export function nameOfResult({ name, model, instruction, repeat }: Partial<CaseResult>): string {
  const varied = [name, model, instruction, repeat === undefined ? undefined : `#${repeat}`];
  return varied.filter((one) => one !== undefined).join('  ');
}

/** A case with the member of the matrix that is tried. */
type Tried = Pick<CaseResult, 'model' | 'instruction' | 'repeat'> &
  Readonly<{ file: CaseFile; one: EvalCase }>;

/**
 * Checks what a case expects on the events of a task. `isReplayed`: the task must also be the same when it runs again.
 * A task that cannot be had is a failure of the case.
 */
export async function resultOf(
  { file, one, ...varied }: Tried,
  isReplayed: boolean,
  findTask: () => Promise<{ readonly path: string; readonly task: TaskFile }>,
): Promise<CaseResult> {
  const about = { name: one.name, file: file.path, ...varied };
  try {
    const { path: record, task } = await findTask();
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
