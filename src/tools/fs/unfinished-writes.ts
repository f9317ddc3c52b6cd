import { randomUUID } from 'node:crypto';
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The end of the name of each temporary file. */
export const NEW_SUFFIX = '.lango-new';

/**
 * Notes the temporary files of writes in a folder of the server. What a kill leaves in a workspace is removed at the next
 * start, also when the call that wrote it is never repeated.
 */
export class UnfinishedWrites {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Notes a file, and returns a function that forgets it. */
  async note(path: string): Promise<() => Promise<void>> {
    const entry = join(this.#folder, randomUUID());
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await writeFile(entry, path, { mode: 0o600 });
    return () => rm(entry, { force: true });
  }

  /** Removes the noted files. Call it before the first write. */
  async removeLeft(): Promise<void> {
    const entries = await readdir(this.#folder).catch(() => []);
    for (const entry of entries.map((name) => join(this.#folder, name))) {
      const path = await readFile(entry, 'utf8');
      if (path.endsWith(NEW_SUFFIX)) await rm(path, { force: true });
      await rm(entry, { force: true });
    }
  }
}
