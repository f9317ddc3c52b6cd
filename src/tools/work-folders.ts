import { createHash } from 'node:crypto';
import { lchown, lstat, mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, LangoError } from '../core/errors.js';
import { scopeKey, type Scope } from '../core/task.js';

const PREFIX_LENGTH = 24;
/** Only the account of the server, which is also that of its commands. */
const OWN_FOLDER_MODE = 0o700;

/** The folders that the tools of an owner work in. Absolute, at least one; relative paths begin in the first. */
export class WorkFolders {
  /** Whether each owner has folders of its own, which no other owner's tools can reach. */
  readonly isApart: boolean;

  readonly #roots: readonly string[];

  constructor(roots: readonly string[], isApart: boolean) {
    this.#roots = roots;
    this.isApart = isApart;
  }

  /** The folders that all owners share; none when the owners are apart. */
  get shared(): readonly string[] {
    return this.isApart ? [] : this.#roots;
  }

  /** Lists the folders of this owner, which may not exist yet. */
  of(scope: Scope): readonly string[] {
    return this.isApart ? this.#roots.map((root) => join(root, ownFolderName(scope))) : this.#roots;
  }

  /** Like `of`, and makes the owner's own folders. Rejects with `unavailable` when one is missing or is not a folder. */
  async open(scope: Scope): Promise<readonly string[]> {
    if (this.isApart) await Promise.all(this.#roots.map((root) => makeOwnFolder(root, ownFolderName(scope))));
    return this.of(scope);
  }
}

/** A text that no two owners share, safe as a part of a file name: 32 hex digits. */
export function ownerHash(scope: Scope): string {
  return createHash('sha256').update(scopeKey(scope)).digest('hex').slice(0, 32);
}

/** The hash alone names the owner; what stands before it is for the people who look at the disk. */
function ownFolderName(scope: Scope): string {
  const readable = scope.owner.toLowerCase().replace(/[^a-z0-9]+/g, '-');
  return `${readable.slice(0, PREFIX_LENGTH)}-${ownerHash(scope)}`.replace(/^-+/, '');
}

async function makeOwnFolder(root: string, name: string): Promise<void> {
  const folder = join(root, name);
  try {
    await mkdir(folder, { mode: OWN_FOLDER_MODE });
  } catch (cause) {
    if (codeOf(cause) !== 'EEXIST')
      throw new LangoError('unavailable', 'The workspace folder is missing.', { cause });
  }
  const [made, { uid, gid }] = await Promise.all([lstat(folder), stat(root)]);
  if (!made.isDirectory()) {
    throw new LangoError('unavailable', `${name} in the workspace is not a folder.`, {
      hint: 'The operator of the server must remove it.',
    });
  }
  // A root server runs commands as the owner of the root.
  if (process.getuid?.() === 0 && made.uid !== uid) await lchown(folder, uid, gid);
}
