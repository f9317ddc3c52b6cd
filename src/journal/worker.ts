import type { Agent, PeerDirectory } from '../core/agent.js';
import { LangoError, errorText, isLangoError } from '../core/errors.js';
import type { Logger } from '../core/logger.js';
import type { SecretGuard } from '../core/secrets.js';
import type { AcceptOutcome, NewTask, TaskStore } from '../core/store.js';
import { LEASE_MS } from '../core/store.js';
import type { Grant, TaskRecord } from '../core/task.js';
import { ReleasingMap } from '../core/releasing-map.js';
import { traceIdOf } from '../core/trace.js';
import { isTerminal } from '../core/task.js';
import { Turns } from '../core/turns.js';
import type { Closing } from './closing.js';
import { closingOfAbort, isOpenTo, runEnd } from './closing.js';
import type { OpenDelegation } from './open-delegations.js';
import { Opening } from './opening.js';
import { Places, levelOf } from './places.js';
import { Replay } from './replay.js';
import { scrubEvent } from '../core/scrub-event.js';
import { TaskRun } from './task-run.js';

const RENEW_MS = LEASE_MS / 3;
const READ_PAGE = 1_000;

/** A task that began so often without recording anything is taken to kill its process. */
const MAX_FRUITLESS_ATTEMPTS = 20;

/** The longest delay a timer of Node takes. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export interface WorkerOptions {
  readonly store: TaskStore;
  readonly agents: ReadonlyMap<string, Agent>;
  readonly logger: Logger;
  /** Names this process in leases. */
  readonly worker: string;
  /** Runs at the same time, at each level of delegation. */
  readonly concurrentRuns: number;
  /** Who is told when a task ends that has delegations open. */
  readonly peers: Pick<PeerDirectory, 'get'>;
  readonly secrets: Pick<SecretGuard, 'scrubber'>;
  /** The most entries one task may have. */
  readonly eventsPerTask: number;
  /** The time of one pass over a task. */
  readonly runSeconds: number;
}

interface RunUnderWay {
  readonly run: TaskRun;
  readonly opening: Opening | undefined;
  readonly done: Promise<void>;
}

/** Runs tasks: takes leases, hands each task to its agent, closes it with exactly one entry. */
export class Worker {
  readonly #options: WorkerOptions;
  readonly #places: Places;
  readonly #runs = new ReleasingMap<string, RunUnderWay>();
  /** New messages, by whose they are and their id. */
  readonly #messages = new Turns();
  #timer: NodeJS.Timeout | undefined;
  #claiming = false;
  /** A place became free while the last look for tasks was under way. */
  #claimAgain = false;
  #stopped = true;

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#places = new Places(options.concurrentRuns);
  }

  /** Takes up unfinished work and goes on looking for more. */
  async start(): Promise<void> {
    this.#stopped = false;
    this.#timer = setInterval(() => void this.#tend(), RENEW_MS);
    this.#timer.unref();
    await this.claim();
  }

  /** Aborts all runs without closing their tasks, and gives the leases back: the next start goes on. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    const running = [...this.#runs].map(([, underWay]) => underWay);
    for (const { run } of running) run.abort(new LangoError('unavailable', 'the server is shutting down'));
    await Promise.all(running.map(({ done }) => done));
    await this.#options.store.release(this.#options.worker);
  }

  /**
   * Calls `accept` with the name to lease a task to (undefined when it has to wait for a free place)
   * and holds that place until `accept` has launched the task or not.
   */
  async withPlace<Result>(
    grant: Grant,
    accept: (lease: string | undefined) => Promise<Result>,
  ): Promise<Result> {
    const level = levelOf(grant);
    if (this.#stopped || this.#places.free(level) === 0) return accept(undefined);
    this.#places.take(level);
    try {
      return await accept(this.#options.worker);
    } finally {
      this.#places.giveBack(level);
    }
  }

  /**
   * Takes a new task, once for each message, and begins on it at once when there is a place for it: then the first
   * write of its run stores it. Else it waits for `claim`.
   */
  accept(entry: NewTask): Promise<AcceptOutcome> {
    const { scope, agent, message } = entry;
    return this.#messages.take(JSON.stringify([scope.tenant, scope.owner, agent, message.id]), async () => {
      const { store, worker } = this.#options;
      const earlier = await store.findEarlier(entry);
      if (earlier) return earlier;
      if (this.#stopped || this.#places.free(levelOf(entry.grant)) === 0) return store.accept(entry);
      const opening = new Opening(store, entry, worker);
      this.#places.take(levelOf(entry.grant));
      this.#begin(opening.task, opening.replay(), opening);
      return opening.outcome;
    });
  }

  /** Starts on a task that was leased to us. */
  launch(task: TaskRecord): void {
    const earlier = this.#runs.get(task.id);
    if (earlier) {
      // Its closing entry is written (the answer to it came already); only its clean-up is not done.
      void earlier.done.then(() => this.launch(task));
      return;
    }
    this.#places.take(levelOf(task.grant));
    this.#replay(task).then(
      (replay) => this.#begin(task, replay),
      (error: unknown) => {
        this.#log(task).error('could not read the log of a task', { error: errorText(error) });
        this.#leave(task);
      },
    );
  }

  /** Makes the run of a task look at what others appended, up to `head`. */
  look(taskId: string, head: number): void {
    this.#runs.get(taskId)?.run.look(head);
  }

  async claim(): Promise<void> {
    this.#claimAgain = this.#claiming;
    if (this.#claiming || this.#stopped) return;
    this.#claiming = true;
    try {
      const { store, worker, agents } = this.#options;
      do {
        this.#claimAgain = false;
        const tasks = await store.claim(worker, [...agents.keys()], (level) => this.#places.offer(level));
        for (const task of tasks) this.launch(task);
      } while (this.#claimAgain);
    } finally {
      this.#claiming = false;
    }
  }

  /**
   * Cancels what a task that no run is at left open with peers; a run does it by itself when it ends. The caller
   * ends the task afterwards, so that whoever is killed in between may ask again.
   */
  async callOff(task: TaskRecord): Promise<void> {
    if (this.#runs.has(task.id)) return;
    await this.#callOff(task, (await this.#replay(task)).delegations.list());
  }

  async #callOff(task: TaskRecord, open: readonly OpenDelegation[]): Promise<void> {
    const { tenant, owner, contextId } = task;
    await Promise.all(
      open.map(async ({ agent, taskId, messageId }) => {
        const asked = taskId === undefined ? { contextId, messageId } : { taskId };
        await this.#options.peers.get(agent)?.cancel({ tenant, owner }, asked);
      }),
    );
  }

  async #tend(): Promise<void> {
    const { store, worker, logger } = this.#options;
    try {
      const stored = [...this.#runs].filter(([, { opening }]) => opening?.isWritten ?? true);
      const lost = await store.renew(
        worker,
        stored.map(([id]) => id),
      );
      for (const id of lost) {
        this.#runs.get(id)?.run.abort(new LangoError('fenced', 'another process took the task over'));
      }
      await this.claim();
    } catch (error) {
      logger.warn('could not renew leases', { error: errorText(error) });
    }
  }

  async #replay(task: TaskRecord): Promise<Replay> {
    const replay = new Replay();
    for (;;) {
      const page = await this.#options.store.read(task.id, replay.head, READ_PAGE);
      for (const event of page) replay.add(event);
      if (page.length < READ_PAGE) return replay;
    }
  }

  #begin(task: TaskRecord, replay: Replay, opening?: Opening): void {
    if (this.#stopped) {
      this.#leave(task);
      return;
    }
    const { store, secrets, eventsPerTask } = this.#options;
    const run = new TaskRun({
      task,
      store,
      replay,
      opening,
      eventsPerTask,
      logger: this.#log(task),
      scrubber: secrets.scrubber(task),
    });
    const done = this.#work(run, replay).then((again) => {
      this.#runs.delete(task.id);
      if (again) this.launch(task);
      this.#leave(task);
    });
    this.#runs.set(task.id, { run, opening, done });
  }

  /** Its place is free for another. */
  #leave(task: TaskRecord): void {
    if (!this.#places.giveBack(levelOf(task.grant))) return;
    this.claim().catch((error: unknown) => {
      this.#options.logger.warn('could not take up waiting tasks', { error: errorText(error) });
    });
  }

  /** True when the task has to be gone over again: another message came while the agent worked. */
  async #work(run: TaskRun, replay: Replay): Promise<boolean> {
    const timer = this.#deadline(run);
    const known = run.inputs.length;
    try {
      const end = await this.#perform(run, replay);
      if (end && isOpenTo(end) && run.inputs.length > known) {
        await run.settle();
        return true;
      }
      await (end ? this.#close(run, end) : run.settle());
    } catch (error) {
      const level = isLangoError(error, 'fenced') ? 'info' : 'error';
      run.logger[level]('a run ended without its closing entry', { error: errorText(error) });
    } finally {
      clearTimeout(timer);
    }
    return false;
  }

  /** How the run ends; undefined when it is not ours to say. */
  async #perform(run: TaskRun, replay: Replay): Promise<Closing | undefined> {
    const agent = this.#options.agents.get(run.task.agent);
    if (replay.cancelRequested) run.abort(new LangoError('canceled', 'the task was canceled'));
    if (replay.fruitlessAttempts >= MAX_FRUITLESS_ATTEMPTS) {
      const text = `the task was started ${replay.fruitlessAttempts} times and never got anywhere`;
      return { state: 'failed', reason: 'crashed', text };
    }
    if (!agent)
      return { state: 'failed', reason: 'no-agent', text: `this node runs no agent ${run.task.agent}` };
    try {
      if (!run.abortReason) {
        const end = await Promise.race([agent.run(run), run.leftBehind]);
        if (end && !run.abortReason) return end;
      }
    } catch (error) {
      if (!run.abortReason) return this.#failure(run, error);
    }
    return closingOfAbort(run.abortReason);
  }

  #failure(run: TaskRun, error: unknown): Closing {
    if (isLangoError(error)) return { state: 'failed', reason: error.code, text: error.message };
    run.logger.error('an agent failed', { error: error instanceof Error ? error.stack : String(error) });
    return { state: 'failed', reason: 'internal', text: 'internal error; the server log says more' };
  }

  async #close(run: TaskRun, end: Closing): Promise<void> {
    const open = isTerminal(end.state) ? run.openDelegations : [];
    if (open.length > 0) await this.#callOff(run.task, open);
    const body = runEnd(run, end);
    try {
      await run.append(body, end.author);
    } catch (error) {
      // The run's own way to the journal ends at its first failure (an oversized entry, say); the closing
      // entry still has to be written, unless the task is no longer ours.
      if (isLangoError(error, 'fenced')) throw error;
      const { task } = run;
      const closing = scrubEvent(runEnd(run, this.#failure(run, error)), run.scrubber);
      await this.#options.store.append({ taskId: task.id, epoch: task.epoch }, [
        { author: task.agent, body: closing },
      ]);
    }
  }

  #deadline(run: TaskRun): NodeJS.Timeout {
    const { runSeconds } = this.#options;
    const left = (run.grant.deadline ?? Infinity) - Date.now();
    const ms = Math.max(0, Math.min(runSeconds * 1_000, left, MAX_TIMER_MS));
    const text =
      left < runSeconds * 1_000 ? 'the deadline passed' : `the time limit of ${runSeconds} s passed`;
    return setTimeout(() => run.abort(new LangoError('timeout', text)), ms);
  }

  #log(task: TaskRecord): Logger {
    const { trace } = task.grant;
    return this.#options.logger.child({
      ...{ task: task.id, agent: task.agent },
      ...(trace ? { traceId: traceIdOf(trace) } : {}),
    });
  }
}
