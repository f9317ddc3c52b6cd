import { describeHolds, type Hold, isTooLong, Watchdog } from '../../scripts/watchdog.js';

const SAMPLE_MS = 5;

export interface Watched<Result> {
  readonly result: Result;
  /** By how much the resident memory of this process grew at most. */
  readonly grownBytes: number;
}

/** An input that holds the loop does so each time. */
const MAX_RUNS = 3;

/**
 * Does work whose input must not hold the event loop of this process. When the loop was held, the work is done again,
 * as modules are loaded the first time, and garbage is collected or a busy machine slows the thread at any; throws when
 * the loop was held each time.
 */
export async function unheld<Result>(work: () => Promise<Result>): Promise<Watched<Result>> {
  const first = await watched(work);
  let last = first;
  for (let runs = 1; isTooLong(last.hold); runs += 1) {
    if (runs === MAX_RUNS) throw new Error(describeHolds(first.hold, last.hold));
    last = await watched(work);
  }
  return first;
}

async function watched<Result>(
  work: () => Promise<Result>,
): Promise<Watched<Result> & { readonly hold: Hold }> {
  using dog = new Watchdog();
  const begunBytes = process.memoryUsage.rss();
  let grownBytes = 0;
  const sample = (): void => {
    grownBytes = Math.max(grownBytes, process.memoryUsage.rss() - begunBytes);
  };
  const timer = setInterval(sample, SAMPLE_MS);
  try {
    const result = await work();
    sample();
    return { result, hold: dog.take(), grownBytes };
  } finally {
    clearInterval(timer);
  }
}
