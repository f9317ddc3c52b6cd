import { once } from 'node:events';
import { extname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type Database from 'better-sqlite3';
import { errorText } from '../../core/errors.js';
import type { Logger } from '../../core/logger.js';

/** The log is folded into the database when so many of its pages (32 MB) are not there yet. */
const FOLD_AT_PAGES = 8_000;
/** SQLite begins the log anew when all of it is folded; while writes never rest, somebody has to wait once at this size. */
const LOG_LIMIT_PAGES = 32_000;
/** Commits from one look at the log to the next: a look takes as long as a small commit. */
const LOOK_EVERY = 8;
/** A thread that has nothing to do for so long is ended, for its memory. */
const IDLE_MS = 30_000;
/** After a failure, such as a full disk. */
const RETRY_MS = 30_000;

/** With this file's own suffix: the tests run the sources. */
const WORKER = new URL(`./checkpoint-worker${extname(import.meta.url)}`, import.meta.url);

/**
 * Folds the write-ahead log into the database on a thread of its own. SQLite would do it inside the commit that fills
 * the log (https://sqlite.org/wal.html#ckpt), and every task would wait for two flushes of the disk.
 */
export class Checkpoints {
  readonly #database: Database.Database;
  readonly #state: Database.Statement<[], WalState>;
  readonly #logger: Logger;
  #thread: Worker | undefined;
  #idle: NodeJS.Timeout | undefined;
  #isFolding = false;
  #commits = 0;

  /** Of a database whose automatic checkpoints are off. */
  constructor(database: Database.Database, logger: Logger) {
    this.#database = database;
    this.#state = database.prepare('PRAGMA wal_checkpoint(NOOP)');
    this.#logger = logger;
  }

  /** To be called after each commit. */
  look(): void {
    this.#commits += 1;
    if (this.#isFolding || this.#commits % LOOK_EVERY !== 0) return;
    const { log, checkpointed } = this.#state.get()!;
    if (log - checkpointed < FOLD_AT_PAGES) return;
    this.#isFolding = true;
    void this.#fold(log);
  }

  /** Before the database is closed. */
  close(): void {
    clearTimeout(this.#idle);
    void this.#thread?.terminate();
    this.#thread = undefined;
  }

  async #fold(log: number): Promise<void> {
    try {
      await this.#beside();
      if (log > LOG_LIMIT_PAGES) this.#foldHere();
    } catch (error) {
      this.#warn(error);
      this.close();
      await delay(RETRY_MS, undefined, { ref: false });
      this.#foldHere();
    }
    this.#isFolding = false;
  }

  async #beside(): Promise<void> {
    this.#thread ??= new Worker(WORKER, { workerData: this.#database.name });
    this.#thread.postMessage('fold');
    this.#thread.unref();
    await once(this.#thread, 'message');
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.close(), IDLE_MS).unref();
  }

  #foldHere(): void {
    try {
      if (this.#database.open) this.#database.pragma('wal_checkpoint(PASSIVE)');
    } catch (error) {
      this.#warn(error);
    }
  }

  #warn(error: unknown): void {
    this.#logger.warn('the log of the database could not be folded in', { error: errorText(error) });
  }
}

/** In pages. */
interface WalState {
  readonly log: number;
  readonly checkpointed: number;
}
