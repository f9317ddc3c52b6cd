import { join } from 'node:path';
import { hasSeveralOwners } from '../config/config.js';
import type { Scope } from '../core/task.js';
import { compareNightly, DRIFT_FILE } from '../evals/drift.js';
import { ownOwner } from '../http/identity.js';
import type { Parts } from './node.js';
import { recordsOf } from './owners.js';

/** Compares tasks with the prompts of now each night, for owners who agreed. Returns the function that ends this. */
export function startDrift(parts: Parts<'config' | 'storage' | 'agents' | 'journal' | 'logger'>): () => void {
  const { config, agents, journal, logger } = parts;
  const { sample: share, owners: named } = config.evaluations;
  const agreed = named.map((owner): Scope => ({ tenant: '', owner }));
  const owners = agreed.length > 0 || hasSeveralOwners(config.auth) ? agreed : [ownOwner(config.auth)];
  if (share === 0 || owners.length === 0) return () => undefined;
  const readRecord = recordsOf(parts, journal);
  const file = join(config.home, DRIFT_FILE);
  return compareNightly({ tasks: journal, readRecord, agents, owners, share, file, logger });
}
