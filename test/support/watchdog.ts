import process from 'node:process';

/** One input may hold the event loop no longer. */
export const LONGEST_HOLD_MS = 100;
const TICK_MS = 5;

export interface Watched<Result> {
  readonly result: Result;
  /** The longest time that the event loop was held by work of this thread. */
  readonly heldMs: number;
  /** By how much the resident memory of this process grew at most. */
  readonly grownBytes: number;
}

/**
 * Watches the event loop of this process and its memory while the work lasts. It counts the time of the processor, as a
 * busy machine may give this thread none for a while. Run the work once before, so that no loading of modules counts.
 */
export async function watched<Result>(work: () => Promise<Result>): Promise<Watched<Result>> {
  const begunBytes = process.memoryUsage.rss();
  let last = workMs();
  let heldMs = 0;
  let grownBytes = 0;
  const tick = (): void => {
    const now = workMs();
    heldMs = Math.max(heldMs, now - last);
    grownBytes = Math.max(grownBytes, process.memoryUsage.rss() - begunBytes);
    last = now;
  };
  const timer = setInterval(tick, TICK_MS);
  try {
    const result = await work();
    tick();
    return { result, heldMs, grownBytes };
  } finally {
    clearInterval(timer);
  }
}

function workMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
