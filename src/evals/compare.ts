import { defined } from '../core/json.js';
import { figure, type CaseChange, type CaseResult } from '../core/evaluations.js';

/** Compares two evaluations case by case. `byChance`: whether models were asked, so that results differ from run to run. */
export function compareResults(
  before: readonly CaseResult[],
  now: readonly CaseResult[],
  byChance: boolean,
): readonly CaseChange[] {
  const keyOf = ({ file, name, model = '', instruction = '' }: CaseResult): string =>
    JSON.stringify([file, name, model, instruction]);
  const [ofBefore, ofNow] = [Map.groupBy(before, keyOf), Map.groupBy(now, keyOf)];
  return [...new Set([...ofNow.keys(), ...ofBefore.keys()])].map((key) => {
    const [was = [], is = []] = [ofBefore.get(key), ofNow.get(key)];
    const { name, file, model, instruction } = (is[0] ?? was[0])!;
    const figures = figure.options.flatMap((each) => {
      const [a, b] = [was, is].map((results) => sampleOf(results.flatMap((result) => result[each] ?? [])));
      return isBeyond(a!, b!) ? [[each, { before: a, now: b }]] : [];
    });
    const [passedBefore, passedNow] = [was, is].map((all) => all.map(({ passed }) => Number(passed)));
    const counts = { before: countOf(passedBefore!), now: countOf(passedNow!) };
    return {
      ...{ name, file, ...defined({ model, instruction, ...counts }) },
      change: changeOf(passedBefore!, passedNow!, byChance),
      figures: Object.fromEntries(figures) as CaseChange['figures'],
    };
  });
}

/** How many passed, of all; undefined when there is none. */
const countOf = (passed: readonly number[]) =>
  passed.length > 0 ? ([sum(passed), passed.length] as const) : undefined;

function changeOf(before: readonly number[], now: readonly number[], byChance: boolean) {
  if (before.length === 0) return 'new';
  if (now.length === 0) return 'gone';
  const rise = sum(now) / now.length - sum(before) / before.length;
  if (rise === 0) return 'same';
  // One more that passed and one that failed on each side, after Agresti and Caffo: few repeats tell little.
  if (byChance && !isBeyond(sampleOf([...before, 0, 1]), sampleOf([...now, 0, 1]))) return 'unclear';
  return rise > 0 ? 'better' : 'worse';
}

type Sample = ReturnType<typeof sampleOf>;

/** The mean of repeats with its spread. */
function sampleOf(values: readonly number[]) {
  const size = values.length;
  const mean = sum(values) / size;
  const deviation = Math.sqrt(sum(values.map((value) => (value - mean) ** 2)) / (size - 1));
  return { mean, deviation, size };
}

/** Whether two means are more than two standard errors apart. Fewer than two repeats have no spread, and never are. */
function isBeyond(a: Sample, b: Sample): boolean {
  const error = Math.sqrt(a.deviation ** 2 / a.size + b.deviation ** 2 / b.size);
  return Math.abs(a.mean - b.mean) > 2 * error;
}

export const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
