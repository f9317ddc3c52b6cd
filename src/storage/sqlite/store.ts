import { LangoError } from '../../core/errors.js';
import type { TaskPage, TaskQuery } from '../../core/journal.js';
import type { Logger } from '../../core/logger.js';
import type { AcceptOutcome, Fence, NewInput, NewTask, TaskStore } from '../../core/store.js';
import { LEASE_MS } from '../../core/store.js';
import type { NewEvent, Scope, TaskEvent, TaskRecord } from '../../core/task.js';
import type { EncodedEvent } from '../rows.js';
import { assertKeys, CALLER_AUTHOR, changeOf, encodeEvent, toTaskEvent, toTaskRecord } from '../rows.js';
import type { Connection } from './connection.js';
import { openConnection } from './connection.js';
import { storageError } from './failure.js';
import { GroupCommit } from './group-commit.js';
import type { Statements } from './statements.js';
import { prepareStatements } from './statements.js';
import { taskLister } from './task-list.js';
import type { WriteContext } from './task-writes.js';
import { acceptTask, addInput, appendEvents, cancelTask, claimTasks } from './task-writes.js';

export interface SqliteStoreOptions {
  /** A path in an existing folder, or ":memory:" for a store that is gone after `close`. */
  readonly file: string;
  /** `normal` outlives a killed process; `full` also a power cut, with a disk flush per group of writes. */
  readonly synchronous: 'normal' | 'full';
  readonly logger: Logger;
  /** The store's clock, in milliseconds since the epoch. Default: the machine's. */
  readonly now?: () => number;
}

/**
 * Opens a store for this process alone; it stays the only one until `close`, or until it dies. Leases of
 * an earlier process are void. Throws `LangoError` `storage` with advice when the folder is missing or
 * cannot be written, the file is damaged or not ours, comes from a newer version, or is in use.
 */
export function openSqliteStore(options: SqliteStoreOptions): TaskStore {
  const connection = openConnection(options);
  try {
    return new SqliteStore(connection, options);
  } catch (error) {
    connection.close();
    throw storageError(error);
  }
}

class SqliteStore implements TaskStore {
  readonly #connection: Connection;
  readonly #statements: Statements;
  readonly #commits: GroupCommit;
  readonly #list: (scope: Scope, query: TaskQuery) => TaskPage;
  readonly #now: () => number;
  #isOpen = true;

  constructor(connection: Connection, { logger, now = Date.now }: SqliteStoreOptions) {
    this.#connection = connection;
    this.#now = now;
    this.#statements = prepareStatements(connection.database);
    this.#commits = new GroupCommit(connection.database, logger);
    this.#list = taskLister(connection.database);
    this.#statements.releaseAll.run();
  }

  async accept(entry: NewTask): Promise<AcceptOutcome> {
    const event = encodeMessage(entry);
    assertKeys({ contextId: entry.contextId });
    return this.#write((context) => acceptTask(context, entry, event));
  }

  async addInput(entry: NewInput): ReturnType<TaskStore['addInput']> {
    const event = encodeMessage(entry);
    return this.#write((context) => addInput(context, entry, event));
  }

  async append(fence: Fence, events: readonly NewEvent[]): Promise<number> {
    const encoded = { change: changeOf(events), events: events.map(encodeEvent) };
    return this.#write((context) => appendEvents(context, fence, encoded));
  }

  async requestCancel(scope: Scope, taskId: string): Promise<TaskRecord | undefined> {
    return this.#write((context) => cancelTask(context, scope, taskId));
  }

  async claim(
    worker: string,
    agents: readonly string[],
    free: (level: number) => number,
  ): Promise<readonly TaskRecord[]> {
    return this.#write((context) => claimTasks(context, { worker, agents, free }));
  }

  async renew(worker: string, taskIds: readonly string[]): Promise<readonly string[]> {
    return this.#write(({ statements, now }) =>
      taskIds.filter((id) => statements.renew.run(now + LEASE_MS, id, worker).changes === 0),
    );
  }

  async release(worker: string): Promise<void> {
    return this.#write(({ statements }) => void statements.release.run(worker));
  }

  async get(scope: Scope, taskId: string): Promise<TaskRecord | undefined> {
    const row = this.#read(() => this.#statements.task.get(taskId, scope.tenant, scope.owner));
    return row && toTaskRecord(row);
  }

  async list(scope: Scope, query: TaskQuery): Promise<TaskPage> {
    return this.#read(() => this.#list(scope, query));
  }

  async read(taskId: string, after: number, limit: number): Promise<readonly TaskEvent[]> {
    // The numbers of a task have no gaps, so the next `limit` events are those up to `after + limit`.
    const rows = this.#read(() => this.#statements.events.all(taskId, after, after + limit));
    return rows.sort((a, b) => a.seq - b.seq).map(toTaskEvent);
  }

  async readSession(task: TaskRecord, limit: number): Promise<readonly TaskEvent[]> {
    const newestFirst = this.#read(() => this.#statements.sessionEvents.all(task.id, task.id, limit));
    return newestFirst.reverse().map(toTaskEvent);
  }

  onAppend(listener: (taskId: string) => void): () => void {
    return this.#commits.onCommit(listener);
  }

  nodeId(): string {
    return this.#connection.nodeId;
  }

  /** Commits what was asked for before, then refuses everything. Doing it again does nothing. */
  async close(): Promise<void> {
    if (!this.#isOpen) return;
    this.#commits.flush();
    this.#isOpen = false;
    this.#connection.close();
  }

  async #write<Result>(work: (context: WriteContext) => Result): Promise<Result> {
    this.#assertOpen();
    return this.#commits.run((touch) => work({ statements: this.#statements, now: this.#now(), touch }));
  }

  #read<Result>(query: () => Result): Result {
    this.#assertOpen();
    try {
      return query();
    } catch (error) {
      throw storageError(error);
    }
  }

  #assertOpen(): void {
    if (!this.#isOpen) throw new LangoError('storage', 'The store is closed.');
  }
}

/** The event of a message, after its names were checked. */
function encodeMessage({ scope, agent, message }: NewTask | NewInput): EncodedEvent {
  assertKeys({ tenant: scope.tenant, owner: scope.owner, agent, 'message.id': message.id });
  return encodeEvent({ author: CALLER_AUTHOR, body: { type: 'message', message } });
}
