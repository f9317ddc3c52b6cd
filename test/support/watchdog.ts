import { describeHolds, type Hold, isTooLong, Watchdog } from '../../scripts/watchdog.js';

const SAMPLE_MS = 5;

export interface Watched<Result> {
  readonly result: Result;
  /** By how much the resident memory of this process grew at most. */
  readonly grownBytes: number;
}

/**
 * Does work whose input must not hold the event loop of this process. When the loop was held, the work is done a second
 * time, as modules are loaded the first time and garbage is collected at any; throws when the loop was held both times.
 */
export async function unheld<Result>(work: () => Promise<Result>): Promise<Watched<Result>> {
  const first = await watched(work);
  if (!isTooLong(first.hold)) return first;
  const again = await watched(work);
  if (isTooLong(again.hold)) throw new Error(describeHolds(first.hold, again.hold));
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
