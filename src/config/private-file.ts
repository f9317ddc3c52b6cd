import { randomBytes } from 'node:crypto';
import { link, mkdir, open, rename, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf } from '../core/errors.js';
import { errorText, isLangoError, LangoError } from '../core/errors.js';

/** The permission bits of everybody but the owner in a file's mode. */
export const ANYONE_ELSE = 0o077;

/** A file of the data folder that only its owner can read. */
export class PrivateFile {
  readonly path: string;
  readonly #home: string;
  readonly #title: string;

  /** `title` names the file in error messages: "token file". */
  constructor(home: string, name: string, title: string) {
    this.path = join(home, name);
    this.#home = home;
    this.#title = title;
  }

  /**
   * Its content; undefined if there is no such file. Throws `invalid-config` if other users can read it, and `storage` if
   * the folder cannot be used.
   */
  async load(): Promise<string | undefined> {
    try {
      const handle = await open(this.path, 'r');
      try {
        const { mode } = await handle.stat();
        if ((mode & ANYONE_ELSE) !== 0 && process.platform !== 'win32') throw this.#openToOthers();
        return await handle.readFile('utf8');
      } finally {
        await handle.close();
      }
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined;
      throw isLangoError(error) ? error : this.#unusable(error);
    }
  }

  /** Creates the file, unless another process just did. Resolves with its content in both cases. */
  async create(text: string): Promise<string> {
    const draft = await this.#writeDraft(text);
    try {
      await link(draft, this.path);
      return text;
    } catch (error) {
      const winner = codeOf(error) === 'EEXIST' ? await this.load() : undefined;
      if (winner === undefined) throw this.#unusable(error);
      return winner;
    } finally {
      await rm(draft, { force: true }).catch(() => undefined);
    }
  }

  /** Replaces the content in one step: a reader sees the old text or the new one. */
  async replace(text: string): Promise<void> {
    await rename(await this.#writeDraft(text), this.path);
  }

  /** Writes a temporary file next to the final one, so that readers never see a half-written file. */
  async #writeDraft(text: string): Promise<string> {
    const draft = `${this.path}.${process.pid}.${randomBytes(4).toString('hex')}`;
    try {
      await makeFolder(this.#home, 0o700);
      const handle = await open(draft, 'wx', 0o600);
      try {
        await handle.writeFile(text);
        await handle.sync();
      } finally {
        await handle.close();
      }
      return draft;
    } catch (error) {
      throw this.#unusable(error);
    }
  }

  #openToOthers(): LangoError {
    return new LangoError('invalid-config', `The ${this.#title} ${this.path} can be read by other users.`, {
      hint: `Run: chmod 600 ${this.path}`,
    });
  }

  #unusable(cause: unknown): LangoError {
    return new LangoError('storage', `The data folder ${this.#home} cannot be used: ${errorText(cause)}.`, {
      hint: 'Set LANGO_HOME to a folder that you can write to.',
      cause,
    });
  }
}

/**
 * Creates a folder and its missing parents: all of them, or none. Rejects with the error of the system. Node's own
 * `recursive` option retries forever below a folder that allows no entries, such as /proc. This function tries each
 * folder at most twice.
 */
export async function makeFolder(folder: string, mode = 0o777): Promise<void> {
  const made: string[] = [];
  try {
    await makeParents(folder, { mode, made });
  } catch (error) {
    for (const each of made) await rmdir(each).catch(() => undefined);
    throw error;
  }
}

interface FolderCreation {
  readonly mode: number;
  /** The created folders, innermost first. */
  readonly made: string[];
}

async function makeParents(folder: string, creation: FolderCreation): Promise<void> {
  const { mode, made } = creation;
  try {
    await mkdir(folder, { mode }).catch(async (error: unknown) => {
      if (codeOf(error) !== 'ENOENT') throw error;
      await makeParents(dirname(folder), creation);
      await mkdir(folder, { mode });
    });
    made.unshift(folder);
  } catch (error) {
    // Another program may have created it meanwhile.
    const found = await stat(folder).catch(() => undefined);
    if (!found?.isDirectory()) throw error;
  }
}
