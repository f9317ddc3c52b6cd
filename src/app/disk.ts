import { join } from 'node:path';
import type { Config } from '../config/config.js';
import { DiskBudget } from '../tools/disk-budget.js';
import { ownedSkillsFolder } from '../tools/skills/index.js';
import { WorkFolders } from '../tools/work-folders.js';

/** The folders that tools work in, and what may be written to them. */
export interface Disk {
  readonly folders: WorkFolders;
  readonly budget: DiskBudget;
}

const MIB = 1024 * 1024;
/** The limit of an owner with folders of its own, unless the configuration names another. */
const OWN_FOLDERS_MB = 4096;

/** Only with these modes may callers be different owners. */
const SEVERAL_OWNERS: readonly Config['auth']['mode'][] = ['jwt', 'mtls'];

export function workFoldersOf({ workspace, auth, disk }: Config): WorkFolders {
  const isApart = disk.workspaces === 'apart' && SEVERAL_OWNERS.includes(auth.mode);
  return new WorkFolders(workspace, isApart);
}

export function createDisk(config: Config): Disk {
  const { home, disk } = config;
  const folders = workFoldersOf(config);
  const { isApart } = folders;
  const owned = ownedSkillsRoot(home);
  const budget = new DiskBudget({
    isApart,
    folders: (scope) => [...folders.of(scope), ownedSkillsFolder(owned, scope)],
    limits: { task: bytesOf(disk.taskMb), owner: bytesOf(disk.ownerMb ?? (isApart ? OWN_FOLDERS_MB : 0)) },
  });
  return { folders, budget };
}

/** The folder of the skills that owners saved. */
export function ownedSkillsRoot(home: string): string {
  return join(home, 'owners');
}

function bytesOf(mb: number): number {
  return mb === 0 ? Infinity : mb * MIB;
}
