import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { BoundedCache } from '../core/bounded-cache.js';
import { codeOf, LangoError } from '../core/errors.js';
import { caseResult, DRIFT_FILE, driftReport } from '../core/evaluations.js';
import type { CaseResult, EvaluationRun, Evaluations, RunLine } from '../core/evaluations.js';
import { defined, parseJson } from '../core/json.js';
import type { TaskFile } from '../replay/task-file.js';
import { readRecord } from './case-file.js';
import { compareResults, sum } from './compare.js';

/** The folder of the live runs in a data folder: a folder for each, with its tasks. */
const RUNS = 'evals';
/** The file of a run that came to its end: what `lango eval --json` prints. */
export const RESULTS_FILE = 'results.json';
const NAME = /^(?!\.+$)[\w.-]{1,64}$/;
const MOST_RUNS = 50;
const MOST_NIGHTS = 14;
const MOST_CHANGES = 10;

export const isRunName = (name: string): boolean => NAME.test(name);
export const runFolder = (home: string, name: string): string => join(home, RUNS, name);

const results = z.object({ run: z.string().optional(), results: z.array(caseResult) });

/** Reads what `lango eval --json` printed; undefined when there is no such file, or something else in it. */
export async function readResults(path: string) {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (codeOf(error) !== 'ENOENT') throw error;
    return '';
  });
  return results.safeParse(parseJson(text)).data;
}

/** Returns the readers of the live runs and the nightly reports in a data folder. Nothing else is kept of them. */
export function createEvaluationRuns(home: string, currency: string) {
  /** The lines of runs that have ended, by their names and the times of their results. */
  const known = new BoundedCache<string, RunLine>(4 * MOST_RUNS);
  const readLines = async (): Promise<readonly RunLine[]> => {
    const lines: RunLine[] = [];
    // One after the other: the results of all at once could be large.
    for (const { name, at } of (await runsIn(home)).slice(0, MOST_RUNS)) {
      const key = `${name} ${at}`;
      const line = known.get(key) ?? lineOf(name, at, await resultsOf(home, name).catch(() => []));
      known.set(key, line);
      lines.push(line);
    }
    return lines;
  };
  return {
    async list(): Promise<Evaluations> {
      return { currency, runs: await readLines(), nights: await readNights(home) };
    },
    /** Rejects with `not-found` for a run that is not there, or has not ended. */
    async read(name: string, given?: string): Promise<EvaluationRun> {
      const results = await resultsOf(home, name);
      const before = given ?? runBefore(name, results, await readLines());
      const changes =
        before === undefined ? [] : compareResults(await resultsOf(home, before), results, true);
      const { mtimeMs: at } = await stat(join(runFolder(home, name), RESULTS_FILE));
      return { name, at, currency, results, ...defined({ before }), changes };
    },
    /** The task of a result, with the tasks below it. Rejects with `not-found` when it has none. */
    async readTask(name: string, index: number): Promise<TaskFile> {
      const { record } = (await resultsOf(home, name))[index] ?? {};
      if (record === undefined) throw new LangoError('not-found', 'This result has no task.');
      // The data folder may have moved since the run.
      return readRecord(join(runFolder(home, name), basename(record)));
    },
  };
}

/** The runs that have ended, the newest first. */
async function runsIn(home: string) {
  const names = await readdir(join(home, RUNS)).catch(() => []);
  const found = names.filter(isRunName).map(async (name) => {
    const results = await stat(join(runFolder(home, name), RESULTS_FILE)).catch(() => undefined);
    return results ? [{ name, at: results.mtimeMs }] : [];
  });
  return (await Promise.all(found)).flat().sort((a, b) => b.at - a.at);
}

function lineOf(name: string, at: number, results: readonly CaseResult[]): RunLine {
  const files = [...Map.groupBy(results, ({ file }) => file)].map(([file, some]) => {
    const known = some.filter(({ tokens }) => tokens !== undefined);
    const costs = known.flatMap(({ cost }) => cost ?? []);
    return {
      ...{ file, cases: new Set(some.map((one) => one.name)).size, results: some.length },
      ...{ passed: some.filter(({ passed }) => passed).length, tasks: known.length },
      seconds: sum(known.map(({ seconds = 0 }) => seconds)),
      ...(costs.length === known.length && { cost: sum(costs) }),
    };
  });
  return { name, at, files };
}

/** The newest earlier run that has one of the same files of cases. */
function runBefore(name: string, found: readonly CaseResult[], runs: readonly RunLine[]): string | undefined {
  const files = new Set(found.map(({ file }) => file));
  const older = runs.slice(runs.findIndex((run) => run.name === name) + 1);
  return older.find((run) => run.files.some(({ file }) => files.has(file)))?.name;
}

async function resultsOf(home: string, name: string): Promise<readonly CaseResult[]> {
  const found = isRunName(name) ? await readResults(join(runFolder(home, name), RESULTS_FILE)) : undefined;
  if (found) return found.results;
  throw new LangoError('not-found', `There are no results of a run ${name}.`, {
    hint: 'A run that was interrupted goes on with: lango eval PATH --live --run NAME',
  });
}

/** The newest reports of the nightly comparison, the newest first, with what changed in most turns. */
export async function readNights(home: string) {
  const text = await readFile(join(home, DRIFT_FILE), 'utf8').catch(() => '');
  // A crash may have cut a line.
  const nights = text.split('\n').flatMap((line) => driftReport.safeParse(parseJson(line)).data ?? []);
  const shown = nights.slice(-MOST_NIGHTS).toReversed();
  return shown.map((night) => ({ ...night, changes: night.changes.slice(0, MOST_CHANGES) }));
}
