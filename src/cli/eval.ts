import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadConfig } from '../config/load.js';
import type { CaseChange, CaseResult, Spread } from '../core/evaluations.js';
import { newId } from '../core/ids.js';
import { defined } from '../core/json.js';
import { counted } from '../core/text.js';
import { compareResults } from '../evals/compare.js';
import { evaluateCases, nameOfResult, type Evaluation, type LiveRun } from '../evals/evaluate.js';
import { isRunName, readNights, readResults, RESULTS_FILE, runFolder } from '../evals/runs.js';
import { EXIT, usageError } from '../terminal/exit.js';
import { safeLine } from '../terminal/safe-text.js';
import type { Report, Terminal } from '../terminal/terminal.js';
import { loadConfigOf, overridesOf, type Call, type FolderFlags } from './connection.js';
import { widthOf } from './table-layout.js';

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
  const isRun = flags.live ?? flags.judge ?? false;
  if (!isRun && (flags.run ?? flags.budget ?? flags.record) !== undefined)
    throw usageError('--run, --budget and --record belong to a live run.', 'Add --live.');
  const run = isRun ? await runOf(call) : undefined;
  const before = flags.compare === undefined ? undefined : await resultsOf(flags.compare, call);
  const evaluation = await evaluateCases(path, run?.live);
  const { passed, results } = evaluation;
  if (flags.junit !== undefined) await writeFile(flags.junit, junitXml(evaluation));
  const json = { ...evaluation, ...(run && { run: run.name }) };
  if (run) await writeFile(join(run.live.folder, RESULTS_FILE), JSON.stringify(json));
  const byChance = (run ?? before?.run) !== undefined;
  const changes = before && compareResults(before.results, results, byChance);
  const good = results.filter((result) => result.passed).length;
  return {
    json: { ...json, ...defined({ changes }) },
    lines: [
      ...tableOf(results, terminal),
      `${good} of ${counted(results.length, 'case')} passed.`,
      ...(changes ? ['', ...changeLines(changes)] : []),
    ],
    notes: run ? [`Run ${run.name}. Its tasks are in ${safeLine(run.live.folder)}`] : [],
    exitCode: passed ? EXIT.ok : EXIT.failure,
  };
}

async function runOf(call: Call<EvalFlags>): Promise<{ readonly name: string; readonly live: LiveRun }> {
  const { flags, env } = call;
  const { run: name = newId(), budget, parallel, record: writesRecords, judge: judgesOnly } = flags;
  if (!isRunName(name))
    throw usageError('A run is named with letters, digits, dots, hyphens and underscores.');
  const folder = runFolder((await loadConfigOf(call)).config.home, name);
  const { createApp } = await import('../app.js');
  const load: LiveRun['load'] = (models) => loadConfig({ env, overrides: { ...overridesOf(flags), models } });
  return { name, live: { folder, budget, parallel, writesRecords, judgesOnly, load, createApp } };
}

/** Reads the results of a run by its name, or of a file that `--json` wrote. */
async function resultsOf(given: string, call: Call<EvalFlags>) {
  const isRun = isRunName(given) && !existsSync(given);
  const path = isRun ? join(runFolder((await loadConfigOf(call)).config.home, given), RESULTS_FILE) : given;
  const read = await readResults(path);
  if (read) return read;
  throw usageError(
    `There are no results of an evaluation in ${safeLine(path)}.`,
    'Name a run that came to its end, or a file that lango eval --json wrote.',
  );
}

function tableOf(results: readonly CaseResult[], { paint }: Terminal): readonly string[] {
  const names = results.map((result) => safeLine(nameOfResult(result)));
  const width = Math.max(...names.map(widthOf));
  return results.flatMap((result, index) => {
    const mark = result.passed ? paint.green('✔') : paint.red('✘');
    const name = names[index]! + ' '.repeat(width - widthOf(names[index]!));
    const line = `${mark} ${name}  ${paint.dim(useText(result))}`.trimEnd();
    return [line, ...result.failures.map((failure) => `    ${safeLine(failure)}`)];
  });
}

function useText({ tokens, turns, cost, seconds }: CaseResult): string {
  if (tokens === undefined) return '';
  const money = cost === undefined ? 'no price' : cost.toFixed(4);
  return [`${tokens} tokens`, `${turns} turns`, money, `${seconds!.toFixed(1)} s`].join('  ');
}

function changeLines(changes: readonly CaseChange[]): readonly string[] {
  const count = (passed: CaseChange['now']): string => (passed ? `${passed[0]} of ${passed[1]}` : 'none');
  const shown = ({ mean, deviation }: Spread): string =>
    `${Number(mean.toPrecision(4))} ± ${Number(deviation.toPrecision(2))}`;
  const others = changes.filter(
    ({ change, figures }) => change !== 'same' || Object.keys(figures).length > 0,
  );
  const lines = others.flatMap((each) => [
    `${each.change.padEnd('unclear'.length)}  ${safeLine(nameOfResult(each))}: passed ${count(each.before)}, now ${count(each.now)}`,
    ...Object.entries(each.figures).map(
      ([figure, { before, now }]) => `         ${figure} ${shown(before)}, now ${shown(now)}`,
    ),
  ]);
  return lines.length > 0 ? lines : ['Nothing became better or worse.'];
}

/** `lango eval drift`: the newest reports of the nightly comparison, and what changed in most turns of the newest. */
export async function showDrift(call: Call<FolderFlags>): Promise<Report> {
  const nights = await readNights((await loadConfigOf(call)).config.home);
  const lines = nights.map(({ at, tasks, changedTasks }) => {
    const day = new Date(at).toISOString().slice(0, 'YYYY-MM-DD'.length);
    return `${day}  ${changedTasks} of ${counted(tasks, 'task')} would be asked something else`;
  });
  const changes = nights[0]?.changes ?? [];
  return {
    json: { nights },
    lines: [...lines, ...changes.map(({ what, turns }) => `  ${counted(turns, 'turn')}  ${safeLine(what)}`)],
    notes: nights.length > 0 ? [] : ['No night has been compared yet. See evaluations.sample.'],
  };
}

/** Writes the results as JUnit XML: one suite, one test case for each case. */
function junitXml({ results }: Evaluation): string {
  const failed = results.filter(({ passed }) => !passed).length;
  const seconds = results.reduce((sum, each) => sum + (each.seconds ?? 0), 0);
  const cases = results.map((result) => {
    const [first, ...others] = result.failures.map(escaped);
    const text = [first, ...others].join('&#10;');
    const failure = first === undefined ? '' : `<failure message="${first}">${text}</failure>`;
    const name = `classname="${escaped(result.file)}" name="${escaped(nameOfResult(result))}"`;
    return `  <testcase ${name} time="${(result.seconds ?? 0).toFixed(3)}">${failure}</testcase>\n`;
  });
  return `<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="lango eval" tests="${results.length}" failures="${failed}" time="${seconds.toFixed(3)}">
${cases.join('')}</testsuite>
`;
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
/** The characters that XML 1.0 cannot hold, not even as a number. */
// oxlint-disable-next-line no-control-regex
const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

function escaped(text: string): string {
  const plain = text.toWellFormed().replace(FORBIDDEN, '\ufffd');
  return plain.replace(/[&<>"]/g, (character) => ENTITIES[character]!).replaceAll('\n', '&#10;');
}
