import type { Stats } from 'node:fs';
import { chmod, lstat, opendir, realpath, statfs } from 'node:fs/promises';
import { codeOf } from '../core/errors.js';
import { openPath, type OpenPath } from './open-path.js';

export interface DiskUse {
  readonly bytes: number;
  readonly fresh: number; // The bytes of the files that changed since `MeasureOptions.since`.
}

export interface MeasureOptions {
  /** Milliseconds since the epoch. */
  readonly since: number;
  /** Whether folders without read permission are made readable, so that their content counts too. */
  readonly opensUnreadable: boolean;
  /** Called before each batch of entries; true ends the measurement. */
  readonly isEnough: (use: DiskUse) => boolean;
}

const BLOCK_BYTES = 512;
/** The minimum that an entry counts as, so that the limits bound the number of empty files too. */
export const ENTRY_BYTES = 4096;
const BATCH = 64;
/** The walk holds one file descriptor a level. A folder below the last level counts as larger than any limit. */
const DEPTH_MAX = 256;
const READ_BY_OWNER = 0o700;

/** Adds up the disk space of the files in folders. Follows no symbolic link, also not one that replaces a folder meanwhile. */
export async function measureFolders(folders: readonly string[], options: MeasureOptions): Promise<DiskUse> {
  const { since, opensUnreadable, isEnough } = options;
  const use = { bytes: 0, fresh: 0 };
  const linked = new Set<string>();
  const count = (stats: Stats): void => {
    if (stats.nlink > 1 && !stats.isDirectory()) {
      const id = `${stats.dev}:${stats.ino}`;
      if (linked.has(id)) return;
      linked.add(id);
    }
    const bytes = bytesOnDisk(stats);
    use.bytes += bytes;
    if (stats.ctimeMs >= since) use.fresh += bytes;
  };
  const add = async (at: string, depth: number): Promise<void> => {
    if (depth > DEPTH_MAX) use.bytes = Infinity;
    const folder = await openPath(at, at).catch(() => undefined);
    if (folder === undefined) return;
    try {
      for await (const names of namesIn(folder, opensUnreadable)) {
        if (isEnough(use)) return;
        const paths = names.map((name) => `${folder.at}/${name}`);
        const found = await Promise.all(paths.map((path) => lstat(path).catch(() => undefined)));
        for (const stats of found) if (stats !== undefined) count(stats);
        for (const [index, path] of paths.entries()) {
          if (found[index]?.isDirectory()) await add(path, depth + 1);
        }
      }
    } finally {
      await folder.close();
    }
  };
  for (const folder of folders) {
    const real = await realpath(folder).catch(() => undefined);
    if (real !== undefined) await add(real, 0);
  }
  return use;
}

async function* namesIn(folder: OpenPath, opensUnreadable: boolean): AsyncGenerator<readonly string[]> {
  const opened = await opendir(folder.at)
    .catch(async (error: unknown) => {
      if (codeOf(error) !== 'EACCES' || !opensUnreadable) throw error;
      await chmod(folder.at, READ_BY_OWNER);
      return opendir(folder.at);
    })
    .catch(() => undefined);
  if (opened === undefined) return;
  let batch: string[] = [];
  for await (const { name } of opened) {
    batch.push(name);
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  yield batch;
}

/** Returns the bytes of one entry; at least `ENTRY_BYTES`. */
export const bytesOnDisk = ({ blocks }: Stats): number => Math.max(blocks * BLOCK_BYTES, ENTRY_BYTES);

/** The free bytes of the file systems that hold these folders. A drop may also come from other programs. */
export async function freeBytes(folders: readonly string[]): Promise<number> {
  const found = await Promise.all(folders.map((folder) => statfs(folder).catch(() => undefined)));
  return found.reduce((sum, stats) => sum + (stats ? stats.bavail * stats.bsize : 0), 0);
}
