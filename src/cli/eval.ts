import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadConfig } from '../config/load.js';
import type { CaseChange, CaseResult } from '../core/evaluations.js';
import { newId } from '../core/ids.js';
import { counted } from '../core/text.js';
import { compareResults } from '../evals/compare.js';
import { evaluateCases, nameOfResult } from '../evals/evaluate.js';
import { junitXml } from '../evals/junit.js';
import type { LiveRun } from '../evals/live.js';
import { isRunName, readNights, readResults, RESULTS_FILE, runFolder } from '../evals/runs.js';
import { EXIT, usageError } from '../terminal/exit.js';
import { safeLine } from '../terminal/safe-text.js';
import type { Report, Terminal } from '../terminal/terminal.js';
import { loadConfigOf, overridesOf, type Call, type FolderFlags } from './connection.js';
import { widthOf } from './text-width.js';

interface EvalFlags extends FolderFlags {
  readonly live?: boolean;
  readonly judge?: boolean;
  readonly run?: string;
  readonly budget?: number;
  readonly parallel: number;
  readonly record?: boolean;
  readonly junit?: string;
  readonly compare?: string;
}

/** `lango eval`: checks what tasks did against what cases expect. */
export async function evaluate(path: string, call: Call<EvalFlags>): Promise<Report> {
  const { flags, terminal } = call;
  if (flags.live && flags.judge) throw usageError('--live asks the judges too.', 'Leave --judge out.');
  const asks = flags.live ?? flags.judge ?? false;
  if (!asks && (flags.run ?? flags.budget ?? flags.record) !== undefined)
    throw usageError('--run, --budget and --record belong to a live run.', 'Add --live.');
  const run = asks ? await liveRunOf(call) : undefined;
  const before = flags.compare === undefined ? undefined : await resultsOf(flags.compare, call);
  const evaluation = await evaluateCases(path, run?.live);
  const { passed, results } = evaluation;
  if (flags.junit !== undefined) await writeFile(flags.junit, junitXml(evaluation));
  const json = { ...evaluation, ...(run && { run: run.name }) };
  if (run) await writeFile(join(run.live.folder, RESULTS_FILE), JSON.stringify(json));
  const byChance = run !== undefined || before?.run !== undefined;
  const changes = before && compareResults(before.results, results, byChance);
  const good = results.filter((result) => result.passed).length;
  return {
    json: { ...json, ...(changes && { changes }) },
    lines: [
      ...tableOf(results, terminal),
      `${good} of ${counted(results.length, 'case')} passed.`,
      ...(changes ? changeLines(changes) : []),
    ],
    notes: run ? [`Run ${run.name}. Its tasks are in ${safeLine(run.live.folder)}`] : [],
    exitCode: passed ? EXIT.ok : EXIT.failure,
  };
}

/** Reads the results of a run by its name, or of a file that `--json` wrote. */
async function resultsOf(given: string, call: Call<EvalFlags>) {
  const ofRun = async () => join(runFolder((await loadConfigOf(call)).config.home, given), RESULTS_FILE);
  const path = isRunName(given) && !existsSync(given) ? await ofRun() : given;
  const read = await readResults(path);
  if (read) return read;
  throw usageError(
    `There are no results of an evaluation in ${safeLine(path)}.`,
    'Name a run that came to its end, or a file that lango eval --json wrote.',
  );
}

function changeLines(changes: readonly CaseChange[]): readonly string[] {
  const others = changes.filter(
    ({ change, figures }) => change !== 'same' || Object.keys(figures).length > 0,
  );
  const count = (passed: CaseChange['now']): string => (passed ? `${passed[0]} of ${passed[1]}` : 'none');
  const shown = ({ mean, deviation }: { mean: number; deviation: number }): string =>
    `${Number(mean.toPrecision(4))} ± ${Number(deviation.toPrecision(2))}`;
  const lines = others.flatMap((each) => [
    `${each.change.padEnd('unclear'.length)}  ${safeLine(nameOfResult(each))}: passed ${count(each.before)}, now ${count(each.now)}`,
    ...Object.entries(each.figures).map(
      ([figure, { before, now }]) => `         ${figure} ${shown(before)}, now ${shown(now)}`,
    ),
  ]);
  return ['', ...(lines.length > 0 ? lines : ['Nothing became better or worse.'])];
}

/** The nights that are shown, and what changed in most turns of the newest. */
const SHOWN_NIGHTS = 14;
const SHOWN_CHANGES = 10;

/** `lango eval drift`: the reports of the nightly comparison, the newest first. */
export async function showDrift(call: Call<FolderFlags>): Promise<Report> {
  const { config } = await loadConfigOf(call);
  const nights = await readNights(config.home);
  const ofNewest = nights[0]?.changes.slice(0, SHOWN_CHANGES) ?? [];
  return {
    json: { nights },
    lines: [
      ...nights.slice(0, SHOWN_NIGHTS).map(({ at, tasks, changedTasks }) => {
        const day = new Date(at).toISOString().slice(0, 'YYYY-MM-DD'.length);
        return `${day}  ${changedTasks} of ${counted(tasks, 'task')} would be asked something else`;
      }),
      ...ofNewest.map(({ what, turns }) => `  ${counted(turns, 'turn')}  ${safeLine(what)}`),
    ],
    notes: nights.length > 0 ? [] : ['No night has been compared yet. See evaluations.sample.'],
  };
}

async function liveRunOf(call: Call<EvalFlags>): Promise<{ readonly name: string; readonly live: LiveRun }> {
  const { flags, env } = call;
  const { run: name = newId(), budget, parallel, record: writesRecords } = flags;
  if (!isRunName(name))
    throw usageError('A run is named with letters, digits, dots, hyphens and underscores.');
  const { config } = await loadConfigOf(call);
  const { createApp } = await import('../app.js');
  const folder = runFolder(config.home, name);
  const load: LiveRun['load'] = (models) => loadConfig({ env, overrides: { ...overridesOf(flags), models } });
  const live = { folder, budget, parallel, writesRecords, judgesOnly: flags.judge, load, createApp };
  return { name, live };
}

function tableOf(results: readonly CaseResult[], { paint }: Terminal): readonly string[] {
  const names = results.map((result) => safeLine(nameOfResult(result)));
  const width = Math.max(...names.map(widthOf));
  return results.flatMap((result, index) => {
    const { passed, failures } = result;
    const mark = passed ? paint.green('✔') : paint.red('✘');
    const name = names[index]! + ' '.repeat(width - widthOf(names[index]!));
    const line = `${mark} ${name}  ${paint.dim(useText(result))}`.trimEnd();
    return [line, ...failures.map((failure) => `    ${safeLine(failure)}`)];
  });
}

function useText({ tokens, turns, cost, seconds }: CaseResult): string {
  if (tokens === undefined) return '';
  const money = cost === undefined ? 'no price' : cost.toFixed(4);
  return [`${tokens} tokens`, `${turns} turns`, money, `${seconds!.toFixed(1)} s`].join('  ');
}
