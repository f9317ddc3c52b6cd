import { join } from 'node:path';
import { agentLimits, hasSeveralOwners } from '../config/config.js';
import { packageVersion } from '../config/package-root.js';
import type { Scope } from '../core/task.js';
import { compareNightly, DRIFT_FILE } from '../evals/drift.js';
import { ownOwner } from '../http/identity.js';
import { createTaskRecords } from '../replay/collect.js';
import type { Parts } from './node.js';

/** Compares tasks with the prompts of now each night, for owners who agreed. Returns the function that ends this. */
export function startDrift(parts: Parts<'config' | 'storage' | 'agents' | 'journal' | 'logger'>): () => void {
  const { config, storage, agents, journal, logger } = parts;
  const { sample: share, owners: named } = config.evaluations;
  const agreed = named.map((owner): Scope => ({ tenant: '', owner }));
  const owners = agreed.length > 0 || hasSeveralOwners(config.auth) ? agreed : [ownOwner(config.auth)];
  if (share === 0 || owners.length === 0) return () => undefined;
  const node = { id: storage.nodeId, version: packageVersion() };
  const readRecord = createTaskRecords({ tasks: journal, limits: agentLimits(config), node });
  const file = join(config.home, DRIFT_FILE);
  return compareNightly({ tasks: journal, readRecord, agents, owners, share, file, logger });
}
