import { chown, readdir, realpath, stat } from 'node:fs/promises';
import { LangoError } from '../../../core/errors.js';
import { droppedRights, findProgram } from '../../../disk/programs.js';

/** The user and group ids that commands run as, and the folders they may write to: absolute, without symbolic links. */
export type Account = Awaited<ReturnType<typeof prepareAccount>>;

const NOBODY = 65534;
const SYSTEM_FOLDERS = ['/usr', '/etc', '/bin', '/sbin', '/lib', '/lib64', '/proc', '/dev', '/sys', '/boot'];

/**
 * Determines the account that commands run as. A server that is not root runs them under its own account. A root server
 * runs them as the owner of the first root; an empty root folder that belongs to root is handed over to `nobody`.
 * Rejects with advice when such a folder is not empty, or when a root is a system folder or inside one.
 */
export async function prepareAccount(given: readonly string[]) {
  const roots = await Promise.all(given.map((root) => realpath(root)));
  const isSystem = (root: string) =>
    root === '/' || SYSTEM_FOLDERS.some((part) => root === part || root.startsWith(`${part}/`));
  const system = roots.find(isSystem);
  if (system !== undefined)
    throw new LangoError(
      'invalid-config',
      `The workspace ${system} is a system folder. Use a separate folder.`,
    );
  const uid = process.getuid?.() ?? NOBODY;
  const gid = process.getgid?.() ?? NOBODY;
  if (uid !== 0) return { uid, gid, roots };
  const owner = await stat(roots[0] ?? '/');
  const account =
    owner.uid === 0
      ? { uid: NOBODY, gid: NOBODY }
      : { uid: owner.uid, gid: owner.gid === 0 ? NOBODY : owner.gid };
  for (const root of roots) await transferOwnership(root, account);
  return { ...account, roots };
}

async function transferOwnership(root: string, account: { uid: number; gid: number }): Promise<void> {
  if ((await stat(root)).uid !== 0) return;
  if ((await readdir(root)).length > 0) {
    const advice = `Run chown -R ${account.uid}:${account.gid} ${root}, or run the server as an ordinary user.`;
    const problem = `The workspace ${root} belongs to root, and commands do not run as root.`;
    throw new LangoError('unavailable', `${problem} ${advice}`);
  }
  await chown(root, account.uid, account.gid);
}

/**
 * The way of a root server into the sandbox. If root started bubblewrap, commands would keep root as the kernel's uid; if an
 * ordinary account started it, a workspace below a folder that is closed to others would be out of reach. So the roots
 * are first bind-mounted to an open folder, in a mount namespace of this command alone, and then root drops its
 * privileges for good. Each program replaces the one before (exec): a process without rights in between could not
 * signal its child when it dies.
 */
export type PrivilegeDrop = Awaited<ReturnType<typeof preparePrivilegeDrop>>;

/** Folders that exist on every system and that the sandbox does not need: one of them becomes the mount point. */
const MOUNT_PARENTS = ['/mnt', '/media', '/srv', '/opt'];

/** Arguments: the mount point, the number of folders, the folders, and the program to execute. */
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

/** Rejects with `unavailable` when unshare or setpriv is not installed. */
export async function preparePrivilegeDrop({ uid, gid, roots }: Account) {
  const [unshare, setpriv] = await Promise.all(['unshare', 'setpriv'].map(requireProgram));
  const mountPoint = MOUNT_PARENTS.find((folder) =>
    roots.every((root) => !`${root}/`.startsWith(`${folder}/`)),
  );
  if (mountPoint === undefined) {
    const problem = `The workspace roots lie in all of ${MOUNT_PARENTS.join(', ')}`;
    throw new LangoError('invalid-config', `${problem}, and one of these must stay free. Move a root.`);
  }
  const bind = ['/bin/sh', '-c', BIND_SCRIPT, 'sh', mountPoint];
  const stepDown = [setpriv!, ...droppedRights(uid, gid), '--'];
  return {
    /** The command line prefix that mounts these folders and drops privileges. */
    commandPrefix: (folders: readonly string[]) => [
      ...[unshare!, '--mount', '--', ...bind, String(folders.length), ...folders],
      ...stepDown,
    ],
    /** The path where the folder with this index is mounted. */
    mountPointOf: (index: number) => `${mountPoint}/${index}`,
  };
}

async function requireProgram(name: string): Promise<string> {
  const path = await findProgram(name);
  if (path !== undefined) return path;
  throw new LangoError('unavailable', `${name} is not installed. Run: apt install util-linux.`);
}
