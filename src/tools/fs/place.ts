import { constants, existsSync, type Stats } from 'node:fs';
import { lstat, open } from 'node:fs/promises';

/** Something that exists in the workspace, held open: what was checked is what is used. */
export interface Place {
  /**
   * A path to this very thing for system calls, whatever becomes of its name meanwhile. With a name added
   * it is a path in this very folder.
   */
  readonly at: string;
  /** The absolute path, without symbolic links, by which it was found. */
  readonly path: string;
  readonly stats: Stats;
  /** May be called again. */
  close(): Promise<void>;
}

/** Opens nothing but the name: no device wakes up and no FIFO waits. Node.js has no constant for it. */
const O_PATH = 0o10000000;
const HAS_PATH_HANDLES = process.platform === 'linux' && existsSync('/proc/self/fd');

/**
 * Holds what stands at `at` itself: a symbolic link is not followed. Rejects with the system's error.
 * Where the system has no such handles, `at` is the path and only its type is checked.
 */
export async function holdPlace(at: string, path: string): Promise<Place> {
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

/**
 * Whom something new in `folder` has to belong to when the server is root: the folder's owner, which is the
 * account that sandboxed commands run as. Undefined for an ordinary server.
 */
export function ownerFor(folder: Place): { readonly uid: number; readonly gid: number } | undefined {
  return process.getuid?.() === 0 ? folder.stats : undefined;
}
