import { readFile } from 'node:fs/promises';
import { canonicalJson } from '../core/canonical-json.js';
import { codeOf, errorText, LangoError } from '../core/errors.js';
import { shorten } from '../core/text.js';
import { replayTask } from '../replay/replay.js';
import { parseTaskFile, parseTaskText, type TaskFile } from '../replay/task-file.js';
import { besides, readCases, type CaseFile, type EvalCase } from './case-file.js';
import type { Use } from './deeds.js';
import { failureOf, outcomeOf } from './expectations.js';

/** The result of one case. */
export interface CaseResult extends Partial<Use> {
  readonly name: string;
  /** The file of the case. */
  readonly file: string;
  readonly passed: boolean;
  /** What is wrong: a sentence for each expectation that does not hold. */
  readonly failures: readonly string[];
  /** The task that was checked. */
  readonly taskId?: string;
}

export interface Evaluation {
  /** Whether all cases passed. */
  readonly passed: boolean;
  readonly results: readonly CaseResult[];
}

/**
 * Evaluates the cases at a path, a file or a folder: each record is replayed, without models, tools and network, and what
 * is expected is checked on its events. Rejects with `invalid-input` when a file of cases is wrong.
 */
export async function evaluate(path: string): Promise<Evaluation> {
  const files = await readCases(path);
  const results: CaseResult[] = [];
  for (const file of files) for (const one of file.cases) results.push(await resultOf(file, one));
  return { passed: results.every(({ passed }) => passed), results };
}

async function resultOf(file: CaseFile, one: EvalCase): Promise<CaseResult> {
  const about = { name: one.name, file: file.path };
  try {
    const record = await readRecord(besides(file, one.record));
    const { failures, use } = await check(file, one, record);
    const different = await differenceOf(record);
    const all = [...(different === undefined ? [] : [different]), ...failures];
    return { ...about, passed: all.length === 0, failures: all, taskId: record.tasks[0]!.id, ...use };
  } catch (error) {
    return { ...about, passed: false, failures: [errorText(error)] };
  }
}

async function check(file: CaseFile, { expect }: EvalCase, record: TaskFile) {
  const outcome = outcomeOf(record);
  const context = {
    pathOf: (name: string) => besides(file, name),
  };
  const found = await Promise.all(expect.map((one) => failureOf(one, outcome, context)));
  return { failures: found.filter((one) => one !== undefined), use: outcome.use };
}

async function readRecord(path: string): Promise<TaskFile> {
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    const hint = 'Write it with: lango tasks export ID --out FILE';
    throw new LangoError('not-found', `The record ${path} cannot be read (${codeOf(cause)}).`, {
      hint,
      cause,
    });
  });
  return parseTaskFile(parseTaskText(text));
}

const SHOWN_CHARACTERS = 300;

/** Says where this version of Lango would do something else than the record. */
async function differenceOf(record: TaskFile): Promise<string | undefined> {
  const { divergence } = await replayTask(record);
  if (!divergence) return undefined;
  const { seq, agent, recorded, now } = divergence;
  const [before, after] = [recorded, now].map((one) =>
    one ? shorten(canonicalJson(one), SHOWN_CHARACTERS) : 'nothing',
  );
  const where = seq === undefined ? 'after its last event' : `at event ${seq}`;
  return `the replay differs ${where} of ${agent}: recorded ${before}, now ${after}`;
}
