import { codeOf } from '../../core/causes.js';
import { LangoError, type ErrorCode } from '../../core/errors.js';

/** What the system says, by its code: our code and the rest of a sentence about a path. */
const SENTENCES: Readonly<Record<string, readonly [ErrorCode, string]>> = {
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
  const [kind, sentence] = SENTENCES[code] ?? ['tool', `the system refused it (${code})`];
  return new LangoError(kind, `${subject}: ${sentence}.`, { cause: error });
}
