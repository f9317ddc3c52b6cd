import type { Config } from '../config/config.js';
import type { ReadKeys } from '../core/card.js';
import { KEEPING_NODE } from '../core/keeping-nodes.js';
import type { Logger } from '../core/logger.js';
import { offer, type Offer } from '../core/service.js';
import { DISK } from '../disk/disk.js';
import { PARSERS, type Parsers } from '../parsing/parsers.js';
import type { Storage } from '../stores/storage.js';
import { TASKS } from '../stores/tasks.js';
import { findKeepingNode } from './keeping-nodes.js';
import { createDisk } from './stores.js';

interface ServiceParts {
  readonly config: Config;
  readonly storage: Pick<Storage, 'tasks'>;
  readonly parsers: Parsers;
  /** The keys of this node. */
  readonly keys: ReadKeys;
  readonly logger: Logger;
}

/** What the server itself offers to capabilities. */
export function serverServices(parts: ServiceParts): readonly Offer[] {
  return [
    offer(PARSERS, parts.parsers),
    offer(DISK, createDisk(parts.config)),
    offer(TASKS, parts.storage.tasks),
    offer(KEEPING_NODE, (kind) => findKeepingNode(kind, parts)),
  ];
}
