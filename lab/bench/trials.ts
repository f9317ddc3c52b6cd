import type { Figure } from './figures.js';
import { figureOf, quantile } from './figures.js';

/** The numbers of stored items of the knowledge bench, and of its questions. */
export interface Trials {
  readonly rounds: number;
  readonly entries: number;
  readonly vectors: number;
  readonly triples: number;
  /** Questions of one kind in one round. */
  readonly questions: number;
}

/** The milliseconds of each question, by round. */
type Times = readonly (readonly number[])[];

const GROUP = 500;
/** Questions before the measurement, until the code is compiled. */
const WARM_UP = 5;

/** Does `count` pieces of work, 500 at once as in a very busy server. They share commits. */
export async function inGroups(count: number, work: (index: number) => Promise<void>): Promise<void> {
  for (let from = 0; from < count; from += GROUP) {
    const length = Math.min(GROUP, count - from);
    await Promise.all(Array.from({ length }, (_, index) => work(from + index)));
  }
}

/** Measures the time of each, one after the other. */
export async function timesOf(
  { rounds, count }: { readonly rounds: number; readonly count: number },
  ask: () => Promise<void>,
): Promise<Times> {
  for (let index = 0; index < WARM_UP; index += 1) await ask();
  const times: number[][] = [];
  for (let round = 0; round < rounds; round += 1) {
    const own: number[] = [];
    for (let index = 0; index < count; index += 1) {
      const startedAt = performance.now();
      await ask();
      own.push(performance.now() - startedAt);
    }
    times.push(own);
  }
  return times;
}

interface TimeFigureOptions {
  readonly id: string;
  readonly title: string;
  readonly times: Times;
  readonly atMost: number;
}

/** The median; the target applies to the 95th percentile. */
export function timeFigure({ id, title, times, atMost }: TimeFigureOptions): Figure {
  return figureOf({
    id,
    title,
    unit: 'ms',
    samples: { lango: times.map((round) => quantile(round, 0.5)) },
    result: { of: '95 of 100', rounds: times.map((round) => quantile(round, 0.95)), atMost },
  });
}
