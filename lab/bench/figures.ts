/** One line of the result. */
export interface Figure {
  /** Such as "send.rate". Never renamed, because programs use it. */
  readonly id: string;
  readonly title: string;
  readonly unit: string;
  /** By server; medians over the rounds. */
  readonly values: Readonly<Record<string, number>>;
  /** The value that is compared with the target. */
  readonly result?: Result;
}

export interface Result {
  /** Such as "lango / stock": the servers whose figures were divided. */
  readonly of: string;
  readonly value: number;
  readonly target?: Target;
}

interface Target {
  readonly is: 'at least' | 'at most';
  readonly value: number;
  readonly met: boolean;
}

/** The measured values, by server and round. */
export type Samples = Readonly<Record<string, readonly number[]>>;

export interface FigureOptions extends Pick<Figure, 'id' | 'title' | 'unit'> {
  readonly samples: Samples;
  readonly result?: ResultOptions;
}

export interface ResultOptions {
  readonly of: string;
  readonly rounds: readonly number[];
  readonly atLeast?: number;
  readonly atMost?: number;
}

/** Adds the median over the rounds of each value. */
export function figureOf({ samples, result, ...rest }: FigureOptions): Figure {
  const values = Object.fromEntries(Object.entries(samples).map(([name, list]) => [name, median(list)]));
  return { ...rest, values, ...(result ? { result: resultOf(result) } : {}) };
}

/**
 * The ratio of two servers in each round. Both were measured right after each other, so other load of the machine
 * affects both alike, and the median of these ratios is more exact than the ratio of two medians.
 */
export function versus(samples: Samples, above: string, below: string): ResultOptions {
  return { of: `${above} / ${below}`, rounds: ratios(samples[above]!, samples[below]!) };
}

export function ratios(above: readonly number[], below: readonly number[]): readonly number[] {
  return above.map((value, round) => value / below[round]!);
}

function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** A quantile, interpolated linearly between the two nearest values. Throws on an empty list. */
export function quantile(values: readonly number[], share: number): number {
  if (values.length === 0) throw new RangeError('there is no quantile of nothing');
  const sorted = values.toSorted((a, b) => a - b);
  const place = (sorted.length - 1) * share;
  const below = sorted[Math.floor(place)]!;
  return below + (sorted[Math.ceil(place)]! - below) * (place - Math.floor(place));
}

function resultOf({ of, rounds, atLeast, atMost }: ResultOptions): Result {
  const value = median(rounds);
  if (atLeast !== undefined) {
    return { of, value, target: { is: 'at least', value: atLeast, met: value >= atLeast } };
  }
  if (atMost === undefined) return { of, value };
  return { of, value, target: { is: 'at most', value: atMost, met: value <= atMost } };
}
