import type { ExtractionStore, GraphStore } from './graph.js';
import type { TaskPage, TaskQuery } from './journal.js';
import type { KnowledgeStore } from './knowledge.js';
import type { LibraryStore } from './library.js';
import type { MemoryStore } from './memory.js';
import type { Message } from './message.js';
import type { Page } from './page.js';
import type { PaymentStore } from './payment.js';
import type { NewPush, PushStore } from './push.js';
import type { Grant, NewEvent, Scope, TaskEvent, TaskRecord } from './task.js';
import type { VaultStore } from './vault.js';

/** One database with everything that is kept. One implementation per kind of database. */
export interface Storage {
  /** A name for it that stays the same over restarts. */
  readonly nodeId: string;
  readonly tasks: TaskStore;
  readonly retention: RetentionStore;
  readonly payments: PaymentStore;
  readonly graph: GraphStore;
  readonly extraction: ExtractionStore;
  readonly vault: VaultStore;
  readonly memory: MemoryStore;
  readonly pushes: PushStore;
  readonly knowledge: KnowledgeStore;
  readonly library: LibraryStore;
  /**
   * Takes away what deleted data left behind: nothing of it is in the files any more. May take seconds for a large
   * database, in steps between which others get their turn. Rejects with code `storage`.
   */
  purge(): Promise<void>;
  /** Finishes what was asked for before; afterwards every store of it refuses with code `storage`. Never rejects. */
  close(): Promise<void>;
}

/**
 * Durable state of the journal. One implementation per database, all held to one contract suite.
 * Every write is atomic, resolves after commit, and rejects with code `storage` when the database
 * fails (the original as cause). Writes of one turn of the event loop may share a transaction.
 */
export interface TaskStore {
  /**
   * What `accept` would give for a message that was sent before; undefined for a new one. Rejects with `too-many` when
   * there is no room for `push`.
   */
  findEarlier(entry: NewTask): Promise<EarlierOutcome | undefined>;
  /**
   * Inbox row, task row, event 1 and those of `start` in one transaction; without `start` the task waits for `claim`. The
   * outcome holds the task as it is with event 1. A message id that this owner already sent to this agent gives the
   * earlier task, and leaves its push configs as they are. Rejects with `too-many` when there is no room for `push`.
   */
  accept(entry: NewTask, start?: TaskStart): Promise<AcceptOutcome>;
  /** Inbox row and `message` event on an existing task that has not ended; leased when it was idle and `lease` is set. */
  addInput(
    entry: NewInput,
  ): Promise<AcceptOutcome | { readonly kind: 'not-found' } | { readonly kind: 'already-ended' }>;
  /**
   * Appends with the next numbers, if `epoch` still is the task's and it has not ended; else rejects
   * with code `fenced` and nothing is written. Renews the lease. Resolves with the new head.
   */
  append(fence: Fence, events: readonly NewEvent[]): Promise<number>;
  /**
   * Cancels in one transaction: an idle task ends as canceled at once; on a leased one a `cancel-request`
   * is appended for its worker. Repeats add nothing. Undefined when it is not in this scope.
   */
  requestCancel(scope: Scope, taskId: string): Promise<TaskRecord | undefined>;
  /**
   * Takes unfinished tasks of these agents whose lease ran out or never was, and raises their epoch: the oldest, up to
   * `free(level)` with so many delegations above them. Before that, each of their tasks that waits with a question whose
   * `expiresAt` has come by the store's clock gets a `question-expiry`, and so is unfinished again.
   */
  claim(
    worker: string,
    agents: readonly string[],
    free: (level: number) => number,
  ): Promise<readonly TaskRecord[]>;
  /** Renews leases held by `worker`; resolves with the ids of those that are lost. */
  renew(worker: string, taskIds: readonly string[]): Promise<readonly string[]>;
  /** Gives all leases of `worker` back, so that others (or the next start) may claim at once. */
  release(worker: string): Promise<void>;

  get(scope: Scope, taskId: string): Promise<TaskRecord | undefined>;
  list(scope: Scope, query: TaskQuery): Promise<TaskPage>;
  read(taskId: string, after: number, limit: number): Promise<readonly TaskEvent[]>;
  /**
   * Conversation events of earlier tasks of this task's session, oldest first, the newest `limit`; with `after`
   * only those of tasks later than that one.
   */
  readSession(task: TaskRecord, limit: number, after?: string): Promise<readonly TaskEvent[]>;

  /**
   * Called after commit with each task that got events, and the `seq` of its newest: a hint to look, nothing more.
   * Returns the way to stop.
   */
  onAppend(listener: (taskId: string, head: number) => void): () => void;
}

export interface Fence {
  readonly taskId: string;
  readonly epoch: number;
}

export interface NewTask {
  readonly id: string;
  readonly scope: Scope;
  readonly agent: string;
  readonly contextId: string;
  readonly parentTaskId: string | undefined;
  readonly grant: Grant;
  readonly message: Message;
  /** Hash of what was sent, to tell a repeat from a conflict. */
  readonly requestHash: string;
  /** Stored in the same transaction, for the events after the message. */
  readonly push?: NewPush | undefined;
}

/** The start of a task whose run begins before the task is stored. */
export interface TaskStart {
  /** The worker that gets the lease. */
  readonly worker: string;
  /** The events that the run has written so far. */
  readonly firstEvents: readonly NewEvent[];
}

export interface NewInput {
  readonly scope: Scope;
  readonly agent: string;
  readonly taskId: string;
  readonly message: Message;
  readonly requestHash: string;
  readonly lease: string | undefined;
  readonly push?: NewPush | undefined;
}

export type AcceptOutcome =
  | {
      readonly kind: 'accepted';
      readonly task: TaskRecord;
      readonly seq: number;
      /** Whether the lease was taken by this call. */
      readonly leased: boolean;
    }
  | EarlierOutcome;

/** Of a message whose id this owner already sent to this agent. */
export type EarlierOutcome =
  | { readonly kind: 'repeated'; readonly task: TaskRecord; readonly seq: number }
  | { readonly kind: 'conflict' };

/** A task as it is with its first event. `at` is in milliseconds since the epoch. */
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
    attempts: 0,
    createdAt: at,
    statusAt: at,
  };
}

/** How long a lease lasts without a renewal or an append, in milliseconds of the store's clock. */
export const LEASE_MS = 10_000;

/** How tasks go when nobody needs them any more. The rules of `TaskStore` hold. */
export interface RetentionStore {
  /** The ids of tasks, of all owners, that ended at least `ageMs` ago by the store's clock; looks at `limit` tasks. */
  listEnded(ageMs: number, after: string, limit: number): Promise<Page<string>>;
  /**
   * All tasks of an owner, of whatever agent: each once, unless its state changes meanwhile. Throws `invalid-input` for
   * an `after` that was no `next`.
   */
  listOwned(scope: Scope, after: string, limit: number): Promise<Page<TaskRecord>>;
  /** Tasks of an owner in this context, of whatever agent. */
  listContext(scope: Scope, contextId: string, limit: number): Promise<readonly TaskRecord[]>;
  /**
   * Takes tasks away with all that belongs to them: events, idempotency rows, push configs. Passes over those that
   * have not ended, or whose parent is here and has not. From the first commit on nobody sees anything of them; the
   * rest goes in small transactions, and what a crash left of it goes with the next call. Resolves with the ids of
   * those that are gone.
   */
  remove(taskIds: readonly string[]): Promise<readonly string[]>;
}
