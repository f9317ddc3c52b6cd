import { errorText, LangoError } from '../core/errors.js';
import type { CaseResult } from '../core/evaluations.js';
import { besides, readCases, readRecord, type CaseFile, type EvalCase } from './case-file.js';
import { checkRecord, differenceOf } from './check.js';
import { runLive, type LiveRun } from './live.js';

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
  const results = live ? await runLive(files, live) : await replayAll(files);
  return { passed: results.every(({ passed }) => passed), results };
}

async function replayAll(files: readonly CaseFile[]): Promise<readonly CaseResult[]> {
  const results: CaseResult[] = [];
  for (const file of files) for (const one of file.cases) results.push(await replayed(file, one));
  return results;
}

async function replayed(file: CaseFile, one: EvalCase): Promise<CaseResult> {
  const about = { name: one.name, file: file.path };
  try {
    if (one.record === undefined) {
      const text = 'It has no record. Name a file as `record`, and write it with: lango eval --live --record';
      throw new LangoError('not-found', text);
    }
    const path = besides(file, one.record);
    const record = await readRecord(path);
    const { failures, ...checked } = await checkRecord(file, one, record);
    const different = await differenceOf(record);
    const all = [...(different === undefined ? [] : [different]), ...failures];
    return { ...about, ...checked, passed: all.length === 0, failures: all, record: path };
  } catch (error) {
    return { ...about, passed: false, failures: [errorText(error)] };
  }
}
