import { LangoError } from '../../core/errors.js';
import type { Account } from './account.js';
import { findProgram } from '../programs.js';

/**
 * How a server that is root gets into the sandbox. A bubblewrap that root starts would leave root as the
 * kernel's uid, and one that an ordinary account starts cannot reach a workspace below a folder that is
 * closed to others. So the roots are first bound to an open place, in a mount namespace of this command
 * alone, and then root steps down for good. Each program becomes the next one: a process that dies can
 * only take those with it that it may signal, so nobody without rights may stand between.
 */
export interface Door {
  /** Goes before the command line of the program that runs behind the door, and takes these folders along. */
  prefix(folders: readonly string[]): readonly string[];
  /** Where the folder with this index stands behind the door. */
  folderAt(index: number): string;
}

/** Folders that every system has and that the sandbox needs nothing of. */
const PLACES = ['/mnt', '/media', '/srv', '/opt'];

/** Its arguments: the place, the number of folders, the folders, and the program to become. */
const BIND_SCRIPT = `set -e
place=$1 count=$2 index=0
shift 2
mount -t tmpfs -o mode=755,size=1m tmpfs "$place"
while [ "$index" -lt "$count" ]; do
  mkdir "$place/$index"
  mount --bind "$1" "$place/$index"
  shift
  index=$((index + 1))
done
exec "$@"`;

/** Rejects with `unavailable` when the programs for it are not installed. */
export async function openDoor({ uid, gid, roots }: Account): Promise<Door> {
  const [unshare, setpriv] = await Promise.all(['unshare', 'setpriv'].map(requireProgram));
  const place = PLACES.find((folder) => roots.every((root) => !`${root}/`.startsWith(`${folder}/`)));
  if (place === undefined) {
    throw new LangoError('invalid-config', `The workspace may not lie in all of ${PLACES.join(', ')}.`);
  }
  const account = ['--reuid', String(uid), '--regid', String(gid), '--clear-groups'];
  const nothing = ['--inh-caps=-all', '--bounding-set=-all', '--no-new-privs'];
  const bind = ['/bin/sh', '-c', BIND_SCRIPT, 'sh', place];
  const stepDown = [setpriv!, ...account, ...nothing, '--'];
  return {
    prefix: (folders) => [
      ...[unshare!, '--mount', '--', ...bind, String(folders.length), ...folders],
      ...stepDown,
    ],
    folderAt: (index) => `${place}/${index}`,
  };
}

async function requireProgram(name: string): Promise<string> {
  const path = await findProgram(name);
  if (path !== undefined) return path;
  throw new LangoError('unavailable', `${name} is not installed: apt install util-linux.`);
}
