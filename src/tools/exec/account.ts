import { chown, readdir, realpath, stat } from 'node:fs/promises';
import { LangoError } from '../../core/errors.js';

/** Who commands run as, by the kernel's count, and the folders that are theirs to write. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
  /** Absolute, without symbolic links. */
  readonly roots: readonly string[];
}

const NOBODY = 65534;
const SYSTEM_FOLDERS = ['/usr', '/etc', '/bin', '/sbin', '/lib', '/lib64', '/proc', '/dev', '/sys', '/boot'];

/**
 * An ordinary server shares its own account with its commands. Root does not: commands run as the owner of
 * the first root, and a folder that belongs to root is given to `nobody` while it is empty. Rejects with
 * what to do when it is not empty, or when a root holds or is a part of the system.
 */
export async function prepareAccount(given: readonly string[]): Promise<Account> {
  const roots = await Promise.all(given.map((root) => realpath(root)));
  for (const root of roots) refuseSystem(root);
  const uid = process.getuid?.() ?? NOBODY;
  const gid = process.getgid?.() ?? NOBODY;
  if (uid !== 0) return { uid, gid, roots };
  const account = await ownerOf(roots[0] ?? '/');
  for (const root of roots) await giveAway(root, account);
  return { ...account, roots };
}

function refuseSystem(root: string): void {
  const isSystem =
    root === '/' || SYSTEM_FOLDERS.some((part) => root === part || root.startsWith(`${part}/`));
  if (!isSystem) return;
  throw new LangoError(
    'invalid-config',
    `The workspace ${root} is part of the system: use a folder of its own.`,
  );
}

async function ownerOf(root: string): Promise<{ uid: number; gid: number }> {
  const { uid, gid } = await stat(root);
  return uid === 0 ? { uid: NOBODY, gid: NOBODY } : { uid, gid: gid === 0 ? NOBODY : gid };
}

async function giveAway(root: string, account: { uid: number; gid: number }): Promise<void> {
  if ((await stat(root)).uid !== 0) return;
  if ((await readdir(root)).length > 0) {
    throw new LangoError(
      'unavailable',
      `The workspace ${root} belongs to root, and commands do not run as root: chown -R ${account.uid}:${account.gid} it, or run the server as an ordinary user.`,
    );
  }
  await chown(root, account.uid, account.gid);
}
