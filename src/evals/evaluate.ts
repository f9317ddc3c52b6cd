import { LangoError } from '../core/errors.js';
import type { CaseResult } from '../core/evaluations.js';
import { besides, readCases, readRecord, type CaseFile } from './case-file.js';
import { resultOf } from './check.js';
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
  for (const file of files)
    for (const one of file.cases)
      results.push(
        await resultOf({ file, one }, true, async () => {
          if (one.record === undefined) throw new LangoError('not-found', NO_RECORD);
          const record = besides(file, one.record);
          return { path: record, task: await readRecord(record) };
        }),
      );
  return results;
}

const NO_RECORD = 'It has no record. Name a file as `record`, and write it with: lango eval --live --record';
