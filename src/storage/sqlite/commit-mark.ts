import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { codeOf } from '../../core/errors.js';

/** The number of the last commit that was acknowledged, as kept beside the database. */
export interface Mark {
  readonly commits: number;
  /** Identifies the boot of the machine; empty where the system has no such id. */
  readonly boot: string;
  readonly synchronous: string;
}

const DIGITS = 16;
const FORM = /^(\d{16}) commits, boot (\S*), synchronous (\w+)\n$/;
const BOOT_FILE = '/proc/sys/kernel/random/boot_id';

/** Where the mark of a database is. */
function markFile(file: string): string {
  return `${file}.mark`;
}

/** Returns undefined without a mark file. Throws when the file cannot be read. */
export function readMark(file: string): Mark | 'unreadable' | undefined {
  const text = readIfThere(markFile(file));
  if (text === undefined) return undefined;
  const found = FORM.exec(text);
  if (!found) return 'unreadable';
  const [, commits = '', boot = '', synchronous = ''] = found;
  return { commits: Number(commits), boot, synchronous };
}

/** Whether the machine was started again since the mark was made. */
export function isOfEarlierBoot({ boot }: Mark): boolean {
  return boot !== bootId();
}

/**
 * Keeps the number of the last commit outside of the database, so that a start sees when commits are missing: SQLite takes
 * a log that was cut off or removed for a shorter one. The number is written after each commit and before anyone hears of
 * it. It is not flushed to the disk, so it survives the process, and not always a loss of power.
 */
export class CommitMark {
  readonly #descriptor: number;

  /** Writes the whole mark to the disk, so that a loss of power leaves the earlier one or this one. */
  constructor(file: string, { commits, synchronous }: Omit<Mark, 'boot'>) {
    const part = `${markFile(file)}.part`;
    this.#descriptor = openSync(part, 'w', 0o600);
    writeSync(this.#descriptor, `${digits(commits)} commits, boot ${bootId()}, synchronous ${synchronous}\n`);
    fsyncSync(this.#descriptor);
    renameSync(part, markFile(file));
    flushFolder(dirname(file));
  }

  set(commits: number): void {
    writeSync(this.#descriptor, digits(commits), 0);
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}

/** Makes new names in a folder survive a loss of power. Windows has no such call. */
function flushFolder(folder: string): void {
  if (process.platform === 'win32') return;
  const descriptor = openSync(folder, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}

function digits(commits: number): string {
  return String(commits).padStart(DIGITS, '0');
}

function bootId(): string {
  return (readIfThere(BOOT_FILE) ?? '').trim();
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
