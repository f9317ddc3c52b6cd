import type { Config } from '../config/config.js';
import { agentLimits } from '../config/config.js';
import type { Storage } from '../core/store.js';
import type { JournalOptions, RunningJournal } from '../journal/journal.js';
import { createJournal } from '../journal/journal.js';
import type { VaultAccess } from './vault.js';
import { guardOf } from './vault.js';

export interface JournalParts extends Pick<JournalOptions, 'agents' | 'peers' | 'logger'> {
  readonly config: Config;
  readonly storage: Storage;
  readonly vault: VaultAccess;
}

/** The journal over this node's tasks, with the bounds of its configuration. */
export function openJournal({ config, storage, vault, ...parts }: JournalParts): RunningJournal {
  return createJournal({
    ...parts,
    store: storage.tasks,
    secrets: guardOf(vault),
    concurrentRuns: config.server.limits.concurrentRuns,
    eventsPerTask: config.tasks.events,
    runSeconds: agentLimits(config).seconds,
  });
}
