import { setTimeout as sleep } from 'node:timers/promises';

/** Ends a futile wait before jest ends the test, so that the stack names the awaited condition. */
const END_MS = 100_000;
const PAUSE_MS = 20;

/** Resolves once `holds` resolves with true. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + END_MS; !(await holds()); await sleep(PAUSE_MS))
    if (Date.now() > end) throw new Error(`never held: ${holds.toString()}`);
}
