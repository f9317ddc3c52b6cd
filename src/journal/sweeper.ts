import { performance } from 'node:perf_hooks';
import { errorText } from '../core/errors.js';
import type { Page } from '../core/page.js';
import type { Logger } from '../core/logger.js';
import { pause } from '../core/time.js';
import type { RetentionStore } from '../stores/tasks.js';

const SWEEP_MS = 60 * 60 * 1_000;
/** Tasks checked in one step, and the pause after it, so that requests are served first. */
const STEP_TASKS = 50;
const STEP_PAUSE_MS = 20;

interface SweeperOptions {
  readonly retention: RetentionStore;
  /** The time that ended tasks are kept. */
  readonly ageMs: number;
  readonly logger: Logger;
}

/** Removes old tasks, now and every hour. The returned function stops it and waits for the step under way. */
export function startSweeping(options: SweeperOptions): () => Promise<void> {
  const stopping = new AbortController();
  const sweeping = keepSweeping(options, stopping.signal);
  return async () => {
    stopping.abort();
    await sweeping;
  };
}

async function keepSweeping(options: SweeperOptions, signal: AbortSignal): Promise<void> {
  const clock = new ClockWatch();
  for (; !signal.aborted; await pause(SWEEP_MS, { signal, ref: false })) {
    const jumpMs = clock.check();
    if (jumpMs !== 0) options.logger.warn('the clock jumped; old tasks are kept for now', { jumpMs });
    if (clock.isDoubtful) continue;
    try {
      const removed = await sweep(options, signal);
      if (removed > 0) options.logger.info('old tasks were removed', { tasks: removed });
    } catch (error) {
      options.logger.warn('old tasks could not be removed', { error: errorText(error) });
    }
  }
}

/** Smaller differences are corrections of a clock that runs well. */
const JUMP_MS = 60_000;
const MAX_DOUBT_MS = 24 * 60 * 60 * 1_000;

/**
 * Compares the machine's clock with the time that really passed. After a jump (a wrong clock, or a machine that slept) the
 * clock is doubtful for as long as it jumped, a day at most: long enough to be set right before anything is removed.
 */
export class ClockWatch {
  #offset = offsetOfClock();
  #doubtfulUntil = 0;

  /** Returns by how much the clock jumped since the last check; 0 for no jump. */
  check(): number {
    const offset = offsetOfClock();
    const jumpMs = Math.round(offset - this.#offset);
    this.#offset = offset;
    if (Math.abs(jumpMs) < JUMP_MS) return 0;
    this.#doubtfulUntil = performance.now() + Math.min(Math.abs(jumpMs), MAX_DOUBT_MS);
    return jumpMs;
  }

  get isDoubtful(): boolean {
    return performance.now() < this.#doubtfulUntil;
  }
}

/** The clock's time at which the process's own, steady clock was zero. */
function offsetOfClock(): number {
  return Date.now() - performance.now();
}

async function sweep({ retention, ageMs }: SweeperOptions, signal: AbortSignal): Promise<number> {
  let removed = 0;
  for (let after: string | undefined = ''; after !== undefined && !signal.aborted;) {
    const { items, next }: Page<string> = await retention.listEnded(ageMs, after, STEP_TASKS);
    removed += (await retention.remove(items)).length;
    after = next;
    await pause(STEP_PAUSE_MS, { signal, ref: false });
  }
  return removed;
}
