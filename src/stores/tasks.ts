import { Contract } from '../core/service.js';
import type { Journal, Submission } from '../core/journal.js';
import type { JsonObject } from '../core/json.js';
import type { Message } from '../core/message.js';
import type { Page } from '../core/page.js';
import type { NewPush } from '../core/push.js';
import type { NewEvent, Scope, TaskEvent, TaskRecord } from '../core/task.js';

/**
 * The durable state of the journal. Every write is atomic, resolves after commit, and rejects with `storage` when the
 * database fails (the original error is the cause). Writes of one turn of the event loop may share a transaction.
 */
export interface TaskStore extends Pick<Journal, 'get' | 'list' | 'read'> {
  /** Returns what `accept` gives for an earlier message; undefined for a new one. Rejects with `too-many` (push configs). */
  findEarlier(entry: NewTask): EarlierOutcome | undefined | Promise<EarlierOutcome | undefined>;
  /**
   * Creates a task in one transaction: its inbox row, its task row, event 1 and the events of `start`. Without `start` the
   * task waits for `claim`. The outcome holds the task as of event 1. For a message id that this owner sent to this agent
   * before, gives the earlier task and keeps its push configs. Rejects with `too-many` like `findEarlier`.
   */
  accept(entry: NewTask, start?: TaskStart): Promise<AcceptOutcome>;
  /**
   * Creates a task that shares the first events of another one of its owner, and has its agent. The fork waits for `claim`.
   * The other task cannot be removed by its age before the fork is. Rejects with `not-found`, and with `invalid-input` for
   * events that the other task does not have.
   */
  fork(entry: NewFork): Promise<TaskRecord>;
  /** Adds a message to a task that has not ended. Leases an idle task to `lease`, when that is set. */
  addInput(entry: NewInput): Promise<InputOutcome>;
  /**
   * Appends events with the next numbers, renews the lease and resolves with the new head. Rejects with `fenced`, with
   * nothing written, when the task has another epoch or has ended.
   */
  append(fence: Fence, events: readonly NewEvent[]): Promise<number>;
  /**
   * In one transaction, moves all events from the first missing or damaged one on out of the journal, replaces them by
   * empty ones, and appends `end`. Resolves with the number of the first one; undefined, with nothing written, when all can
   * be read. Rejects with `fenced` like `append`.
   */
  endDamaged(fence: Fence, end: NewEvent): Promise<number | undefined>;
  /**
   * In one transaction, ends an idle task as canceled, or appends a `cancel-request` for the worker of a leased task. A
   * repeat adds nothing. Undefined for a task that is not in this scope.
   */
  requestCancel(scope: Scope, taskId: string): Promise<TaskRecord | undefined>;
  /** Whether `claim` or `claimSuspect` may find something: it costs much less than they do. */
  waits(agents: readonly string[]): Promise<boolean>;
  /**
   * Leases unfinished tasks of these agents that have no lease and are no suspects, and raises their epochs: of each owner
   * in turn the oldest, and of tasks with `level` delegations above them at most `room(level)`. Before that, appends a
   * `question-expiry` to their waiting tasks with a question whose `expiresAt` has passed by the store's clock; these
   * tasks are unfinished again.
   */
  claim(worker: string, agents: readonly string[], room: ClaimRoom): Promise<readonly TaskRecord[]>;
  /**
   * Leases one unfinished task that may crash its process (see `SUSPECT_CRASHES`), unless such a task is leased already.
   * Children come before their parents, and tasks with fewer crashes first. `claim` leaves these tasks out.
   */
  claimSuspect(worker: string, agents: readonly string[]): Promise<TaskRecord | undefined>;
  /**
   * Renews leases of `worker`; call it every `LEASE_RENEW_MS`. Resolves with the heads of the tasks whose lease the worker
   * still has, so that their runs find what other processes appended even if a notification was lost.
   */
  renew(worker: string, taskIds: readonly string[]): Promise<readonly TaskHead[]>;
  /**
   * Raises the epoch of a task that `worker` has leased, also if the lease has expired, and renews the lease. An append with
   * the old epoch that is still under way is then refused. Undefined when the worker does not have the task any more.
   */
  retake(worker: string, fence: Fence): Promise<Fence | undefined>;
  /** Ends the lease of one task, or all leases of `worker`, so that others can claim the tasks at once. */
  release(worker: string, taskId?: string): Promise<void>;

  /** The reason that the previous process recorded at its crash. Undefined if it stopped, was killed, or ran out of memory. */
  readonly lastCrash: string | undefined;
  /** Records why this process crashes, for the next one. Returns after the write. Never throws. */
  noteCrash(reason: string): void;

  /**
   * Reads the newest `limit` conversation events of earlier tasks of the session, the oldest first. Without `unfinished`,
   * only those of tasks that had ended when `task` was accepted, so that every run of `task` reads the same. With `after`,
   * only events of tasks later than that task.
   */
  readSession(
    task: TaskRecord,
    limit: number,
    range?: { readonly after?: string | undefined; readonly unfinished?: boolean },
  ): Promise<readonly TaskEvent[]>;

  /** Calls `listener` after each commit with each task that got events and its newest `seq`. Returns the unsubscribe function. */
  onAppend(listener: (taskId: string, head: number) => void): () => void;
  /** Reads the heads of tasks, for a follower that may have missed a notification. Leaves out removed tasks. */
  heads(taskIds: readonly string[]): Promise<readonly TaskHead[]>;
  /** The interval at which a follower calls `heads`, in milliseconds; undefined if `onAppend` reports every append. */
  readonly pollMs: number | undefined;
}

/** The number of tasks that may be claimed at a level of delegation. */
export interface ClaimRoom {
  (level: number): number;
  /** The owners that get no more tasks at the level, when those of `claimed` got one for each mention. Default: none. */
  readonly full?: (level: number, claimed: readonly Scope[]) => readonly Scope[];
}

export interface TaskHead {
  readonly id: string;
  /** The `seq` of the newest event. */
  readonly head: number;
}

export interface Fence {
  readonly taskId: string;
  readonly epoch: number;
}

export interface NewTask extends Pick<Submission, 'scope' | 'agent' | 'parentTaskId' | 'grant' | 'message'> {
  readonly id: string;
  readonly contextId: string;
  /** The context that the sender named. Message ids are unique in it; without one they are known for a limited time. */
  readonly givenContextId?: string | undefined;
  /** The other members of the request, for agents that read them. */
  readonly request?: JsonObject | undefined;
  /** Tells a repeat from a conflict. Called only for a message id that was used before. */
  readonly isSame: (earlier: EarlierMessage) => boolean;
  /** A push config for the events after the message, stored in the same transaction. */
  readonly push?: NewPush | undefined;
  /** A task that would have to wait is refused with `too-many` when its owner has this many unfinished tasks at its level. */
  readonly queueLimit?: number;
}

/** A task that begins with events of another one. */
export interface NewFork extends Pick<NewTask, 'scope' | 'id' | 'contextId' | 'grant'> {
  /** The task whose events it shares, from the first to the one with the number `at`. */
  readonly of: string;
  readonly at: number;
  /** The events that follow, at least one. */
  readonly events: readonly NewEvent[];
}

/** An earlier message with the same id, and its task. */
export interface EarlierMessage {
  readonly taskId: string;
  readonly seq: number;
  /** Undefined when its event is damaged. */
  readonly message: Message | undefined;
}

/** The start of a task whose run begins before the task is stored. */
export interface TaskStart {
  /** The worker that gets the lease. */
  readonly worker: string;
  /** The events that the run has written so far. */
  readonly firstEvents: readonly NewEvent[];
}

export interface NewInput extends Pick<
  NewTask,
  'scope' | 'agent' | 'message' | 'request' | 'isSame' | 'push'
> {
  readonly taskId: string;
  /** The head that the task must have: another one is `fenced`. */
  readonly ifHead?: number;
  readonly lease: string | undefined;
}

export type AcceptOutcome =
  | {
      readonly kind: 'accepted';
      readonly task: TaskRecord;
      readonly seq: number;
      /** Whether this call took the lease. */
      readonly leased: boolean;
    }
  | EarlierOutcome;

export type InputOutcome =
  AcceptOutcome | Readonly<{ kind: 'not-found' }> | Readonly<{ kind: 'already-ended' }>;

/** The outcome for a message id that this owner sent to this agent before. */
export type EarlierOutcome =
  | { readonly kind: 'repeated'; readonly task: TaskRecord; readonly seq: number }
  | { readonly kind: 'conflict' };

/** Returns a new task as of its first event. `at` is in milliseconds since the epoch. */
export function taskOfNew(entry: NewTask, at: number): TaskRecord {
  return {
    id: entry.id,
    tenant: entry.scope.tenant,
    owner: entry.scope.owner,
    agent: entry.agent,
    contextId: entry.contextId,
    parentTaskId: entry.parentTaskId,
    grant: entry.grant,
    state: 'submitted',
    statusMessage: undefined,
    head: 1,
    epoch: 1,
    crashes: 0,
    createdAt: at,
    statusAt: at,
  };
}

/**
 * A task is suspected of crashing its process when this many processes ended without a stop while it was leased, and it
 * recorded no step in between. Many tasks may be leased at a crash, so a suspect is run again without other suspects.
 */
export const SUSPECT_CRASHES = 3;

/** The life of a lease without a renewal or an append, in milliseconds of the store's clock. */
export const LEASE_MS = 3_000;

/** The pause between two renewals of leases, in milliseconds. A process that missed two of them may be gone. */
export const LEASE_RENEW_MS = 500;

/** The number of tasks of all owners with this agent and state. */
export interface OpenTaskCount {
  readonly agent: string;
  readonly state: 'submitted' | 'working';
  readonly value: number;
}

/** Lists and removes tasks. The rules of `TaskStore` apply. */
export interface RetentionStore {
  /**
   * Reads the next `limit` tasks of all owners and lists those that ended at least `ageMs` ago by the store's clock, a
   * child only once its parent is removed or listed before it, and a task only once its forks are removed.
   */
  listEnded(ageMs: number, after: string, limit: number): Promise<Page<string>>;
  /** Lists an owner's tasks, of all agents; each once, unless its state changes. Throws `invalid-input` for a wrong `after`. */
  listOwned(scope: Scope, after: string, limit: number): Promise<Page<TaskRecord>>;
  /** Lists the next `limit` owners of tasks after `after`, by tenant and name. */
  listOwners(after: Scope, limit: number): Promise<readonly Scope[]>;
  /** Counts the tasks of all owners that run or wait for a run. Reads no others, so it is quick in a large database. */
  countOpen(): Promise<readonly OpenTaskCount[]>;
  /** Lists the newest tasks of an owner that run or wait for a run. Reads no others. */
  listOpen(scope: Scope, limit: number): Promise<readonly TaskRecord[]>;
  /** Lists the tasks of an owner in a context, of all agents, and those of the forks of these tasks, the newest first. */
  listContext(scope: Scope, contextId: string, limit: number): Promise<readonly TaskRecord[]>;
  /**
   * Removes tasks with their events, idempotency rows and push configs, and resolves with their ids. Skips tasks that have
   * not ended, or whose parent is stored here and has not ended, or that have a fork, unless `forked`. After the first commit they are not listed any more; small
   * transactions remove the rest, and after a crash the next call removes it.
   */
  remove(taskIds: readonly string[], forked?: boolean): Promise<readonly string[]>;
}

/** Stores what the tasks of each owner take in the database, in bytes of their events. The rules of `TaskStore` apply. */
export interface TaskUseStore {
  /** Resolves with the bytes of an owner; 0 for one that is not known. */
  of(scope: Scope): Promise<number>;
  /** Adds bytes and resolves with the sum. The removal of tasks subtracts them. */
  add(scope: Scope, bytes: number): Promise<number>;
}

export const TASKS = new Contract<TaskStore>('task store');
