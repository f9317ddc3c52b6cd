import { constants, existsSync, type Stats } from 'node:fs';
import { lstat, open } from 'node:fs/promises';
import { z } from 'zod';
import { codeOf, LangoError, type ErrorCode } from '../../core/errors.js';

/** A file, folder or link of the workspace, held open, so that what was checked is what is used. */
export interface OpenPath {
  /**
   * A path to this very object for system calls, even if it is renamed or replaced. With a name appended, it is a path
   * inside this very folder.
   */
  readonly at: string;
  /** The absolute path, without symbolic links, at which the object was found. */
  readonly path: string;
  readonly stats: Stats;
  /** Closes the handle. May be called more than once. */
  close(): Promise<void>;
}

/** O_PATH opens the name only: it wakes no device and waits for no FIFO. Node.js has no constant for it. */
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

/**
 * The owner of a new entry in `folder` when the server is root: the owner of the folder, which is the account that
 * sandboxed commands run as. Undefined for an ordinary server.
 */
export function ownerOfNewEntry(
  folder: OpenPath,
): { readonly uid: number; readonly gid: number } | undefined {
  return process.getuid?.() === 0 ? folder.stats : undefined;
}

/** A path argument of a tool call, as the model gave it. */
export interface PathArgument {
  readonly name: string;
  readonly value: string;
}

const PATH_MAX_LENGTH = 4096;

const PATH = z
  .string()
  .min(1)
  .max(PATH_MAX_LENGTH)
  .regex(/^[^\0]*$/, 'must not contain a NUL character');

export function pathField(description: string): z.ZodString {
  return PATH.describe(`${description}, relative to the workspace`);
}

export function pathArgument(value: string): PathArgument {
  return { name: 'path', value };
}

/** For each system error code: our error code and the predicate of a sentence about a path. */
const PROBLEMS_BY_CODE: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  EACCES: ['forbidden', 'the server has no permission for this'],
  EPERM: ['forbidden', 'the server has no permission for this'],
  EROFS: ['forbidden', 'it is on a read-only file system'],
  EBUSY: ['conflict', 'it is in use'],
  EEXIST: ['conflict', 'it already exists'],
  EINVAL: ['invalid-input', 'the system refuses it (a folder cannot be moved into itself)'],
  EISDIR: ['invalid-input', 'it is a folder'],
  ELOOP: ['invalid-input', 'its symbolic links form a loop'],
  EMFILE: ['unavailable', 'too many files are open; try again'],
  ENAMETOOLONG: ['invalid-input', 'the name is too long; 255 bytes are allowed'],
  ENOENT: ['not-found', 'it does not exist; call fs_list to see the existing files'],
  ENOSPC: ['unavailable', 'the disk is full'],
  EDQUOT: ['unavailable', 'the disk quota is used up'],
  ENOTDIR: ['invalid-input', 'a part of it is not a folder'],
  ENOTEMPTY: ['conflict', 'the folder is not empty'],
  EXDEV: ['not-supported', 'it is on another file system; write the content there and delete the original'],
};

/**
 * Translates a system error for the model; `subject` names the argument and its value. Returns other errors unchanged.
 */
export function explainFailure(error: unknown, subject: string): unknown {
  const { syscall } = (error ?? {}) as Partial<NodeJS.ErrnoException>;
  const code = codeOf(error);
  if (syscall === undefined || code === undefined) return error;
  const [kind, sentence] = PROBLEMS_BY_CODE[code] ?? ['tool', `the system refused it (${code})`];
  return new LangoError(kind, `${subject}: ${sentence}.`, { cause: error });
}
