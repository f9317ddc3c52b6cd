import { existsSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { LangoError } from '../../core/errors.js';

/** The real path of a file, so that links to the same database share one lock. */
export function realFile(file: string): string {
  return existsSync(file) ? realpathSync(file) : join(realpathSync(dirname(file)), basename(file));
}

/** The endings of the files of an open database: the database, its write-ahead log, the log's index, our lock. */
const ENDINGS = ['', '-wal', '-shm', '.lock'] as const;
/** File systems stamp changes in steps of a few milliseconds, so a fresh stamp may hide a second change. */
const STAMP_STEP_MS = 50;

/** Watches the files of an open database: SQLite writes on into files that were removed, and loses those writes at the end. */
export class DatabaseFiles {
  readonly #folder: string;
  /** The files with their identities, as of the start. */
  readonly #known: readonly { readonly path: string; readonly identity: string | undefined }[];
  /** When an entry of the folder last changed, as of the last check that looked at each file. */
  #unchangedSince = 0;

  /** `file` must be open, in WAL mode. */
  constructor(file: string) {
    const real = realFile(file);
    this.#folder = dirname(real);
    const paths = ENDINGS.map((ending) => real + ending);
    this.#known = paths.map((path) => ({ path, identity: identityOf(path) }));
  }

  /** Throws `LangoError` `storage` if one of the files is not the one that was opened. Takes 3 µs. */
  assertInPlace(): void {
    const changedAt = statSync(this.#folder, { throwIfNoEntry: false })?.ctimeMs ?? Infinity;
    if (changedAt === this.#unchangedSince) return;
    const moved = this.#known.find(({ path, identity }) => identityOf(path) !== identity);
    if (moved) {
      const text = `${basename(moved.path)} was removed or replaced while the server uses it.`;
      const hint =
        'Nothing is stored until the same file is back. Save what the server still holds (its answers and streams), ' +
        'stop it, put the file or a backup in place, and start it again.';
      throw new LangoError('storage', text, { hint, retryable: true });
    }
    this.#unchangedSince = changedAt < Date.now() - STAMP_STEP_MS ? changedAt : 0;
  }
}

function identityOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
}
