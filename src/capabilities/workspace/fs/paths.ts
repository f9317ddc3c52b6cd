import { z } from 'zod';
import { codeOf, isLangoError, LangoError, type ErrorCode } from '../../../core/errors.js';

/** A path argument of a tool call, as the model gave it. */
export interface PathArgument {
  readonly name: string;
  readonly value: string;
}

const PATH = withoutNul(4_096).min(1);

/** A text that the operating system accepts: at most `longest` characters, none of them NUL. */
export function withoutNul(longest: number): z.ZodString {
  return z
    .string()
    .max(longest)
    .regex(/^[^\0]*$/, 'must not contain a NUL character');
}

/** A path. Its description need not say that paths are relative to the workspace, because the prompt does. */
export function pathField(description?: string): z.ZodString {
  return description === undefined ? PATH : PATH.describe(description);
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

/** For a promise of a path: resolves with undefined if the path does not exist, and rejects with other errors. */
export function undefinedIfMissing(error: unknown): undefined {
  if (!isLangoError(error, 'not-found')) throw error;
}

/** Translates a system error into a sentence about `subject`, for the model. Returns other errors unchanged. */
export function explainFailure(error: unknown, subject: string): unknown {
  const { syscall } = (error ?? {}) as Partial<NodeJS.ErrnoException>;
  const code = codeOf(error);
  if (syscall === undefined || code === undefined) return error;
  const [kind, sentence] = PROBLEMS_BY_CODE[code] ?? ['tool', `the system refused it (${code})`];
  return new LangoError(kind, `${subject}: ${sentence}.`, { cause: error });
}
