import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf } from '../core/causes.js';

/**
 * Makes a folder and those above it that are missing. Rejects with the error of the system. Node's own `recursive`
 * tries for ever where a folder is there and takes none, like /proc; here each is tried once more at most.
 */
export async function makeFolder(folder: string, mode = 0o777): Promise<void> {
  try {
    await mkdir(folder, { mode });
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') return acceptFolder(folder, error);
    await makeFolder(dirname(folder), mode);
    await mkdir(folder, { mode }).catch((again: unknown) => acceptFolder(folder, again));
  }
}

/** Another program may have made it meanwhile. */
async function acceptFolder(folder: string, error: unknown): Promise<void> {
  const found = await stat(folder).catch(() => undefined);
  if (!found?.isDirectory()) throw error;
}
