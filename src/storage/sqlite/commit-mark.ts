import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { codeOf } from '../../core/errors.js';

/** The number of the last acknowledged commit, kept in a file beside the database. */
interface Mark {
  readonly commits: number;
  /** Identifies the boot of the machine; empty where the system has no such id. */
  readonly boot: string;
  readonly synchronous: string;
}

const DIGITS = 16;
const FORM = /^(\d{16}) commits, boot (\S*), synchronous (\w+)\n$/;
const BOOT_FILE = '/proc/sys/kernel/random/boot_id';

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
 * Keeps the number of the last commit outside of the database, so that a start detects missing commits: to SQLite, a log
 * that was cut off or removed looks like a shorter log. The number is written after each commit and before the commit is
 * acknowledged. It is not flushed to the disk, so it survives the end of the process, but not always a loss of power.
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
    // Windows has no such call.
    if (process.platform !== 'win32') flush(dirname(file), 'r');
  }

  set(commits: number): void {
    writeSync(this.#descriptor, digits(commits), 0);
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}

/** Flushes a file, or the names in a folder, so that they survive a loss of power. */
export function flush(path: string, flags: 'r' | 'r+'): void {
  const descriptor = openSync(path, flags);
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
