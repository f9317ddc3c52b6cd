import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { createRequire } from 'node:module';

/** Not PATH: what runs with the server's rights is found where only an administrator can put it. */
const FOLDERS = ['/usr/bin', '/bin', '/usr/local/bin'];

/** The absolute path of a system program, undefined when there is none. */
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

/** Whether a package that lango can do without is there. */
export function isInstalled(name: string): boolean {
  try {
    createRequire(import.meta.url).resolve(name);
    return true;
  } catch {
    return false;
  }
}
