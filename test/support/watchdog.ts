import { setTimeout as sleep } from 'node:timers/promises';
import { describeHolds, type Hold, isTooLong, Watchdog } from '../../lab/watchdog.js';

const SAMPLE_MS = 5;

export interface Watched<Result> {
  readonly result: Result;
  /** The largest growth of this process's resident memory. */
  readonly grownBytes: number;
}

/** An input that really blocks the loop does so in every run. */
export const MAX_RUNS = 5;
const PAUSE_MS = 200;

/**
 * Runs work whose input must not block the event loop of this process. When the loop was blocked, the work runs again,
 * because the first run loads modules, and garbage collection or a busy machine may slow the thread in any run. Throws
 * when every run blocked the loop.
 */
export async function unheld<Result>(work: () => Promise<Result>): Promise<Watched<Result>> {
  return unheldWith(() => undefined, work);
}

/** Does the same for work that needs an input of its own in each run. Making the input may block the event loop. */
export async function unheldWith<Input, Result>(
  makeInput: () => Input,
  work: (input: Input) => Promise<Result>,
): Promise<Watched<Result>> {
  const run = (): ReturnType<typeof watched<Result>> => {
    const input = makeInput();
    return watched(() => work(input));
  };
  const first = await run();
  for (let last = first, runs = 1; isHeld(last.hold); runs += 1) {
    if (runs === MAX_RUNS) throw new Error(describeHolds(first.hold, last.hold));
    await sleep(PAUSE_MS);
    last = await run();
  }
  return first;
}

/** Work is measured by the time of the same work on an idle machine. */
function isHeld({ workMs, silentMs }: Hold): boolean {
  return isTooLong({ workMs, silentMs }) && isTooLong({ workMs: workMs / slowness(), silentMs });
}

/**
 * The milliseconds of the reference on the idle machine for which the limits were set, which is not a fast one. It is made
 * of objects, like the costliest inputs: what they cost differs more between machines than what numbers do.
 */
const REFERENCE_MS = 30;
const REFERENCE = JSON.stringify(Array<object>(100_000).fill({ a: [] }));

/**
 * The factor by which this machine is slower, at least 1. CPU time also grows on a busy machine, whose processes share
 * caches and memory. The median of three times counts, as garbage may be collected in another one.
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
