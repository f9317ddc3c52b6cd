import { setTimeout as delay } from 'node:timers/promises';
import { errorText } from '../core/errors.js';
import type { Logger } from '../core/logger.js';
import type { RetentionStore } from '../stores/tasks.js';

const SWEEP_MS = 60 * 60 * 1_000;
/** Tasks checked in one step, and the pause after it, so that requests are served first. */
const STEP_TASKS = 50;
const STEP_PAUSE_MS = 20;

export interface SweeperOptions {
  readonly retention: RetentionStore;
  /** How long ended tasks are kept. */
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
  while (!signal.aborted) {
    try {
      const removed = await sweep(options, signal);
      if (removed > 0) options.logger.info('old tasks were removed', { tasks: removed });
    } catch (error) {
      options.logger.warn('old tasks could not be removed', { error: errorText(error) });
    }
    await pause(SWEEP_MS, signal);
  }
}

async function sweep({ retention, ageMs }: SweeperOptions, signal: AbortSignal): Promise<number> {
  let removed = 0;
  for (let after: string | undefined = ''; after !== undefined && !signal.aborted;) {
    const { items, next }: Awaited<ReturnType<RetentionStore['listEnded']>> = await retention.listEnded(
      ageMs,
      after,
      STEP_TASKS,
    );
    removed += (await retention.remove(items)).length;
    after = next;
    await pause(STEP_PAUSE_MS, signal);
  }
  return removed;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return delay(ms, undefined, { signal, ref: false }).catch(() => {});
}
