import { join } from 'node:path';
import { Contract } from '../core/service.js';
import type { Scope } from '../core/task.js';
import { DiskBudget } from './disk-budget.js';
import { ownerHash, WorkFolders } from './work-folders.js';

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

interface DiskSettings {
  /** The data folder. */
  readonly home: string;
  /** The folders that tools work in. */
  readonly workspace: readonly string[];
  /** Limits in MB; 0 for none. */
  readonly disk: {
    readonly workspaces: 'apart' | 'shared';
    readonly taskMb: number;
    readonly ownerMb?: number | undefined;
  };
}

const MIB = 1024 * 1024;
/** The limit of an owner with folders of its own, unless the settings name another. */
const OWN_FOLDERS_MB = 4096;

/** The folders that tools work in. Each owner has separate ones where the settings say so and there may be several owners. */
export function workFolders({ workspace, disk }: DiskSettings, hasSeveralOwners: boolean): WorkFolders {
  return new WorkFolders(workspace, disk.workspaces === 'apart' && hasSeveralOwners);
}

export function openDisk(settings: DiskSettings, hasSeveralOwners: boolean): Disk {
  const { disk, home } = settings;
  const folders = workFolders(settings, hasSeveralOwners);
  const { isApart } = folders;
  const owned = [ownersFolder(home, 'own'), ownersFolder(home, 'copies')];
  const budget = new DiskBudget({
    isApart,
    folders: (scope) => [...folders.of(scope), ...owned.map((folder) => ownerFolder(folder, scope))],
    limits: { task: bytesOf(disk.taskMb), owner: bytesOf(disk.ownerMb ?? (isApart ? OWN_FOLDERS_MB : 0)) },
  });
  return { folders, budget };
}

function bytesOf(mb: number): number {
  return mb === 0 ? Infinity : mb * MIB;
}
