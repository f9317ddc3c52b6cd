import { setTimeout as sleep } from 'node:timers/promises';
import { describeHolds, type Hold, isTooLong, Watchdog } from '../../lab/watchdog.js';

const SAMPLE_MS = 5;

export interface Watched<Result> {
  readonly result: Result;
  /** By how much the resident memory of this process grew at most. */
  readonly grownBytes: number;
}

/** An input that holds the loop does so each time. */
export const MAX_RUNS = 5;
const PAUSE_MS = 200;

/**
 * Does work whose input must not hold the event loop of this process. When the loop was held, the work is done again,
 * as modules are loaded the first time, and garbage is collected or a busy machine slows the thread at any; throws when
 * the loop was held each time.
 */
export async function unheld<Result>(work: () => Promise<Result>): Promise<Watched<Result>> {
  const first = await watched(work);
  for (let last = first, runs = 1; isHeld(last.hold); runs += 1) {
    if (runs === MAX_RUNS) throw new Error(describeHolds(first.hold, last.hold));
    await sleep(PAUSE_MS);
    last = await watched(work);
  }
  return first;
}

/** Work counts by what the same work takes on an idle machine. */
function isHeld({ workMs, silentMs }: Hold): boolean {
  return isTooLong({ workMs, silentMs }) && isTooLong({ workMs: workMs / slowness(), silentMs });
}

/** Milliseconds that the reference takes on the idle machine on which the limits were set, which is not a fast one. */
const REFERENCE_MS = 24;
const REFERENCE = JSON.stringify(new Array(500_000).fill(1));

/**
 * How many times slower this machine is, at least 1. CPU time also grows on a busy machine, whose processes share caches
 * and memory. The middle one of three times counts, as garbage may be collected in another.
 */
function slowness(): number {
  const times = Array.from({ length: 3 }, () => {
    const begun = process.threadCpuUsage();
    for (let time = 0; time < 4; time += 1) JSON.parse(REFERENCE);
    const { user, system } = process.threadCpuUsage(begun);
    return (user + system) / 1_000;
  });
  return Math.max(1, times.toSorted((a, b) => a - b)[1]! / REFERENCE_MS);
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
