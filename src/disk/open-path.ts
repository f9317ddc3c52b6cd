import { constants, existsSync, type Stats } from 'node:fs';
import { lstat, open } from 'node:fs/promises';

/** A file, folder or link of the workspace, held open, so that what was checked is what is used. */
export interface OpenPath {
  /** A path for system calls to this very object, or into this very folder, even if it is renamed or replaced. */
  readonly at: string;
  /** The absolute path, without symbolic links, at which the object was found. */
  readonly path: string;
  readonly stats: Stats;
  /** Closes the handle. May be called more than once. */
  close(): Promise<void>;
}

/** O_PATH opens the name only: it starts no device and does not wait for a FIFO. Node.js has no constant for it. */
const O_PATH = 0o10000000;
const HAS_PATH_HANDLES = process.platform === 'linux' && existsSync('/proc/self/fd');

/**
 * Opens the object at `at` without following a symbolic link. Rejects with the system's error. On systems without path
 * handles, `at` remains a plain path and only the type of the object is checked.
 */
export async function openPath(at: string, path: string): Promise<OpenPath> {
  if (!HAS_PATH_HANDLES) return { at, path, stats: await lstat(at), close: async () => {} };
  const handle = await open(at, O_PATH | constants.O_NOFOLLOW);
  try {
    const stats = await handle.stat();
    return { at: `/proc/self/fd/${handle.fd}`, path, stats, close: () => handle.close() };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** The owner of a new entry when the server is root: that of the folder, which sandboxed commands run as. */
export function ownerOfNewEntry(
  folder: OpenPath,
): { readonly uid: number; readonly gid: number } | undefined {
  return process.getuid?.() === 0 ? folder.stats : undefined;
}
