import { LangoError, errorText } from '../core/errors.js';
import type { Logger } from '../core/logger.js';
import type { TaskRecord } from '../core/task.js';
import { LEASE_MS, LEASE_RENEW_MS, type ClaimRoom, type TaskStore } from '../stores/tasks.js';
import type { TaskRun } from './task-run.js';

/** The pause after the start of a process before it continues a task that may crash it. */
const SUSPECT_WAIT_MS = 2 * LEASE_MS;

interface LeasesOptions {
  readonly store: Pick<TaskStore, 'waits' | 'claim' | 'claimSuspect' | 'renew' | 'release'>;
  readonly logger: Logger;
  /** Names this process in leases. */
  readonly worker: string;
  /** The agents whose tasks are claimed, by name. */
  readonly agents: ReadonlyMap<string, unknown>;
  /** The room for waiting tasks. */
  readonly room: ClaimRoom;
  /** Is called before each look for waiting tasks. */
  readonly beforeLook: () => void;
  /** The runs of stored tasks, by the id of the task. */
  readonly runs: () => readonly (readonly [string, Pick<TaskRun, 'abort' | 'notify'>])[];
  readonly launch: (task: TaskRecord) => void;
}

/** Claims unfinished tasks while slots are free, renews their leases, and aborts the runs of tasks that others took over. */
export class Leases {
  readonly #options: LeasesOptions;
  #timer: NodeJS.Timeout | undefined;
  #claiming = false;
  /** A slot became free during the last claim. */
  #claimAgain = false;
  #isStopped = true;
  #renewals = 0;
  /** Why the last renewal failed: logged once, as it is tried twice a second. */
  #failure: string | undefined;

  constructor(options: LeasesOptions) {
    this.#options = options;
  }

  /** Whether no task is taken: before the start, and from the stop on. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Claims unfinished tasks, now and at each renewal. */
  async start(): Promise<void> {
    this.#isStopped = false;
    this.#timer = setInterval(() => void this.#renewAndClaim(), LEASE_RENEW_MS).unref();
    await this.claim();
  }

  /** Claims nothing more. The leases are renewed until `end`, as runs may still be under way. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Releases all leases. */
  async end(): Promise<void> {
    clearInterval(this.#timer);
    const { store, worker } = this.#options;
    await store.release(worker);
  }

  /** Claims waiting tasks while slots are free, and launches their runs. */
  async claim(): Promise<void> {
    this.#claimAgain = this.#claiming;
    if (this.#claiming || this.#isStopped) return;
    this.#claiming = true;
    try {
      const { store, worker, agents, room, launch } = this.#options;
      do {
        this.#claimAgain = false;
        for (const task of await store.claim(worker, [...agents.keys()], room)) launch(task);
      } while (this.#claimAgain && !this.#isStopped);
    } finally {
      this.#claiming = false;
    }
  }

  async #renewAndClaim(): Promise<void> {
    const { store, worker, logger } = this.#options;
    try {
      const runs = this.#options.runs();
      const ids = runs.map(([id]) => id);
      const held = ids.length === 0 ? [] : await store.renew(worker, ids);
      const heads = new Map(held.map(({ id, head }) => [id, head]));
      for (const [id, run] of runs) {
        const head = heads.get(id);
        if (head === undefined) run.abort(new LangoError('fenced', 'Another process took the task over.'));
        else run.notify(head);
      }
      await this.#claimWhatWaits();
      this.#failure = undefined;
    } catch (error) {
      const text = errorText(error);
      if (text !== this.#failure) logger.warn('the leases could not be renewed', { error: text });
      this.#failure = text;
    }
  }

  async #claimWhatWaits(): Promise<void> {
    this.#renewals += 1;
    if (this.#isStopped) return;
    const { store, agents, beforeLook } = this.#options;
    beforeLook();
    if (!(await store.waits([...agents.keys()]))) return;
    await this.claim();
    await this.#claimSuspect();
  }

  /** Continues a suspect, some time after the start: a process that ended while it started does not count against the task. */
  async #claimSuspect(): Promise<void> {
    if (this.#renewals * LEASE_RENEW_MS < SUSPECT_WAIT_MS || this.#isStopped) return;
    const { store, worker, agents, logger, launch } = this.#options;
    const task = await store.claimSuspect(worker, [...agents.keys()]);
    if (!task) return;
    const { id, crashes } = task;
    logger.warn('a task that may have crashed the server is continued', { task: id, crashes });
    launch(task);
  }
}
