import { randomBytes } from 'node:crypto';
import { link, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, errorText, isLangoError, LangoError } from '../core/errors.js';
import { makeFolder } from './make-folder.js';

/** The rights of all but the owner in a file's mode. */
export const ANYONE_ELSE = 0o077;

/** A file of the data folder that only its owner may read. */
export class OwnFile {
  readonly path: string;
  readonly #home: string;
  readonly #title: string;

  /** `title` is how a sentence speaks of it: "token file". */
  constructor(home: string, name: string, title: string) {
    this.path = join(home, name);
    this.#home = home;
    this.#title = title;
  }

  /**
   * The text in it; undefined when there is no such file. Throws `invalid-config` for one that others can read, and
   * `storage` when the folder cannot be used.
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

  /** Makes it; the text of another process that was faster counts. Resolves with what stands in it then. */
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

  async replace(text: string): Promise<void> {
    await rename(await this.#writeDraft(text), this.path);
  }

  /** Written beside and moved into place, so that nobody ever reads half a file. */
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
