import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { codeOf } from '../core/errors.js';

/** Fixed folders instead of PATH: an administrator must have installed a program that runs with the server's rights. */
const FOLDERS = ['/usr/bin', '/bin', '/usr/local/bin'];

/** Finds a system program. Resolves with its absolute path, or undefined. */
export async function findProgram(name: string): Promise<string | undefined> {
  for (const folder of FOLDERS) {
    const path = `${folder}/${name}`;
    if (await isExecutable(path)) return path;
  }
  return undefined;
}

export function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

export function isInstalled(name: string): boolean {
  try {
    createRequire(import.meta.url).resolve(name);
    return true;
  } catch {
    return false;
  }
}

/** The arguments by which `setpriv` gives up the rights of root for good, to run a program as this account. */
export function droppedRights(uid: number, gid: number): readonly string[] {
  const account = ['--reuid', String(uid), '--regid', String(gid), '--clear-groups'];
  return [...account, '--inh-caps=-all', '--bounding-set=-all', '--no-new-privs'];
}

/** Whether a process with this id runs, also one of another user. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}
