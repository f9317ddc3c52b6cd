import { defined } from '../core/json.js';
import { figure, type CaseChange, type CaseResult, type Figure } from '../core/evaluations.js';

/** Differences that chance makes less often than this count. */
const CHANCE = 0.05;

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
    const [before, now] = [passedOf(was), passedOf(is)];
    const figures = figure.options.flatMap((each) => {
      const [a, b] = [sampleOf(was, each), sampleOf(is, each)];
      return a && b && isBeyond(a, b) ? [[each, { before: a, now: b }]] : [];
    });
    return {
      ...{ name, file, ...defined({ model, instruction, before, now }) },
      change: changeOf(before, now, byChance),
      figures: Object.fromEntries(figures) as CaseChange['figures'],
    };
  });
}

type Passed = readonly [passed: number, all: number];

/** How many passed, of all; undefined when there is none. */
function passedOf(results: readonly CaseResult[]): Passed | undefined {
  return results.length > 0 ? [results.filter(({ passed }) => passed).length, results.length] : undefined;
}

function changeOf(
  before: Passed | undefined,
  now: Passed | undefined,
  byChance: boolean,
): CaseChange['change'] {
  if (!before) return 'new';
  if (!now) return 'gone';
  const rise = now[0] / now[1] - before[0] / before[1];
  if (rise === 0) return 'same';
  if (byChance && probability(before, now) >= CHANCE) return 'unclear';
  return rise > 0 ? 'better' : 'worse';
}

/** Fisher's exact test, two-sided: how often chance alone makes two samples at least as different as these. */
function probability([passedA, a]: Passed, [passedB, b]: Passed): number {
  const passed = passedA + passedB;
  const ways = (of: number) => choose(a, of) * choose(b, passed - of);
  const seen = ways(passedA);
  let [rare, all] = [0, 0];
  for (let of = Math.max(0, passed - b); of <= Math.min(a, passed); of += 1) {
    all += ways(of);
    if (ways(of) <= seen * (1 + 1e-9)) rare += ways(of);
  }
  return rare / all;
}

function choose(all: number, some: number): number {
  let ways = 1;
  for (let each = 1; each <= some; each += 1) ways = (ways * (all - some + each)) / each;
  return ways;
}

/** The mean of repeats with its spread; undefined with fewer than two, which have none. */
function sampleOf(results: readonly CaseResult[], figure: Figure) {
  const values = results.flatMap((result) => result[figure] ?? []);
  const size = values.length;
  if (size < 2) return undefined;
  const mean = sum(values) / size;
  const deviation = Math.sqrt(sum(values.map((value) => (value - mean) ** 2)) / (size - 1));
  return { mean, deviation, size };
}

type Sample = NonNullable<ReturnType<typeof sampleOf>>;

/** The standard errors by which two means must be apart. */
const ERRORS_APART = 2;

function isBeyond(a: Sample, b: Sample): boolean {
  const error = Math.sqrt(a.deviation ** 2 / a.size + b.deviation ** 2 / b.size);
  return Math.abs(a.mean - b.mean) > ERRORS_APART * error;
}

export const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
