import { mkdir, rmdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf } from '../core/errors.js';

/**
 * Makes a folder and those above it that are missing, all of them or none. Rejects with the error of the system.
 * Node's own `recursive` tries for ever where a folder is there and takes none, like /proc; here each is tried once
 * more at most.
 */
export async function makeFolder(folder: string, mode = 0o777): Promise<void> {
  const made: string[] = [];
  try {
    await makeWay(folder, { mode, made });
  } catch (error) {
    for (const each of made) await rmdir(each).catch(() => undefined);
    throw error;
  }
}

interface Making {
  readonly mode: number;
  /** The innermost first. */
  readonly made: string[];
}

async function makeWay(folder: string, making: Making): Promise<void> {
  const { mode, made } = making;
  try {
    await mkdir(folder, { mode }).catch(async (error: unknown) => {
      if (codeOf(error) !== 'ENOENT') throw error;
      await makeWay(dirname(folder), making);
      await mkdir(folder, { mode });
    });
    made.unshift(folder);
  } catch (error) {
    // Another program may have made it meanwhile.
    const found = await stat(folder).catch(() => undefined);
    if (!found?.isDirectory()) throw error;
  }
}
