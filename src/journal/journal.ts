import { LangoError } from '../core/errors.js';
import { newId } from '../core/ids.js';
import type { Accepted, Journal, Submission, TaskPage, TaskQuery, Watched } from '../core/journal.js';
import { canonicalJson } from '../core/canonical-json.js';
import { textOf, type Message } from '../core/message.js';
import { repliesIn, questionsIn } from '../core/questions.js';
import { DECISION, decisionIn } from '../core/decisions.js';
import { noSecrets, type Scrubber, type SecretGuard } from '../core/secrets.js';
import type { EarlierMessage, NewFork, NewInput, NewTask, TaskStore } from '../stores/tasks.js';
import { isTerminal, type Question, type Scope, type TaskEvent, type TaskRecord } from '../core/task.js';
import { wellFormed } from '../core/text.js';
import { scrubData, scrubEvent, scrubMessage } from '../scrub/data.js';
import { AppendNotifications } from './append-notifications.js';
import { isFull, taskIsFull } from './event-writer.js';
import { Worker, type WorkerOptions } from './worker.js';

/** The longest time that `cancel` waits for the run to end. */
const CANCEL_WAIT_MS = 10_000;

export interface JournalOptions extends Omit<WorkerOptions, 'worker' | 'secrets' | 'onLiveText'> {
  /** Removes the values of secrets from everything that is appended. Default: there are no secrets. */
  readonly secrets?: WorkerOptions['secrets'];
}

export class RunningJournal implements Journal {
  readonly #options: JournalOptions;
  readonly #store: TaskStore;
  readonly #worker: Worker;
  readonly #secrets: Pick<SecretGuard, 'scrubber'>;
  readonly #notifications: AppendNotifications;

  constructor(options: JournalOptions) {
    this.#options = options;
    this.#store = options.store;
    this.#notifications = new AppendNotifications({
      store: options.store,
      liveText: (taskId, after) => this.#worker.liveText(taskId, after),
    });
    this.#secrets = options.secrets ?? noSecrets;
    this.#worker = new Worker({
      ...options,
      secrets: this.#secrets,
      worker: newId(),
      onLiveText: (taskId) => this.#notifications.notifyLive(taskId),
    });
  }

  /** Continues the tasks that an earlier process left unfinished. */
  start(): Promise<void> {
    this.#store.onAppend((taskId, head) => {
      this.#notifications.notify(taskId, head);
      this.#worker.notify(taskId, head);
    });
    return this.#worker.start();
  }

  /**
   * Ends the runs, each after its step under way, without closing their tasks, and their leases. The store stays open: new
   * tasks are stored for another process or the next start, and followers still see what is appended.
   */
  stop(): Promise<void> {
    return this.#worker.stop();
  }

  /** Resolves after the commit of inbox row, task row and message event. No client hears of a task before that. */
  async submit(given: Submission): Promise<Accepted> {
    const taskId = given.taskId ?? (mayDecide(given) ? await this.#taskDecidedBy(given) : undefined);
    const scrubber = this.#secrets.scrubber(given.scope);
    const message = scrubMessage(wellFormed(given.message), scrubber);
    const submission = {
      ...given,
      message,
      ...(given.request && { request: scrubData(wellFormed(given.request), scrubber) }),
    };
    const isSame = (earlier: EarlierMessage) => isSameMessage(submission, earlier, scrubber);
    const outcome =
      taskId === undefined
        ? await this.#worker.accept(newTask(submission, isSame))
        : await this.#addInput(submission, { taskId, isSame });
    if (outcome.kind === 'conflict') {
      throw new LangoError('conflict', `The message id ${message.id} was already used with other content.`, {
        hint: 'Use a new message id for a new message.',
      });
    }
    return { task: outcome.task, seq: outcome.seq, repeated: outcome.kind === 'repeated' };
  }

  /** Stores a fork and begins its run, as soon as one can begin. Rejects like `TaskStore.fork`. */
  async fork(entry: NewFork): Promise<TaskRecord> {
    const scrubber = this.#secrets.scrubber(entry.scope);
    const events = entry.events.map((event) => ({
      ...event,
      body: scrubEvent(wellFormed(event.body), scrubber),
    }));
    await this.#options.disk?.admit(entry.scope, events);
    const task = await this.#store.fork({ ...entry, events });
    await this.#worker.claim();
    return task;
  }

  get(scope: Scope, taskId: string): Promise<TaskRecord | undefined> {
    return this.#store.get(scope, taskId);
  }

  list(scope: Scope, query: TaskQuery): Promise<TaskPage> {
    return this.#store.list(scope, query);
  }

  async cancel(scope: Scope, taskId: string): Promise<TaskRecord> {
    const known = await this.#store.get(scope, taskId);
    if (known && !isTerminal(known.state)) await this.#worker.cancelDelegations(known);
    const task = known && (await this.#store.requestCancel(scope, taskId));
    if (!task) throw new LangoError('not-found', `Task not found. There is no task ${taskId}.`);
    const ended = isTerminal(task.state) ? task : await this.#untilEnded(scope, task);
    if (isTerminal(ended.state) && ended.state !== 'canceled')
      throw new LangoError('not-cancelable', `The task is already ${ended.state}.`);
    return ended;
  }

  read(taskId: string, after: number, limit: number): ReturnType<Journal['read']> {
    return this.#store.read(taskId, after, limit);
  }

  async *follow(taskId: string, after: number, signal: AbortSignal): AsyncIterable<readonly TaskEvent[]> {
    const subscription = this.#notifications.subscribe({ taskId, after, signal, isLive: false });
    for await (const { events } of subscription) yield events;
  }

  watch(taskId: string, after: number, signal: AbortSignal): AsyncIterableIterator<Watched, undefined> {
    return this.#notifications.subscribe({ taskId, after, signal, isLive: true });
  }

  /**
   * The task that waits for an approval and that a message without a task's id can only mean: a text that is nothing but a
   * decision, in the task's context. Otherwise "yes" would begin a new task while the question stays open.
   */
  async #taskDecidedBy({ scope, agent, contextId, message }: Submission): Promise<string | undefined> {
    const text = textOf(message.parts);
    const query = { agent, contextId, state: 'input-required', pageSize: 100 } as const;
    const { tasks } = await this.#store.list(scope, query);
    const waiting = tasks.filter((task) => questionsOf(task).some(({ kind }) => kind !== 'input'));
    const isNamed = ({ hash }: Question) => decisionIn(text, hash) !== undefined;
    const named = waiting.find((task) => questionsOf(task).some(isNamed));
    return (named ?? waiting[0])?.id;
  }

  async #addInput(submission: Submission, target: Pick<NewInput, 'taskId' | 'isSame'>) {
    const { scope, agent, contextId } = submission;
    const { taskId } = target;
    const { disk, eventsPerTask } = this.#options;
    const task = await this.#store.get(scope, taskId);
    if (task?.agent !== agent) throw inputError('not-found', taskId);
    if (contextId !== undefined && contextId !== task.contextId)
      throw new LangoError('invalid-input', `The task ${taskId} belongs to another context.`);
    if (submission.mayDecide === false) assertNoDecision(submission.message, task);
    if (!isTerminal(task.state)) {
      if (isFull(task.head, eventsPerTask)) throw taskIsFull(eventsPerTask);
      await disk?.admit(scope, submission.message);
    }
    return this.#worker.withSlot(task, async (lease) => {
      const outcome = await this.#store.addInput({ ...submission, ...target, lease });
      if (outcome.kind === 'not-found' || outcome.kind === 'already-ended')
        throw inputError(outcome.kind, taskId);
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

/**
 * Whether the content is that of the earlier message, as far as it is known, and it was for the same task. Without a task's
 * id the sender may have decided a question of that task. The earlier message may hold what has become a secret since.
 */
function isSameMessage(sent: Submission, earlier: EarlierMessage, scrubber: Scrubber): boolean {
  const { taskId, message } = sent;
  if (taskId !== undefined && (taskId !== earlier.taskId || earlier.seq === 1)) return false;
  if (!earlier.message) return true;
  const contentOf = ({ role, parts }: Message) => canonicalJson([role, parts]);
  return contentOf(message) === contentOf(scrubMessage(earlier.message, scrubber));
}

function newTask(submission: Submission, isSame: NewTask['isSame']): NewTask {
  const { scope, agent, message, request, contextId: givenContextId, parentTaskId, grant, push } = submission;
  const ids = { id: newId(), contextId: givenContextId ?? newId(), givenContextId, parentTaskId };
  return { ...ids, scope, agent, grant, message, request, isSame, push };
}

function questionsOf({ statusMessage }: TaskRecord): readonly Question[] {
  return questionsIn(statusMessage?.parts ?? []);
}

/** Throws `forbidden` when the message decides an approval that the task waits for. */
function assertNoDecision({ parts }: Message, task: TaskRecord): void {
  const asked = questionsOf(task);
  const inputs = new Set(asked.filter(({ kind }) => kind === 'input').map(({ hash }) => hash));
  const text = textOf(parts);
  const isDecided =
    repliesIn(parts).some(({ hash }) => typeof hash !== 'string' || !inputs.has(hash)) ||
    asked.some(({ kind, hash }) => kind !== 'input' && decisionIn(text, hash) !== undefined);
  if (!isDecided) return;
  throw new LangoError('forbidden', 'This caller may not approve or deny calls (approval.by).');
}

function inputError(why: 'not-found' | 'already-ended', taskId: string): LangoError {
  if (why === 'not-found') return new LangoError('not-found', `Task not found. There is no task ${taskId}.`);
  return new LangoError('already-ended', `The task ${taskId} has ended and takes no more messages.`, {
    hint: 'Send the message without a task id, in the same context, to start a new task.',
  });
}

const BARE_YES = /^(?:yes|ok|okay|approve|approved)[.!]?$/i;

/** Whether a message says nothing but a decision, of any question, or a bare "yes", and names a context. */
function mayDecide({ contextId, message }: Submission): boolean {
  if (contextId === undefined) return false;
  const text = textOf(message.parts).trim();
  return DECISION.test(text) || BARE_YES.test(text);
}
