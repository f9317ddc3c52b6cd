import { join } from 'node:path';
import { Contract } from '../core/service.js';
import type { Scope } from '../core/task.js';
import type { DiskBudget } from './disk-budget.js';
import { ownerHash, type WorkFolders } from './work-folders.js';

/** The folders that tools work in, and the limits for writing to them. */
export type Disk = Readonly<{ folders: WorkFolders; budget: DiskBudget }>;

export const DISK = new Contract<Disk>('workspace');

/** Further folders that commands of an owner may read; they exist. */
export const READABLE_FOLDERS = new Contract<(scope: Scope) => readonly string[]>('folders to read');

/** The folder for files of owners in the data folder: their own, or copies of what another node keeps. */
export function ownersFolder(home: string, of: 'own' | 'copies'): string {
  return join(home, of === 'own' ? 'owners' : 'owners-elsewhere');
}

/** The folder of one owner below `ownersFolder`. */
export const ownerFolder = (owners: string, scope: Scope): string => join(owners, ownerHash(scope));
