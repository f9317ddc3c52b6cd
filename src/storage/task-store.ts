import type { TaskPage, TaskQuery } from '../core/journal.js';
import { first, lockOf, type Query, type SqlDatabase } from '../core/sql.js';
import type { NewEvent, Scope, TaskEvent, TaskRecord } from '../core/task.js';
import { assertKeys } from '../stores/records.js';
import type { Fence, InputOutcome, NewFork, NewInput, TaskHead, TaskStore } from '../stores/tasks.js';
import { forkTask } from './forks.js';
import type { Processes } from './push-store.js';
import type { RecentEvents } from './recent-events.js';
import { toTaskRecord, type TaskRow } from './rows.js';
import { sessionEvents } from './session-events.js';
import type { EncodedBatch, TaskContext } from './task-changes.js';
import {
  addInput,
  cancelTask,
  claimSuspect,
  claimTasks,
  headsOf,
  releaseTasks,
  retakeTask,
  setDamagedAside,
} from './task-changes.js';
import { encodeBatch, encodeMessage, type TaskLimits } from './task-events.js';
import { listTasks, type TaskCounts } from './task-list.js';
import { taskSql, type TaskSql } from './task-sql.js';

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

/** What the task stores of both databases do alike. Those add the rest of `TaskStore`. */
export abstract class SqlTaskStore<Database extends SqlDatabase, Parts extends StoreParts> {
  protected readonly database: Database;
  protected readonly parts: Parts;
  protected readonly sql: TaskSql;
  readonly #served = new Map<number, Scope>();

  constructor(database: Database, parts: Parts) {
    this.database = database;
    this.parts = parts;
    this.sql = taskSql(database.dialect);
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
    // The lock allows one suspect at a time, over all processes.
    const task = await this.write('suspects', (context) => claimSuspect(context, worker, agents));
    return task && this.known([task])[0];
  }

  async retake(worker: string, fence: Fence): Promise<Fence | undefined> {
    const { processes } = this.parts;
    if (processes) await processes.add(worker);
    return this.write(NO_LOCK, (context) => retakeTask(context, worker, fence));
  }

  async release(worker: string, taskId?: string): Promise<void> {
    await this.database.write(NO_LOCK, () => releaseTasks(this.sql, worker, taskId));
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
    return sessionEvents(this.database, this.sql, asked);
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
