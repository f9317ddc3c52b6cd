import { constants, existsSync, type Stats } from 'node:fs';
import { lstat, open } from 'node:fs/promises';
import { z } from 'zod';
import { codeOf, LangoError, type ErrorCode } from '../../core/errors.js';

/** Something that exists in the workspace, held open: what was checked is what is used. */
export interface OpenPath {
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

/**
 * Whom something new in `folder` has to belong to when the server is root: the folder's owner, which is the
 * account that sandboxed commands run as. Undefined for an ordinary server.
 */
export function ownerOfNewEntry(
  folder: OpenPath,
): { readonly uid: number; readonly gid: number } | undefined {
  return process.getuid?.() === 0 ? folder.stats : undefined;
}

/** An argument of a call that names a path, as it was given. */
export interface PathArgument {
  readonly name: string;
  readonly value: string;
}

const PATH_MAX_LENGTH = 4096;

const PATH = z
  .string()
  .min(1)
  .max(PATH_MAX_LENGTH)
  .regex(/^[^\0]*$/, 'must not hold a NUL character');

export function pathField(description: string): z.ZodString {
  return PATH.describe(`${description}, relative to the workspace`);
}

export function pathArgument(value: string): PathArgument {
  return { name: 'path', value };
}

/** What the system says, by its code: our code and the rest of a sentence about a path. */
const PROBLEMS_BY_CODE: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  EACCES: ['forbidden', 'the server may not do that there'],
  EPERM: ['forbidden', 'the server may not do that there'],
  EROFS: ['forbidden', 'it is on a read-only file system'],
  EBUSY: ['conflict', 'it is in use'],
  EEXIST: ['conflict', 'it already exists'],
  EINVAL: ['invalid-input', 'the system refuses it (a folder cannot be moved into itself)'],
  EISDIR: ['invalid-input', 'it is a folder'],
  ELOOP: ['invalid-input', 'its links lead in a circle'],
  EMFILE: ['unavailable', 'too many files are open; try again'],
  ENAMETOOLONG: ['invalid-input', 'the name is too long; 255 bytes are allowed'],
  ENOENT: ['not-found', 'it does not exist; fs_list shows what there is'],
  ENOSPC: ['unavailable', 'the disk is full'],
  EDQUOT: ['unavailable', 'the disk quota is used up'],
  ENOTDIR: ['invalid-input', 'a part of it is not a folder'],
  ENOTEMPTY: ['conflict', 'the folder is not empty'],
  EXDEV: ['not-supported', 'it is on another file system; write the content there and delete it here'],
};

/** Turns a system error into one for the model; `subject` names argument and value. Others pass. */
export function explainFailure(error: unknown, subject: string): unknown {
  const { syscall } = (error ?? {}) as Partial<NodeJS.ErrnoException>;
  const code = codeOf(error);
  if (syscall === undefined || code === undefined) return error;
  const [kind, sentence] = PROBLEMS_BY_CODE[code] ?? ['tool', `the system refused it (${code})`];
  return new LangoError(kind, `${subject}: ${sentence}.`, { cause: error });
}
