import { LangoError, errorText } from '../core/errors.js';
import { defined } from '../core/json.js';
import { KeyedMutex } from '../core/keyed-mutex.js';
import type { Logger } from '../core/logger.js';
import { ReleasingMap } from '../core/releasing-map.js';
import type { SecretGuard } from '../core/secrets.js';
import { scopeKey, type Grant, type LiveText, type Scope, type TaskRecord } from '../core/task.js';
import { Timer } from '../core/time.js';
import { traceIdOf } from '../core/trace.js';
import type { AcceptOutcome, NewTask, TaskStore } from '../stores/tasks.js';
import { Leases } from './leases.js';
import type { Replay } from './replay.js';
import { RunSlots } from './run-slots.js';
import { cancelDelegations, workOn, type RunWorkOptions } from './run-work.js';
import { TaskPast } from './task-past.js';
import { FirstAppend } from './run-appends.js';
import { TaskRun, type TaskRunOptions } from './task-run.js';

type RunOptions = Pick<TaskRunOptions, 'worker' | 'disk' | 'eventsPerTask'>;

export interface WorkerOptions extends RunWorkOptions, RunOptions {
  readonly store: TaskStore;
  readonly logger: Logger;
  /** Runs at the same time, at each level of delegation. */
  readonly concurrentRuns: number;
  /** The most of them for one owner. Default: only as many as leave some to others. */
  readonly runsPerCaller?: number | undefined;
  /** The most unfinished tasks of one owner at each level, when a further one would have to wait. */
  readonly queuedTasks: number;
  readonly secrets: Pick<SecretGuard, 'scrubber'>;
  /** Called when a run of this process has more text that is not durable yet. */
  readonly onLiveText: (taskId: string) => void;
  /** The time that `stop` waits for the steps that are under way. Default: none. */
  readonly drainSeconds?: number;
}

interface ActiveRun {
  readonly run: TaskRun;
  readonly firstAppend: FirstAppend | undefined;
  readonly done: Promise<void>;
}

/**
 * Runs tasks, each in a slot of its level of delegation: accepts new ones, and continues those that it leases. Every write
 * carries the epoch of the lease: if another process took the task over, the append is refused, and this worker aborts the
 * run and drops its result.
 */
export class Worker {
  readonly #options: WorkerOptions;
  readonly #slots: RunSlots;
  readonly #leases: Leases;
  readonly #past: TaskPast;
  readonly #runs = new ReleasingMap<string, ActiveRun>();
  /** New messages, by owner, agent and message id. */
  readonly #messages = new KeyedMutex();

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#slots = new RunSlots(options.concurrentRuns, options.runsPerCaller);
    this.#past = new TaskPast(options.store);
    this.#leases = new Leases({
      ...options,
      room: Object.assign((level: number) => this.#slots.freeForClaim(level), {
        full: (level: number, claimed: readonly Scope[]) => this.#slots.full(level, claimed),
      }),
      beforeLook: () => this.#slots.beforeLook(),
      runs: () =>
        [...this.#runs]
          .filter(([, { firstAppend }]) => firstAppend?.isStored ?? true)
          .map(([id, { run }]) => [id, run]),
      launch: (task) => this.launch(task),
    });
  }

  /** Claims unfinished tasks, now and at each renewal of the leases. */
  start(): Promise<void> {
    return this.#leases.start();
  }

  /** Claims tasks that wait, as far as there is room. */
  claim(): Promise<void> {
    return this.#leases.claim();
  }

  /**
   * Ends the runs without closing their tasks: each once its step under way has its result, after `drainSeconds` at the
   * latest. Releases each lease at once, so that another process, or the next start, continues the task.
   */
  async stop(): Promise<void> {
    const { store, worker, drainSeconds = 0 } = this.#options;
    this.#leases.stop();
    const reason = new LangoError('unavailable', 'The server is shutting down.');
    const running = [...this.#runs].map(([, active]) => active);
    using _cut = new Timer(drainSeconds * 1_000, () => running.forEach(({ run }) => run.abort(reason)));
    await Promise.all(
      running.map(async ({ run, done }) => {
        run.leave(reason);
        await done;
        await store.release(worker, run.task.id).catch(() => undefined);
      }),
    );
    await this.#leases.end();
    await this.#options.disk?.settle();
  }

  /**
   * Calls `accept` with the name to lease the task to; undefined when no slot is free, so that the task waits for a claim.
   * The slot is held during the call: `accept` calls `launch`, which takes it over, or leaves it free.
   */
  async withSlot<T>(task: TaskRecord, accept: (lease: string | undefined) => Promise<T>): Promise<T> {
    const level = levelOf(task.grant);
    if (this.#leases.isStopped || !this.#slots.hasRoom(level, task)) {
      this.#slots.addWaiting(level, task);
      return accept(undefined);
    }
    this.#slots.acquire(level, task);
    try {
      return await accept(this.#options.worker);
    } finally {
      this.#slots.release(level, task);
    }
  }

  /**
   * Accepts a new task, once per message. If a slot is free the run begins at once, and its first append stores the task.
   * Otherwise the task is stored alone and waits for a claim. Resolves after the commit in both cases.
   */
  async accept(entry: NewTask): Promise<AcceptOutcome> {
    const { scope, agent, message } = entry;
    const key = `${scopeKey(scope)} ${agent} ${message.id}`;
    const turn = this.#messages.enter(key);
    if (turn) await turn;
    try {
      const { store, worker, disk } = this.#options;
      const found = store.findEarlier(entry);
      const earlier = found instanceof Promise ? await found : found;
      if (earlier) return earlier;
      if (disk) await disk.admit(scope, message);
      const level = levelOf(entry.grant);
      if (this.#leases.isStopped || !this.#slots.isOpen(level, scope)) return await this.#queue(entry);
      const firstAppend = new FirstAppend(store, entry, worker);
      this.#slots.acquire(level, scope);
      this.#begin(firstAppend.task, firstAppend.replay(), firstAppend);
      return await firstAppend.outcome;
    } finally {
      this.#messages.leave(key);
    }
  }

  /** Stores a task that waits for a slot, behind the tasks that wait already. */
  async #queue(entry: NewTask): Promise<AcceptOutcome> {
    const { store, queuedTasks } = this.#options;
    const level = levelOf(entry.grant);
    this.#slots.addWaiting(level, entry.scope);
    const outcome = await store.accept({ ...entry, queueLimit: queuedTasks });
    // A slot may have become free meanwhile, and its claim may not have seen the task.
    if (this.#slots.hasRoom(level, entry.scope)) await this.#leases.claim();
    return outcome;
  }

  /** Starts the run of a task that is leased to this worker. */
  launch(task: TaskRecord): void {
    const earlier = this.#runs.get(task.id);
    if (earlier) {
      // The earlier run has written its `run-end` event, and has only its clean-up left.
      void earlier.done.then(() => this.launch(task));
      return;
    }
    this.#slots.acquire(levelOf(task.grant), task);
    this.#past.read(task.id).then(
      (replay) => this.#begin(task, replay),
      async (error: unknown) => {
        // Its store may be closed: the next start reads it again.
        if (!this.#leases.isStopped) await this.#past.endUnreadable(task, error, this.#loggerOf(task));
        this.#releaseSlot(task);
      },
    );
  }

  /** Makes the run of a task read the events that others appended, up to `head`. */
  notify(taskId: string, head: number): void {
    this.#runs.get(taskId)?.run.notify(head);
  }

  /** The text that directly follows the event `after`, of a run of this process. */
  liveText(taskId: string, after: number): readonly LiveText[] {
    return this.#runs.get(taskId)?.run.liveText(after) ?? [];
  }

  /** Cancels the open delegations of a task without a run. Call it before the task ends, so that a crash repeats it. */
  async cancelDelegations(task: TaskRecord): Promise<void> {
    if (this.#runs.get(task.id)) return;
    const { delegations } = await this.#past.read(task.id);
    // No run of it follows.
    this.#past.forget(task.id);
    await cancelDelegations(task, delegations.list(), this.#options.peers);
  }

  #begin(task: TaskRecord, replay: Replay, firstAppend?: FirstAppend): void {
    if (this.#leases.isStopped) {
      this.#releaseSlot(task);
      return;
    }
    const { store, worker, secrets, disk, eventsPerTask, onLiveText } = this.#options;
    const run = new TaskRun({
      task,
      store,
      worker,
      replay,
      firstAppend,
      disk,
      eventsPerTask,
      onLiveText: () => onLiveText(task.id),
      openLogger: () => this.#loggerOf(task),
      scrubber: secrets.scrubber(task),
    });
    const done = workOn(run, this.#options).then((runs) => {
      this.#runs.delete(task.id);
      if (runs === 'never') this.#past.forget(task.id);
      if (runs === 'again') this.launch(task);
      this.#releaseSlot(task);
    });
    this.#runs.set(task.id, { run, firstAppend, done });
  }

  #releaseSlot(task: TaskRecord): void {
    if (!this.#slots.release(levelOf(task.grant), task)) return;
    this.#leases.claim().catch((error: unknown) => {
      this.#options.logger.warn('waiting tasks could not be claimed', { error: errorText(error) });
    });
  }

  #loggerOf({ id: task, agent, grant: { trace } }: TaskRecord): Logger {
    return this.#options.logger.child(defined({ task, agent, traceId: trace && traceIdOf(trace) }));
  }
}

/** The number of delegations above a task. A task that a person sent has level 0. */
function levelOf(grant: Grant): number {
  return grant.chain.length;
}
