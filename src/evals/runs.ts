import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { BoundedCache } from '../core/bounded-cache.js';
import { codeOf, LangoError } from '../core/errors.js';
import { caseResult, driftReport } from '../core/evaluations.js';
import type { CaseResult, EvaluationRun, Evaluations, RunLine } from '../core/evaluations.js';
import { parseJson } from '../core/json.js';
import type { TaskFile } from '../replay/task-file.js';
import { readRecord } from './case-file.js';
import { compareResults } from './compare.js';
import { DRIFT_FILE } from './drift.js';

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

/** Reads the live runs and the nightly reports in a data folder. Nothing else is kept of them. */
export class EvaluationRuns {
  readonly #home: string;
  readonly #currency: string;
  /** The lines of runs that have ended, by their names and the times of their results. */
  readonly #lines = new BoundedCache<string, RunLine>(4 * MOST_RUNS);

  constructor(home: string, currency: string) {
    this.#home = home;
    this.#currency = currency;
  }

  async list(): Promise<Evaluations> {
    const nights = (await readNights(this.#home)).slice(0, MOST_NIGHTS);
    return {
      currency: this.#currency,
      runs: await this.#runs(),
      nights: nights.map((night) => ({ ...night, changes: night.changes.slice(0, MOST_CHANGES) })),
    };
  }

  /** Rejects with `not-found` for a run that is not there, or has not ended. */
  async read(name: string, before?: string): Promise<EvaluationRun> {
    const found = await this.#results(name);
    const other = before ?? (await this.#runBefore(name, found));
    const changes = other === undefined ? [] : compareResults(await this.#results(other), found, true);
    const { mtimeMs: at } = await stat(join(runFolder(this.#home, name), RESULTS_FILE));
    const compared = other !== undefined && { before: other };
    return { name, at, currency: this.#currency, results: found, ...compared, changes };
  }

  /** The task of a result, with the tasks below it. Rejects with `not-found` when it has none. */
  async readTask(name: string, index: number): Promise<TaskFile> {
    const { record } = (await this.#results(name))[index] ?? {};
    if (record === undefined) throw new LangoError('not-found', 'This result has no task.');
    // The data folder may have moved since the run.
    return readRecord(join(runFolder(this.#home, name), basename(record)));
  }

  async #runs(): Promise<readonly RunLine[]> {
    const entries = await readdir(join(this.#home, RUNS), { withFileTypes: true }).catch(() => []);
    const folders = entries.filter((entry) => entry.isDirectory() && isRunName(entry.name));
    const found = await Promise.all(
      folders.map(async ({ name }) => {
        const folder = runFolder(this.#home, name);
        const ended = await stat(join(folder, RESULTS_FILE)).catch(() => undefined);
        return { name, hasEnded: ended !== undefined, at: (ended ?? (await stat(folder))).mtimeMs };
      }),
    );
    const lines: RunLine[] = [];
    // One after the other: the results of all at once could be large.
    for (const run of found.sort((a, b) => b.at - a.at).slice(0, MOST_RUNS))
      lines.push(await this.#line(run));
    return lines;
  }

  async #line({ name, at, hasEnded }: Pick<RunLine, 'name' | 'at' | 'hasEnded'>): Promise<RunLine> {
    const known = this.#lines.get(`${name} ${at}`);
    if (known) return known;
    const all = hasEnded ? await this.#results(name).catch(() => undefined) : undefined;
    const tasks = all
      ? all.filter(({ record }) => record !== undefined)
      : (await readdir(runFolder(this.#home, name))).filter((file) => file.endsWith('.json'));
    const files = [...Map.groupBy(all ?? [], ({ file }) => file)].map(([file, some]) =>
      figuresOf(file, some),
    );
    const line = { name, at, hasEnded: all !== undefined, tasks: tasks.length, files };
    if (all) this.#lines.set(`${name} ${at}`, line);
    return line;
  }

  async #runBefore(name: string, found: readonly CaseResult[]): Promise<string | undefined> {
    const files = new Set(found.map(({ file }) => file));
    const runs = await this.#runs();
    const older = runs.slice(runs.findIndex((run) => run.name === name) + 1);
    return older.find((run) => run.files.some(({ file }) => files.has(file)))?.name;
  }

  async #results(name: string): Promise<readonly CaseResult[]> {
    const path = join(runFolder(this.#home, name), RESULTS_FILE);
    const found = isRunName(name) ? await readResults(path) : undefined;
    if (found) return found.results;
    throw new LangoError('not-found', `There are no results of a run ${name}.`, {
      hint: 'A run that was interrupted goes on with: lango eval PATH --live --run NAME',
    });
  }
}

/** The reports of the nightly comparison, the newest first. */
export async function readNights(home: string) {
  const text = await readFile(join(home, DRIFT_FILE), 'utf8').catch(() => '');
  // A crash may have cut a line.
  const lines = text.split('\n').map((line) => driftReport.safeParse(parseJson(line)).data);
  return lines.filter((night) => night !== undefined).toReversed();
}

function figuresOf(file: string, some: readonly CaseResult[]): RunLine['files'][number] {
  const known = some.filter(({ tokens }) => tokens !== undefined);
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const costs = known.flatMap(({ cost }) => cost ?? []);
  return {
    ...{ file, cases: new Set(some.map(({ name }) => name)).size, results: some.length },
    passed: some.filter(({ passed }) => passed).length,
    tasks: known.length,
    seconds: sum(known.map(({ seconds = 0 }) => seconds)),
    ...(costs.length === known.length && { cost: sum(costs) }),
  };
}
