import { DiskBudget } from '../../src/disk/disk-budget.js';
import { WorkFolders } from '../../src/disk/work-folders.js';

/** Folders that all owners share, without a limit. */
export function sharedDisk(...roots: string[]) {
  const folders = new WorkFolders(roots, false);
  const budget = new DiskBudget({
    limits: { owner: Infinity, task: Infinity },
    folders: (scope) => folders.of(scope),
    isApart: false,
  });
  return { folders, budget };
}
