import { randomUUID } from 'node:crypto';
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The end of the name of each temporary file. */
export const TEMPORARY_SUFFIX = '.lango-new';

/**
 * Records the temporary files of writes in a folder of the server. When the server is killed, the next start removes the
 * temporary files from the workspaces, also if the calls that wrote them are never repeated.
 */
export class UnfinishedWrites {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Records a temporary file. Resolves with a function that deletes the record. */
  async record(path: string): Promise<() => Promise<void>> {
    const entry = join(this.#folder, randomUUID());
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await writeFile(entry, path, { mode: 0o600 });
    return () => rm(entry, { force: true });
  }

  /** Removes the recorded files. Call it before the first write. */
  async removeLeft(): Promise<void> {
    const entries = await readdir(this.#folder).catch(() => []);
    for (const entry of entries.map((name) => join(this.#folder, name))) {
      const path = await readFile(entry, 'utf8');
      if (path.endsWith(TEMPORARY_SUFFIX)) await rm(path, { force: true });
      await rm(entry, { force: true });
    }
  }
}
