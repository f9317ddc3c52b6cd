import type { Agent, PeerDirectory } from '../core/agent.js';
import { LangoError, errorText, isLangoError } from '../core/errors.js';
import type { Logger } from '../core/logger.js';
import { textPart } from '../core/message.js';
import { NO_USAGE } from '../core/model.js';
import type { SecretGuard } from '../core/secrets.js';
import type { AcceptOutcome, NewTask, TaskStore } from '../stores/tasks.js';
import { LEASE_MS, LEASE_RENEW_MS, SUSPECT_CRASHES } from '../stores/tasks.js';
import { BoundedCache } from '../core/bounded-cache.js';
import { ReleasingMap } from '../core/releasing-map.js';
import { traceIdOf } from '../core/trace.js';
import { isTerminal, type Grant, type TaskRecord } from '../core/task.js';
import { KeyedMutex } from '../core/keyed-mutex.js';
import { abortable, Timer } from '../core/time.js';
import { scrubEvent } from '../scrub/data.js';
import { Replay, type OpenDelegation } from './replay.js';
import { acceptsMoreInput, resultOfAbort, resultOfFailure, runEndEvent, type RunResult } from './run-end.js';
import { RunSlots } from './run-slots.js';
import { FirstAppend, TaskRun } from './task-run.js';

/** How long a process waits after its start before it continues a task that may crash it. */
const SUSPECT_WAIT_MS = 2 * LEASE_MS;
const READ_PAGE = 1_000;
/** After an abort, the worker stops waiting for an agent that does not return within this time. */
const AGENT_STOP_GRACE_MS = 5_000;
/** The most characters of events in all cached replays together. */
const KEPT_CHARACTERS = 8 * 1024 * 1024;

/** A suspect fails after this many crashes: half of them happened while no other suspect ran. */
const MAX_CRASHES = 2 * SUSPECT_CRASHES;

export interface WorkerOptions {
  readonly store: TaskStore;
  readonly agents: ReadonlyMap<string, Agent>;
  readonly logger: Logger;
  /** Names this process in leases. */
  readonly worker: string;
  /** Runs at the same time, at each level of delegation. */
  readonly concurrentRuns: number;
  /** The most unfinished tasks of one owner at each level, when a further one would have to wait. */
  readonly queuedTasks: number;
  /** The agents that can be delegated to. Their open tasks are canceled when the task that delegated ends. */
  readonly peers: Pick<PeerDirectory, 'get'>;
  readonly secrets: Pick<SecretGuard, 'scrubber'>;
  /** The most events one task may have. */
  readonly eventsPerTask: number;
  /** The wall-clock time of one pass over a task. */
  readonly runSeconds: number;
  /** How long `stop` waits for the steps that are under way. Default: not at all. */
  readonly drainSeconds?: number;
}

interface ActiveRun {
  readonly run: TaskRun;
  readonly firstAppend: FirstAppend | undefined;
  readonly done: Promise<void>;
}

/**
 * Runs tasks. The worker leases each task by the store's clock, renews the lease, hands the task to its agent, and closes
 * the run with exactly one `run-end` event. Every write carries the epoch of the lease: if another process took the task
 * over, the append is refused, and this worker aborts the run and drops its result.
 */
export class Worker {
  readonly #options: WorkerOptions;
  readonly #slots: RunSlots;
  readonly #runs = new ReleasingMap<string, ActiveRun>();
  /** The events of tasks that were read when their last run began. Their next run reads only later events. */
  readonly #replays = new BoundedCache<string, Replay>(KEPT_CHARACTERS);
  /** New messages, by owner, agent and message id. */
  readonly #messages = new KeyedMutex();
  #timer: NodeJS.Timeout | undefined;
  #claiming = false;
  /** A slot became free during the last claim. */
  #claimAgain = false;
  #stopped = true;
  #renewals = 0;

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#slots = new RunSlots(options.concurrentRuns);
  }

  /** Claims unfinished tasks, now and at each renewal of the leases. */
  async start(): Promise<void> {
    this.#stopped = false;
    this.#timer = setInterval(() => void this.#renewAndClaim(), LEASE_RENEW_MS);
    this.#timer.unref();
    await this.claim();
  }

  /**
   * Ends the runs without closing their tasks: each once its step under way has its result, after `drainSeconds` at the
   * latest. Releases each lease at once, so that another process, or the next start, continues the task.
   */
  async stop(): Promise<void> {
    const { store, worker, drainSeconds = 0 } = this.#options;
    this.#stopped = true;
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
    clearInterval(this.#timer);
    await store.release(worker);
  }

  /**
   * Calls `accept` with the name to lease the task to; undefined when no slot is free, so that the task waits for `claim`.
   * The slot is held during the call: `accept` calls `launch`, which takes it over, or leaves it free.
   */
  async withSlot<Result>(
    grant: Grant,
    accept: (lease: string | undefined) => Promise<Result>,
  ): Promise<Result> {
    const level = levelOf(grant);
    if (this.#stopped || this.#slots.free(level) === 0) return accept(undefined);
    this.#slots.acquire(level);
    try {
      return await accept(this.#options.worker);
    } finally {
      this.#slots.release(level);
    }
  }

  /**
   * Accepts a new task, once per message. If a slot is free the run begins at once, and its first append stores the task.
   * Otherwise the task is stored alone and waits for `claim`. Resolves after the commit in both cases.
   */
  accept(entry: NewTask): Promise<AcceptOutcome> {
    const { scope, agent, message } = entry;
    return this.#messages.run(JSON.stringify([scope.tenant, scope.owner, agent, message.id]), async () => {
      const { store, worker } = this.#options;
      const earlier = await store.findEarlier(entry);
      if (earlier) return earlier;
      const level = levelOf(entry.grant);
      if (this.#stopped || !this.#slots.isOpen(level)) return this.#queue(entry);
      const firstAppend = new FirstAppend(store, entry, worker);
      this.#slots.acquire(level);
      this.#begin(firstAppend.task, firstAppend.replay(), firstAppend);
      return firstAppend.outcome;
    });
  }

  /** Stores a task that waits for a slot, behind the tasks that wait already. */
  async #queue(entry: NewTask): Promise<AcceptOutcome> {
    const { store, queuedTasks } = this.#options;
    const outcome = await store.accept({ ...entry, queueLimit: queuedTasks });
    // A slot may have become free meanwhile, and its claim may not have seen the task.
    if (this.#slots.free(levelOf(entry.grant)) > 0) await this.claim();
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
    this.#slots.acquire(levelOf(task.grant));
    this.#readReplay(task).then(
      (replay) => this.#begin(task, replay),
      (error: unknown) => this.#endUnreadable(task, error),
    );
  }

  /** Fails a task whose journal is damaged. Otherwise it would be claimed again and again. */
  async #endUnreadable(task: TaskRecord, error: unknown): Promise<void> {
    const { id, epoch, agent } = task;
    const text = errorText(error);
    this.#loggerOf(task).error('the journal of a task could not be read', { error: text });
    const parts = [textPart(`${text} The task cannot go on: what follows that entry is lost.`)];
    const message = { id: `${id}:end:damaged`, role: 'agent', parts } as const;
    const body = { type: 'run-end', state: 'failed', reason: 'damaged', message, usage: NO_USAGE } as const;
    try {
      if (!isLangoError(error, 'storage') || error.retryable) return;
      const first = await this.#options.store.endDamaged({ taskId: id, epoch }, { author: agent, body });
      if (first !== undefined) this.#loggerOf(task).warn('the damaged task was ended as failed', { first });
    } catch (failure) {
      this.#loggerOf(task).error('the damaged task could not be ended', { error: errorText(failure) });
    } finally {
      this.#releaseSlot(task);
    }
  }

  /** Makes the run of a task read the events that others appended, up to `head`. */
  notify(taskId: string, head: number): void {
    this.#runs.get(taskId)?.run.notify(head);
  }

  async claim(): Promise<void> {
    this.#claimAgain = this.#claiming;
    if (this.#claiming || this.#stopped) return;
    this.#claiming = true;
    try {
      const { store, worker, agents } = this.#options;
      do {
        this.#claimAgain = false;
        const tasks = await store.claim(worker, [...agents.keys()], (level) =>
          this.#slots.freeForClaim(level),
        );
        for (const task of tasks) this.launch(task);
      } while (this.#claimAgain);
    } finally {
      this.#claiming = false;
    }
  }

  /**
   * Cancels the open delegations of a task without a run. Does nothing for a running task: its run cancels them when it
   * ends. Call it before the task is ended: a cancel that a crash cut off can then be repeated.
   */
  async cancelDelegations(task: TaskRecord): Promise<void> {
    if (this.#runs.get(task.id)) return;
    await this.#cancelOpen(task, (await this.#readReplay(task)).delegations.list());
  }

  async #cancelOpen(task: TaskRecord, open: readonly OpenDelegation[]): Promise<void> {
    const { contextId } = task;
    await Promise.all(
      open.map(async ({ agent, taskId, messageId }) => {
        const target = taskId === undefined ? { contextId, messageId } : { taskId };
        await this.#options.peers.get(agent)?.cancel(task, target);
      }),
    );
  }

  async #renewAndClaim(): Promise<void> {
    const { store, worker, logger } = this.#options;
    try {
      const stored = [...this.#runs].filter(([, { firstAppend }]) => firstAppend?.isStored ?? true);
      const held = await store.renew(
        worker,
        stored.map(([id]) => id),
      );
      const heads = new Map(held.map(({ id, head }) => [id, head]));
      for (const [id, { run }] of stored) {
        const head = heads.get(id);
        if (head === undefined) run.abort(new LangoError('fenced', 'Another process took the task over.'));
        else run.notify(head);
      }
      await this.claim();
      await this.#claimSuspect();
    } catch (error) {
      logger.warn('the leases could not be renewed', { error: errorText(error) });
    }
  }

  /**
   * Continues a task that may crash the process. It waits after the start, so that a process which is killed while it
   * starts, or crashed by another task at its start, does not count against it.
   */
  async #claimSuspect(): Promise<void> {
    this.#renewals += 1;
    if (this.#renewals * LEASE_RENEW_MS < SUSPECT_WAIT_MS || this.#stopped) return;
    const { store, worker, agents, logger } = this.#options;
    const task = await store.claimSuspect(worker, [...agents.keys()]);
    if (!task) return;
    const { id, crashes } = task;
    logger.warn('a task that may have crashed the server is continued', { task: id, crashes });
    this.launch(task);
  }

  async #readReplay(task: TaskRecord): Promise<Replay> {
    const replay = this.#replays.take(task.id) ?? new Replay();
    for (let isLast = false; !isLast;) {
      const page = await this.#options.store.read(task.id, replay.head, READ_PAGE);
      for (const event of page) {
        replay.add(event);
        replay.size += JSON.stringify(event.body).length;
      }
      isLast = page.length < READ_PAGE;
    }
    this.#replays.set(task.id, replay, replay.size);
    return replay.copy();
  }

  #begin(task: TaskRecord, replay: Replay, firstAppend?: FirstAppend): void {
    if (this.#stopped) {
      this.#releaseSlot(task);
      return;
    }
    const { store, worker, secrets, eventsPerTask } = this.#options;
    const run = new TaskRun({
      isOwner: async () => (await store.renew(worker, [task.id])).length > 0,
      task,
      store,
      replay,
      firstAppend,
      eventsPerTask,
      logger: this.#loggerOf(task),
      scrubber: secrets.scrubber(task),
    });
    const done = this.#work(run, replay).then((again) => {
      this.#runs.delete(task.id);
      if (again) this.launch(task);
      this.#releaseSlot(task);
    });
    this.#runs.set(task.id, { run, firstAppend, done });
  }

  #releaseSlot(task: TaskRecord): void {
    if (!this.#slots.release(levelOf(task.grant))) return;
    this.claim().catch((error: unknown) => {
      this.#options.logger.warn('waiting tasks could not be claimed', { error: errorText(error) });
    });
  }

  /** True when the task has to run again, as another message arrived during the run. */
  async #work(run: TaskRun, replay: Replay): Promise<boolean> {
    using _deadline = this.#deadline(run);
    const known = run.inputs.length;
    try {
      const result = await this.#runAgent(run, replay);
      if (result && acceptsMoreInput(result) && run.inputs.length > known) {
        await run.settle();
        return true;
      }
      await (result ? this.#close(run, result) : run.settle());
    } catch (error) {
      const level = isLangoError(error, 'fenced') ? 'info' : 'error';
      run.logger[level]('a run ended without its run-end event', { error: errorText(error) });
    }
    return false;
  }

  /** The result of the run; undefined when this process must not close it. */
  async #runAgent(run: TaskRun, replay: Replay): Promise<RunResult | undefined> {
    const agent = this.#options.agents.get(run.task.agent);
    if (replay.cancelRequested) run.abort(new LangoError('canceled', 'The task was canceled.'));
    if (run.task.crashes >= MAX_CRASHES) {
      const cause = this.#options.store.lastCrash ?? 'it was killed, or ran out of memory';
      const text =
        `The server process ended ${run.task.crashes} times while it worked on this task, ` +
        `which got no further. The last time: ${cause}.`;
      return { state: 'failed', reason: 'crashed', text };
    }
    if (!agent)
      return {
        state: 'failed',
        reason: 'no-agent',
        text: `This node does not run the agent ${run.task.agent}.`,
      };
    try {
      if (!run.abortReason) {
        const end = await abortable(agent.run(run), run.signal, { graceMs: AGENT_STOP_GRACE_MS });
        if (!run.abortReason) return end;
      }
    } catch (error) {
      if (!run.abortReason) return resultOfFailure(run, error);
    }
    return resultOfAbort(run.abortReason);
  }

  /** Appends the one `run-end` event. */
  async #close(run: TaskRun, result: RunResult): Promise<void> {
    const open = isTerminal(result.state) ? run.openDelegations : [];
    if (open.length > 0) await this.#cancelOpen(run.task, open);
    try {
      await run.append(runEndEvent(run, result), result.author);
    } catch (error) {
      // The run's writer stops at its first failure, for example an oversized event. The `run-end` event must still be
      // written, unless another process owns the task now, or the database fails: the task then runs again.
      if (isLangoError(error, 'fenced') || isLangoError(error, 'storage')) throw error;
      const { task } = run;
      const body = scrubEvent(runEndEvent(run, resultOfFailure(run, error)), run.scrubber);
      const fence = { taskId: task.id, epoch: task.epoch };
      await this.#options.store.append(fence, [{ author: task.agent, body }]);
    }
  }

  #deadline(run: TaskRun): Timer {
    const { runSeconds } = this.#options;
    const left = (run.grant.deadline ?? Infinity) - Date.now();
    const text =
      left < runSeconds * 1_000 ? 'The deadline passed.' : `The time limit of ${runSeconds} s passed.`;
    return new Timer(Math.min(runSeconds * 1_000, left), () => run.abort(new LangoError('timeout', text)));
  }

  #loggerOf(task: TaskRecord): Logger {
    const { trace } = task.grant;
    return this.#options.logger.child({
      ...{ task: task.id, agent: task.agent },
      ...(trace ? { traceId: traceIdOf(trace) } : {}),
    });
  }
}

/** The number of delegations above a task. A task that a person sent has level 0. */
function levelOf(grant: Grant): number {
  return grant.chain.length;
}
