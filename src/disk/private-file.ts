import { randomBytes } from 'node:crypto';
import { access, link, mkdir, mkdtemp, open, rename, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf, errorText, isLangoError, LangoError } from '../core/errors.js';

export const NO_SUCH_FILE: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG']);

/** The bits of a file's mode that give permissions to its group and to other users. */
export const OTHERS_PERMISSIONS = 0o077;

interface PrivateFileOptions {
  readonly title: string; // Names the file in error messages: "token file".
  readonly hint: string;
  readonly createsFolder: boolean;
}

/** A file that only its owner can read. Writes resolve once they are durable. */
export class PrivateFile {
  readonly path: string;
  readonly #options: PrivateFileOptions;

  constructor(path: string, options: PrivateFileOptions) {
    this.path = path;
    this.#options = options;
  }

  /** Returns the file whose path is this one's followed by `suffix`. */
  withSuffix(suffix: string): PrivateFile {
    return new PrivateFile(`${this.path}${suffix}`, this.#options);
  }

  /** Undefined if there is no such file. Throws `unavailable` if other users can read it, and `storage` on any failure. */
  async load(): Promise<string | undefined> {
    try {
      await using handle = await open(this.path, 'r');
      const { mode } = await handle.stat();
      if ((mode & OTHERS_PERMISSIONS) !== 0 && process.platform !== 'win32') {
        const text = `The ${this.#options.title} ${this.path} can be read by other users.`;
        throw new LangoError('unavailable', text, { hint: `Run: chmod 600 ${this.path}` });
      }
      return await handle.readFile('utf8');
    } catch (error) {
      if (NO_SUCH_FILE.has(codeOf(error) ?? '')) return undefined;
      throw isLangoError(error) ? error : this.#unusable(error);
    }
  }

  /** Creates the file, unless another process just did. Resolves with its content in both cases. */
  async create(text: string): Promise<string> {
    const draft = await this.#writeDraft(text);
    try {
      await link(draft, this.path);
      await this.#syncFolder();
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
    const draft = await this.#writeDraft(text);
    try {
      await rename(draft, this.path);
      await this.#syncFolder();
    } catch (error) {
      throw this.#unusable(error);
    }
  }

  async remove(): Promise<void> {
    await rm(this.path, { force: true });
  }

  /** Writes a temporary file next to the final one, so that readers never see a half-written file. */
  async #writeDraft(text: string): Promise<string> {
    const draft = `${this.path}.${process.pid}.${randomBytes(4).toString('hex')}`;
    try {
      if (this.#options.createsFolder) await makeFolder(dirname(this.path), 0o700);
      await using handle = await open(draft, 'wx', 0o600);
      await handle.writeFile(text);
      await handle.sync();
      return draft;
    } catch (error) {
      throw this.#unusable(error);
    }
  }

  async #syncFolder(): Promise<void> {
    await using folder = await open(dirname(this.path), 'r');
    await folder.sync();
  }

  #unusable(cause: unknown): LangoError {
    const { title, hint } = this.#options;
    const message = `The ${title} ${this.path} cannot be used: ${errorText(cause)}.`;
    return new LangoError('storage', message, { hint, cause });
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
    for (const created of made) await rmdir(created).catch(() => undefined);
    throw error;
  }
}

/** Says why a folder can neither be written to nor created, without a full stop; undefined when it can. Tries to write. */
export async function folderProblem(folder: string): Promise<string | undefined> {
  let existing = folder;
  try {
    existing = await nearestExisting(folder);
    if (!(await stat(existing)).isDirectory()) return `${existing} is not a folder`;
    await rmdir(await mkdtemp(join(existing, '.lango-check-')));
    return undefined;
  } catch (error) {
    return `${existing} cannot be written by this user: ${errorText(error)}`;
  }
}

async function nearestExisting(folder: string): Promise<string> {
  try {
    await access(folder);
    return folder;
  } catch (error) {
    if (!['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '')) throw error;
    return nearestExisting(dirname(folder));
  }
}

/** Adds the created folders to `made`, the innermost first. */
async function makeParents(folder: string, creation: { mode: number; made: string[] }): Promise<void> {
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
