import { randomInt } from 'node:crypto';
import type { Client } from 'pg';
import { LangoError, errorText } from '../../core/errors.js';
import type { Logger } from '../../core/logger.js';
import type { AppendListeners } from '../append-listeners.js';
import type { Driver } from './connection.js';
import { LOCK_CLASS, type PostgresDatabase } from './database.js';
import { ADD_WORKER, FREE_DEAD } from './task-statements.js';

export interface LivenessOptions {
  readonly driver: Driver;
  readonly database: PostgresDatabase;
  readonly listeners: AppendListeners;
  /** The notification channel of this node. Other nodes may use the same database. */
  readonly channel: string;
  /** Whether there is a session. Without one, leases end only by their time, and other processes get no notifications. */
  readonly hasSession: boolean;
  readonly logger: Logger;
}

const LARGEST_LOCK = 2 ** 31 - 1;
const RECONNECT_MS = 250;
/** The time in which notifications are collected for one NOTIFY, which makes writers wait for each other. */
const COLLECT_MS = 10;
/** A notification of PostgreSQL holds up to 8,000 bytes. */
const TASKS_PER_NOTIFICATION = 100;
/** The most tasks whose notifications wait for a session. Followers of other tasks find new events by polling. */
const MAX_COLLECTED = 10_000;
const MIN_CHECK_MS = 400;

/**
 * The session of this process: a connection apart from the pool. While the session lives it holds an advisory lock, which
 * shows other processes that this one lives, and it receives notifications of the events that others append.
 */
export class Liveness {
  readonly #options: LivenessOptions;
  /** Whether this process gets notifications of events that other processes append. */
  readonly hasNotifications: boolean;
  #lock = randomInt(1, LARGEST_LOCK);
  /** The names of this process in leases. */
  readonly #workers = new Map<string, Promise<unknown>>();
  #session: Client | undefined;
  #retry: NodeJS.Timeout | undefined;
  #collecting: NodeJS.Timeout | undefined;
  #collected = new Map<string, number>();
  #checkedAt = -Infinity;
  #onFreed: (() => void) | undefined;
  #isOpen = true;

  constructor(options: LivenessOptions) {
    this.#options = options;
    this.hasNotifications = options.hasSession;
  }

  /** Opens the session. Rejects when the database cannot be reached. A session that ends later is opened again. */
  async open(): Promise<void> {
    if (!this.hasNotifications) return;
    const session = await this.#options.driver.connect();
    let hasEnded = false;
    session.once('end', () => {
      hasEnded = true;
      if (this.#session === session) this.#onLost();
    });
    try {
      session.on('notification', ({ payload }) => this.#onNotification(payload ?? ''));
      // Takes a new number each time, because the database may still hold the lock of the lost connection.
      this.#lock = randomInt(1, LARGEST_LOCK);
      await session.query(`SELECT pg_advisory_lock(${LOCK_CLASS}, ${this.#lock})`);
      await session.query(`LISTEN ${this.#options.channel}`);
      for (const name of this.#workers.keys()) await this.#register(name);
    } catch (error) {
      await session.end().catch(() => undefined);
      throw error;
    }
    if (hasEnded) throw new LangoError('storage', 'The session with the database ended while it was opened.');
    if (!this.#isOpen) return session.end();
    this.#session = session;
    this.#sendSoon();
  }

  /** Registers the name of a worker. Call it before the first lease to that name. */
  async add(worker: string): Promise<void> {
    if (!this.hasNotifications || worker === '') return;
    const known = this.#workers.get(worker) ?? this.#register(worker);
    this.#workers.set(worker, known);
    try {
      await known;
    } catch (error) {
      this.#workers.delete(worker);
      throw error;
    }
  }

  /** Frees the leases of processes that have ended. Does nothing while this process itself may look like one of them. */
  async freeDead(): Promise<void> {
    if (!this.#session || performance.now() - this.#checkedAt < MIN_CHECK_MS) return;
    this.#checkedAt = performance.now();
    const { rows } = await this.#options.database.one({ sql: FREE_DEAD, values: [{ class: LOCK_CLASS }] });
    if (rows.length === 0) return;
    this.#options.logger.info('the leases of ended processes were freed', { rows });
    this.#onFreed?.();
  }

  onFreed(listener: () => void): void {
    this.#onFreed = listener;
  }

  async close(): Promise<void> {
    this.#isOpen = false;
    clearTimeout(this.#retry);
    clearTimeout(this.#collecting);
    await this.#session?.end().catch(() => undefined);
  }

  #register(name: string): Promise<unknown> {
    return this.#options.database.one({ sql: ADD_WORKER, values: [{ name, lock: this.#lock }] });
  }

  #onLost(): void {
    this.#session = undefined;
    if (!this.#isOpen) return;
    this.#options.logger.warn('the session with the database ended; it is opened again');
    this.#reopen();
  }

  #reopen(): void {
    this.#retry = setTimeout(() => {
      this.open().catch(() => {
        if (this.#isOpen) this.#reopen();
      });
    }, RECONNECT_MS);
    this.#retry.unref();
  }

  /** Notifies the listeners of this process, and later other processes, of events that this process has committed. */
  announce(taskId: string, head: number): void {
    this.#options.listeners.notify(taskId, head);
    if (!this.hasNotifications) return;
    if (this.#collected.size < MAX_COLLECTED) this.#collected.set(taskId, head);
    this.#sendSoon();
  }

  #sendSoon(): void {
    if (this.#isOpen) this.#collecting ??= setTimeout(() => void this.#send(), COLLECT_MS);
  }

  async #send(): Promise<void> {
    const session = this.#session;
    const isSent = session !== undefined && (await this.#sendTo(session));
    this.#collecting = undefined;
    // Without a session, or with one that just failed, they wait for the next one.
    if (this.#collected.size > 0 && (isSent || this.#session !== session)) this.#sendSoon();
  }

  /** Sends the collected notifications, one query after the other. Resolves with false when the session fails. */
  async #sendTo(session: Client): Promise<boolean> {
    const heads = [...this.#collected];
    this.#collected = new Map();
    try {
      for (let from = 0; from < heads.length; from += TASKS_PER_NOTIFICATION) {
        const payload = JSON.stringify([this.#lock, ...heads.slice(from, from + TASKS_PER_NOTIFICATION)]);
        await session.query('SELECT pg_notify($1, $2)', [this.#options.channel, payload]);
      }
      return true;
    } catch (error) {
      // The session is opened again, and the new one sends all of these notifications.
      this.#collected = new Map([...heads, ...this.#collected]);
      void session.end();
      this.#options.logger.debug('a notification was not sent', { error: errorText(error) });
      return false;
    }
  }

  #onNotification(payload: string): void {
    const [from, ...heads] = JSON.parse(payload) as [number, ...(readonly [string, number])[]];
    if (from === this.#lock) return;
    for (const [taskId, head] of heads) this.#options.listeners.notify(taskId, head);
  }
}
