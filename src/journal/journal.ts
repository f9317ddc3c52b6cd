import type { Agent, PeerDirectory } from '../core/agent.js';
import { LangoError } from '../core/errors.js';
import { newId } from '../core/ids.js';
import type { Accepted, Journal, Submission, TaskPage, TaskQuery } from '../core/journal.js';
import { hashJson } from '../core/json.js';
import type { Logger } from '../core/logger.js';
import type { SecretGuard } from '../core/secrets.js';
import { noSecrets } from '../core/secrets.js';
import type { AcceptOutcome, NewTask, TaskStore } from '../core/store.js';
import type { Scope, TaskEvent, TaskRecord } from '../core/task.js';
import { isTerminal } from '../core/task.js';
import { Hints } from './hints.js';
import { scrubMessage } from '../core/scrub-event.js';
import { isFull, taskIsFull } from './outbound.js';
import { Worker } from './worker.js';

/** Events read at a time by one follower. */
const FOLLOW_PAGE = 256;

/** How long `cancel` waits for the run to stop. */
const CANCEL_WAIT_MS = 10_000;

export interface JournalOptions {
  readonly store: TaskStore;
  /** What this node runs, by name. Filled before `start`. */
  readonly agents: ReadonlyMap<string, Agent>;
  /** Those that the agents delegate to: they are told when a task ends that still waits for them. */
  readonly peers: Pick<PeerDirectory, 'get'>;
  readonly logger: Logger;
  /** Keeps the values of secrets out of the log. Default: there are none. */
  readonly secrets?: Pick<SecretGuard, 'scrubber'>;
  /** At each level of delegation. */
  readonly concurrentRuns: number;
  /** The most entries one task may have. */
  readonly eventsPerTask: number;
  /** The wall-clock time of one pass over a task. */
  readonly runSeconds: number;
}

export interface RunningJournal extends Journal {
  /** Takes up what an earlier process left unfinished. */
  start(): Promise<void>;
  /** Stops the runs where they are and gives their leases back. The store stays open. */
  stop(): Promise<void>;
}

export function createJournal(options: JournalOptions): RunningJournal {
  return new TaskJournal(options);
}

class TaskJournal implements RunningJournal {
  readonly #store: TaskStore;
  readonly #worker: Worker;
  readonly #secrets: Pick<SecretGuard, 'scrubber'>;
  readonly #eventsPerTask: number;
  readonly #hints = new Hints();
  #unsubscribe: (() => void) | undefined;

  constructor(options: JournalOptions) {
    this.#store = options.store;
    this.#eventsPerTask = options.eventsPerTask;
    this.#secrets = options.secrets ?? noSecrets;
    this.#worker = new Worker({ ...options, secrets: this.#secrets, worker: newId() });
  }

  start(): Promise<void> {
    this.#unsubscribe = this.#store.onAppend((taskId, head) => {
      this.#hints.tell(taskId);
      this.#worker.look(taskId, head);
    });
    return this.#worker.start();
  }

  async stop(): Promise<void> {
    await this.#worker.stop();
    this.#unsubscribe?.();
  }

  async submit(given: Submission): Promise<Accepted> {
    const { contextId, taskId } = given;
    const requestHash = hashJson({ role: given.message.role, parts: given.message.parts, contextId, taskId });
    const message = scrubMessage(given.message, this.#secrets.scrubber(given.scope));
    const submission = { ...given, message };
    const outcome =
      taskId === undefined
        ? await this.#worker.accept(newTask(submission, requestHash))
        : await this.#addInput(submission, { taskId, requestHash });
    if (outcome.kind === 'conflict') {
      throw new LangoError('conflict', `message id ${message.id} was already used with other content`, {
        hint: 'Use a new message id for a new message.',
      });
    }
    return { task: outcome.task, seq: outcome.seq, repeated: outcome.kind === 'repeated' };
  }

  get(scope: Scope, taskId: string): Promise<TaskRecord | undefined> {
    return this.#store.get(scope, taskId);
  }

  list(scope: Scope, query: TaskQuery): Promise<TaskPage> {
    return this.#store.list(scope, query);
  }

  async cancel(scope: Scope, taskId: string): Promise<TaskRecord> {
    const known = await this.#store.get(scope, taskId);
    if (known && !isTerminal(known.state)) await this.#worker.callOff(known);
    const task = known && (await this.#store.requestCancel(scope, taskId));
    if (!task) throw new LangoError('not-found', `there is no task ${taskId}`);
    const ended = isTerminal(task.state) ? task : await this.#untilEnded(scope, task);
    if (isTerminal(ended.state) && ended.state !== 'canceled') {
      throw new LangoError('not-cancelable', `the task is ${ended.state} already`);
    }
    return ended;
  }

  read(taskId: string, after: number, limit: number): Promise<readonly TaskEvent[]> {
    return this.#store.read(taskId, after, limit);
  }

  async *follow(taskId: string, after: number, signal: AbortSignal): AsyncIterable<readonly TaskEvent[]> {
    const watch = this.#hints.watch(taskId, signal);
    try {
      for (let cursor = after; !signal.aborted;) {
        const events = await this.#store.read(taskId, cursor, FOLLOW_PAGE);
        const last = events.at(-1);
        if (last) {
          yield events;
          if (last.body.type === 'run-end' && isTerminal(last.body.state)) return;
          cursor = last.seq;
        }
        if (events.length < FOLLOW_PAGE) await watch.next();
      }
    } finally {
      watch.close();
    }
  }

  async #addInput(
    submission: Submission,
    target: { readonly taskId: string; readonly requestHash: string },
  ): Promise<AcceptOutcome> {
    const { scope, agent, contextId } = submission;
    const { taskId } = target;
    const task = await this.#store.get(scope, taskId);
    if (task?.agent !== agent) throw noInput('not-found', taskId);
    if (contextId !== undefined && contextId !== task.contextId) {
      throw new LangoError('invalid-input', `task ${taskId} belongs to another context`);
    }
    if (isFull(task.head, this.#eventsPerTask) && !isTerminal(task.state))
      throw taskIsFull(this.#eventsPerTask);
    return this.#worker.withPlace(task.grant, async (lease) => {
      const outcome = await this.#store.addInput({ ...submission, ...target, lease });
      if (outcome.kind === 'not-found' || outcome.kind === 'already-ended')
        throw noInput(outcome.kind, taskId);
      if (outcome.kind === 'accepted' && outcome.leased) this.#worker.launch(outcome.task);
      return outcome;
    });
  }

  async #untilEnded(scope: Scope, task: TaskRecord): Promise<TaskRecord> {
    const waiting = AbortSignal.timeout(CANCEL_WAIT_MS);
    const events = this.follow(task.id, task.head, waiting)[Symbol.asyncIterator]();
    while (!(await events.next()).done);
    return (await this.#store.get(scope, task.id)) ?? task;
  }
}

function newTask(submission: Submission, requestHash: string): NewTask {
  const { scope, agent, message, contextId = newId(), parentTaskId, grant, push } = submission;
  return { id: newId(), scope, agent, contextId, parentTaskId, grant, message, requestHash, push };
}

function noInput(why: 'not-found' | 'already-ended', taskId: string): LangoError {
  if (why === 'not-found') return new LangoError('not-found', `there is no task ${taskId}`);
  return new LangoError('already-ended', `task ${taskId} has ended and takes no more messages`, {
    hint: 'Send the message without a task id, in the same context, to start a new task.',
  });
}
