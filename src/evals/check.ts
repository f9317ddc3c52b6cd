import type { CaseResult, Use } from '../core/evaluations.js';
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

type Checked = Pick<CaseResult, 'failures' | 'taskId'> & Use;

/** Checks what a case expects on the events of a task. */
export async function checkRecord(file: CaseFile, { expect }: EvalCase, record: TaskFile): Promise<Checked> {
  const outcome = outcomeOf(withoutJudges(record));
  const context = {
    pathOf: (name: string) => besides(file, name),
    judge: (rubric: string) => recordedVerdict(record, rubric),
  };
  const found = await Promise.all(expect.map((one) => failureOf(one, outcome, context)));
  const failures = found.filter((one) => one !== undefined);
  return { failures, taskId: record.tasks[0]!.id, ...outcome.use };
}

/** Says where this version of Lango would do something else than the record. */
export async function differenceOf(record: TaskFile): Promise<string | undefined> {
  const { divergence } = await replayTask(record);
  if (!divergence) return undefined;
  const { where, recorded, now } = describeDivergence(divergence);
  return `the replay differs at ${where} of ${divergence.agent}: recorded ${recorded}, now ${now}`;
}
