import { once } from 'node:events';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type Database from 'better-sqlite3';
import { errorText } from '../../core/errors.js';
import type { Logger } from '../../core/logger.js';
import { pause } from '../../core/time.js';

/** A checkpoint starts when this many pages of the log (16 MB) are not in the database file yet. */
const CHECKPOINT_AT_PAGES = 4_000;
/**
 * Under constant writes no checkpoint catches up with the log, so at this size one checkpoint blocks the writes. It is less
 * than the size that the file of the log keeps (see connection.ts), as writing over it is cheaper than making it longer.
 */
const LOG_LIMIT_PAGES = 14_000;
/** The number of commits between two checks of the log. A check takes as long as a small commit. */
const COMMITS_PER_CHECK = 8;
/** An idle thread is ended after this time, to free its memory. */
const IDLE_MS = 30_000;
/** The pause after a failure, such as a full disk. */
const RETRY_MS = 30_000;

/** The module of the thread. It has the suffix of this file, because tests run the sources. */
const WORKER = new URL(`./checkpoint-entry${extname(import.meta.url)}`, import.meta.url);

/**
 * Checkpoints the write-ahead log into the database file on a separate thread. SQLite would do it inside the commit that
 * fills the log (https://sqlite.org/wal.html#ckpt), and every task would wait for two disk flushes.
 */
export class Checkpoints {
  readonly #database: Database.Database;
  /** The sizes of the log and of its checkpointed part, in pages. */
  readonly #state: Database.Statement<[], { readonly log: number; readonly checkpointed: number }>;
  readonly #logger: Logger;
  #thread: Worker | undefined;
  #idle: NodeJS.Timeout | undefined;
  #isRunning = false;
  #commits = 0;

  /** The automatic checkpoints of `database` must be off. */
  constructor(database: Database.Database, logger: Logger) {
    this.#database = database;
    this.#state = database.prepare('PRAGMA wal_checkpoint(NOOP)');
    this.#logger = logger;
  }

  /** Call it after each commit. */
  onCommit(): void {
    this.#commits += 1;
    if (this.#isRunning || this.#commits % COMMITS_PER_CHECK !== 0) return;
    const { log, checkpointed } = this.#state.get()!;
    if (log - checkpointed < CHECKPOINT_AT_PAGES) return;
    this.#isRunning = true;
    void this.#checkpoint(log);
  }

  /** Call it before the database is closed. */
  close(): void {
    clearTimeout(this.#idle);
    void this.#thread?.terminate();
    this.#thread = undefined;
  }

  async #checkpoint(log: number): Promise<void> {
    try {
      await this.#checkpointOnThread();
      if (log > LOG_LIMIT_PAGES) {
        // What was written during the first one, so that little is left for the one that blocks.
        await this.#checkpointOnThread();
        this.#checkpointHere();
      }
    } catch (error) {
      this.#warn(error);
      this.close();
      await pause(RETRY_MS, { ref: false });
      this.#checkpointHere();
    }
    this.#isRunning = false;
  }

  async #checkpointOnThread(): Promise<void> {
    this.#thread ??= new Worker(WORKER, { workerData: this.#database.name });
    this.#thread.postMessage('checkpoint');
    this.#thread.unref();
    await once(this.#thread, 'message');
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.close(), IDLE_MS).unref();
  }

  #checkpointHere(): void {
    // No checkpoint can run in a transaction. Those of a turn end with it.
    if (this.#database.inTransaction) return void setImmediate(() => this.#checkpointHere());
    try {
      if (this.#database.open) this.#database.pragma('wal_checkpoint(PASSIVE)');
    } catch (error) {
      this.#warn(error);
    }
  }

  #warn(error: unknown): void {
    this.#logger.warn('the write-ahead log of the database could not be checkpointed', {
      error: errorText(error),
    });
  }
}
