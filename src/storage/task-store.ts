import type { TaskPage, TaskQuery } from '../core/journal.js';
import { first, lockOf, run, type Query, type SqlDatabase } from '../core/sql.js';
import type { NewEvent, Scope, TaskEvent, TaskRecord } from '../core/task.js';
import { assertKeys } from '../stores/records.js';
import { LEASE_MS } from '../stores/tasks.js';
import type { Fence, InputOutcome, NewFork, NewInput, TaskHead, TaskStore } from '../stores/tasks.js';
import { forkTask } from './forks.js';
import type { Processes } from './push-store.js';
import type { RecentEvents } from './recent-events.js';
import { encodeBatch, encodeMessage, toTaskRecord, type EncodedBatch, type TaskRow } from './rows.js';
import { SessionCache, sessionEvents } from './session-events.js';
import type { TaskContext } from './task-changes.js';
import { addInput, cancelTask, claimTasks, headsOf, setDamagedAside, toClaimed } from './task-changes.js';
import { listTasks, type TaskCounts } from './task-list.js';
import { taskSql, type TaskSql } from './task-sql.js';

/** The limits of stored messages and events. */
export interface TaskLimits {
  /** The largest event of a task, in bytes. Default: 256 KiB. */
  readonly eventBytes?: number | undefined;
  /** The time that the id of a message without a context is known, in milliseconds. Default: a day. */
  readonly messageIdMs?: number | undefined;
}

/** Parts that are shared with other stores of the same database. */
export interface StoreParts extends Pick<TaskLimits, 'eventBytes'> {
  readonly recent: RecentEvents;
  /** Undefined when other processes add and remove tasks too. */
  readonly counts?: TaskCounts;
  /** Undefined when no other process uses the database. */
  readonly processes?: Processes;
}

/** Takes no lock: the locked row of a task already excludes other writers of the task. */
export const NO_LOCK = '';

/** The methods that the task stores of both databases share. Each store adds the rest of `TaskStore`. */
export abstract class SqlTaskStore<Database extends SqlDatabase, Parts extends StoreParts> {
  protected readonly database: Database;
  protected readonly parts: Parts;
  protected readonly sql: TaskSql;
  readonly #served = new Map<number, Scope>();
  /** Only for an embedded database: one more statement over the network costs more than the events. */
  readonly #sessions: SessionCache | undefined;

  constructor(database: Database, parts: Parts) {
    this.database = database;
    this.parts = parts;
    this.sql = taskSql(database.dialect);
    this.#sessions = database.isShared ? undefined : new SessionCache();
  }

  /** Runs a write, and announces its events after the commit. */
  protected abstract write<Result>(
    lock: string,
    work: (context: TaskContext) => Query<Result>,
  ): Promise<Result>;

  /** Appends events within a write. */
  protected abstract appendWithin(context: TaskContext, fence: Fence, batch: EncodedBatch): Query<unknown>;

  /** Returns the key of the next task; undefined for a database that numbers tasks itself. */
  protected nextKey(): number | undefined {
    return undefined;
  }

  async fork(entry: NewFork): Promise<TaskRecord> {
    const { events } = encodeBatch(entry.events, this.parts.eventBytes);
    assertKeys({ contextId: entry.contextId });
    const key = this.nextKey();
    return this.write(NO_LOCK, (context) => forkTask(context, entry, { events, key }));
  }

  async addInput(entry: NewInput): Promise<InputOutcome> {
    const { processes, eventBytes } = this.parts;
    const event = encodeMessage(entry, eventBytes);
    if (processes && entry.lease !== undefined) await processes.add(entry.lease);
    const lock = entry.push ? lockOf(entry.scope) : NO_LOCK;
    return this.write(lock, (context) => addInput(context, entry, event));
  }

  async endDamaged(fence: Fence, end: NewEvent): Promise<number | undefined> {
    const batch = encodeBatch([end], this.parts.eventBytes);
    this.parts.recent.forget([fence.taskId]);
    const append = (context: TaskContext) => this.appendWithin(context, fence, batch);
    return this.write(NO_LOCK, function* (context) {
      const damaged = yield* setDamagedAside(context, fence);
      if (damaged !== undefined) yield* append(context);
      return damaged;
    });
  }

  async requestCancel(scope: Scope, taskId: string): Promise<TaskRecord | undefined> {
    return this.write(NO_LOCK, (context) => cancelTask(context, scope, taskId));
  }

  async claim(...[worker, agents, room]: Parameters<TaskStore['claim']>): Promise<readonly TaskRecord[]> {
    const { processes } = this.parts;
    if (processes) {
      await processes.add(worker);
      await processes.freeDead();
    }
    let served = new Map<number, Scope>();
    const tasks = await this.write(NO_LOCK, (context) => {
      // The work may run again from its start, so the served owners are taken over only after it has succeeded.
      served = new Map(this.#served);
      return claimTasks(context, { worker, agents, room, served });
    });
    served.forEach((scope, level) => this.#served.set(level, scope));
    return this.known(tasks);
  }

  async claimSuspect(worker: string, agents: readonly string[]): Promise<TaskRecord | undefined> {
    const { claimSuspect } = this.sql;
    const names = JSON.stringify(agents);
    // The lock allows one suspect at a time, over all processes.
    const row = await this.database.write('suspects', (now) =>
      first<TaskRow>(claimSuspect, worker, now + LEASE_MS, names, now),
    );
    return row && this.known([toClaimed(row)])[0];
  }

  async retake(worker: string, { taskId, epoch }: Fence): Promise<Fence | undefined> {
    const { processes } = this.parts;
    if (processes) await processes.add(worker);
    const row = await this.database.write(NO_LOCK, (now) =>
      first<Pick<TaskRow, 'epoch'>>(this.sql.retake, now + LEASE_MS, taskId, epoch, worker),
    );
    return row && { taskId, epoch: row.epoch };
  }

  async release(worker: string, id?: string): Promise<void> {
    const values = { worker, every: id === undefined ? 1 : 0, id: id ?? '' };
    await this.database.write(NO_LOCK, () => run(this.sql.release, values));
  }

  async get({ tenant, owner }: Scope, taskId: string): Promise<TaskRecord | undefined> {
    const row = await this.database.read(() => first<TaskRow>(this.sql.task, taskId, tenant, owner));
    return row && this.known([toTaskRecord(row)])[0];
  }

  async list(scope: Scope, query: TaskQuery): Promise<TaskPage> {
    const from = { dialect: this.database.dialect, counts: this.parts.counts };
    return this.database.read(() => listTasks(from, scope, query));
  }

  readSession(...asked: Parameters<TaskStore['readSession']>): Promise<readonly TaskEvent[]> {
    return this.database.read(() => sessionEvents(this.sql, asked, this.#sessions));
  }

  async heads(taskIds: readonly string[]): Promise<readonly TaskHead[]> {
    return this.known(await this.database.read(() => headsOf(this.sql, taskIds)));
  }

  /** Makes sure that a caller which gets the head of a task here can read all events up to it. */
  protected known<Row extends TaskHead>(rows: readonly Row[]): readonly Row[] {
    for (const row of rows) this.parts.recent.forgetBehind(row);
    return rows;
  }
}
