import type { Config } from '../config/config.js';
import type { Logger } from '../core/logger.js';
import type { Storage } from '../core/store.js';
import { startSweeping } from '../journal/sweeper.js';

const DAY_MS = 24 * 60 * 60 * 1_000;

export interface RetentionParts {
  readonly config: Config;
  readonly storage: Storage;
  readonly logger: Logger;
}

/** Removes ended tasks once they are old enough, if ever. Returns the way to stop. */
export function sweepOldTasks({ config, storage, logger }: RetentionParts): () => Promise<void> {
  const { retentionDays } = config.tasks;
  if (retentionDays === 0) return async () => {};
  return startSweeping({ retention: storage.retention, ageMs: retentionDays * DAY_MS, logger });
}
