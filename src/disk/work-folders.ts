import { createHash } from 'node:crypto';
import { lchown, lstat, mkdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, LangoError } from '../core/errors.js';
import { scopeKey, type Scope } from '../core/task.js';

const PREFIX_LENGTH = 24;
/** Only the server's account may enter the folder. Commands run under the same account. */
const OWN_FOLDER_MODE = 0o700;

/** The folders that tools work in: at least one, all absolute. Relative paths start in the first. */
export class WorkFolders {
  /** Whether each owner has separate folders, which the tools of other owners cannot reach. */
  readonly isApart: boolean;

  readonly roots: readonly string[];

  constructor(roots: readonly string[], isApart: boolean) {
    this.roots = roots;
    this.isApart = isApart;
  }

  /** The folders that all owners share; empty when each owner has separate ones. */
  get shared(): readonly string[] {
    return this.isApart ? [] : this.roots;
  }

  /** Lists the folders of this owner, which may not exist yet. */
  of(scope: Scope): readonly string[] {
    return this.isApart ? this.roots.map((root) => join(root, ownFolderName(scope))) : this.roots;
  }

  /** Like `of`, and creates the owner's folders. Rejects with `unavailable` when a root is missing or no folder. */
  async open(scope: Scope): Promise<readonly string[]> {
    if (this.isApart) await Promise.all(this.roots.map((root) => makeOwnFolder(root, ownFolderName(scope))));
    return this.of(scope);
  }

  /** Like `open`, and resolves with their real paths. */
  async openReal(scope: Scope): Promise<readonly string[]> {
    const folders = await this.open(scope);
    return Promise.all(folders.map((folder) => realpath(folder))).catch((cause: unknown) => {
      throw missingWorkspace(cause);
    });
  }
}

/** Returns 32 hex digits that are unique to the owner and safe in a file name. */
export function ownerHash(scope: Scope): string {
  return createHash('sha256').update(scopeKey(scope)).digest('hex').slice(0, 32);
}

/** Only the hash identifies the owner. The prefix helps people who look at the disk. */
function ownFolderName(scope: Scope): string {
  const readable = scope.owner.toLowerCase().replace(/[^a-z0-9]+/g, '-');
  return `${readable.slice(0, PREFIX_LENGTH)}-${ownerHash(scope)}`.replace(/^-+/, '');
}

function missingWorkspace(cause: unknown): LangoError {
  const hint = 'The operator of the server must create it; workspace in the configuration names it.';
  return new LangoError('unavailable', 'The workspace folder is missing.', { hint, cause });
}

async function makeOwnFolder(root: string, name: string): Promise<void> {
  const folder = join(root, name);
  try {
    await mkdir(folder, { mode: OWN_FOLDER_MODE });
  } catch (cause) {
    if (codeOf(cause) !== 'EEXIST') throw missingWorkspace(cause);
  }
  const [made, { uid, gid }] = await Promise.all([lstat(folder), stat(root)]);
  if (!made.isDirectory()) {
    const hint = 'The operator of the server must remove it.';
    throw new LangoError('unavailable', `${name} in the workspace is not a folder.`, { hint });
  }
  // A root server runs commands as the owner of the root.
  if (process.getuid?.() === 0 && made.uid !== uid) await lchown(folder, uid, gid);
}
