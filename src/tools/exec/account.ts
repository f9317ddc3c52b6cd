import { chown, readdir, realpath, stat } from 'node:fs/promises';
import { LangoError } from '../../core/errors.js';
import { findProgram } from '../programs.js';

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
  for (const root of roots) assertNotSystem(root);
  const uid = process.getuid?.() ?? NOBODY;
  const gid = process.getgid?.() ?? NOBODY;
  if (uid !== 0) return { uid, gid, roots };
  const account = await ownerOf(roots[0] ?? '/');
  for (const root of roots) await transferOwnership(root, account);
  return { ...account, roots };
}

function assertNotSystem(root: string): void {
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

async function transferOwnership(root: string, account: { uid: number; gid: number }): Promise<void> {
  if ((await stat(root)).uid !== 0) return;
  if ((await readdir(root)).length > 0) {
    throw new LangoError(
      'unavailable',
      `The workspace ${root} belongs to root, and commands do not run as root: chown -R ${account.uid}:${account.gid} it, or run the server as an ordinary user.`,
    );
  }
  await chown(root, account.uid, account.gid);
}

/**
 * How a server that is root gets into the sandbox. A bubblewrap that root starts would leave root as the
 * kernel's uid, and one that an ordinary account starts cannot reach a workspace below a folder that is
 * closed to others. So the roots are first bound to an open mountPoint, in a mount namespace of this command
 * alone, and then root steps down for good. Each program becomes the next one: a process that dies can
 * only take those with it that it may signal, so nobody without rights may stand between.
 */
export interface PrivilegeDrop {
  /** Goes before the command line of the program that runs behind the privilegeDrop, and takes these folders along. */
  commandPrefix(folders: readonly string[]): readonly string[];
  /** Where the folder with this index stands behind the privilegeDrop. */
  mountPointOf(index: number): string;
}

/** Folders that every system has and that the sandbox needs nothing of. */
const MOUNT_PARENTS = ['/mnt', '/media', '/srv', '/opt'];

/** Its arguments: the mountPoint, the number of folders, the folders, and the program to become. */
const BIND_SCRIPT = `set -e
mountPoint=$1 count=$2 index=0
shift 2
mount -t tmpfs -o mode=755,size=1m tmpfs "$mountPoint"
while [ "$index" -lt "$count" ]; do
  mkdir "$mountPoint/$index"
  mount --bind "$1" "$mountPoint/$index"
  shift
  index=$((index + 1))
done
exec "$@"`;

/** Rejects with `unavailable` when the programs for it are not installed. */
export async function preparePrivilegeDrop({ uid, gid, roots }: Account): Promise<PrivilegeDrop> {
  const [unshare, setpriv] = await Promise.all(['unshare', 'setpriv'].map(requireProgram));
  const mountPoint = MOUNT_PARENTS.find((folder) =>
    roots.every((root) => !`${root}/`.startsWith(`${folder}/`)),
  );
  if (mountPoint === undefined) {
    throw new LangoError(
      'invalid-config',
      `The workspace may not lie in all of ${MOUNT_PARENTS.join(', ')}.`,
    );
  }
  const account = ['--reuid', String(uid), '--regid', String(gid), '--clear-groups'];
  const nothing = ['--inh-caps=-all', '--bounding-set=-all', '--no-new-privs'];
  const bind = ['/bin/sh', '-c', BIND_SCRIPT, 'sh', mountPoint];
  const stepDown = [setpriv!, ...account, ...nothing, '--'];
  return {
    commandPrefix: (folders) => [
      ...[unshare!, '--mount', '--', ...bind, String(folders.length), ...folders],
      ...stepDown,
    ],
    mountPointOf: (index) => `${mountPoint}/${index}`,
  };
}

async function requireProgram(name: string): Promise<string> {
  const path = await findProgram(name);
  if (path !== undefined) return path;
  throw new LangoError('unavailable', `${name} is not installed: apt install util-linux.`);
}
