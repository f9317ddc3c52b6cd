import type { TaskPage, TaskQuery } from '../../core/journal.js';
import type {
  AcceptOutcome,
  EarlierOutcome,
  Fence,
  InputOutcome,
  NewFork,
  NewInput,
  NewTask,
  TaskHead,
  TaskStart,
  TaskStore,
} from '../../stores/tasks.js';
import { rejected } from '../../core/errors.js';
import { column, first, run, type Query } from '../../core/sql.js';
import type { NewEvent, Scope, TaskEvent, TaskRecord } from '../../core/task.js';
import { withContents } from '../references.js';
import { forkTask, storedEventsOf } from '../forks.js';
import { damagedTask, toTaskEvent, toTaskRecord, type TaskRow } from '../rows.js';
import { assertKeys } from '../../stores/records.js';
import { sessionEvents } from '../session-events.js';
import { encodeBatch, encodeMessage, type TaskLimits } from '../task-events.js';
import type { SqliteDatabase } from './database.js';
import type { SqliteInbox } from './inbox.js';
import type { PushWrites } from '../push-store.js';
import type { RecentEvents } from '../recent-events.js';
import { type TaskCounts, listTasks } from '../task-list.js';
import {
  addInput,
  cancelTask,
  claimSuspect,
  claimTasks,
  earlierOrRoom,
  headsOf,
  releaseTasks,
  retakeTask,
  setDamagedAside,
} from '../task-changes.js';
import { taskSql, type TaskSql } from '../task-sql.js';
import { acceptTask, appendEvents, renewLeases, type SqliteContext } from './task-writes.js';
import { LAST_KEY, NOTE_CRASH, RELEASE_ALL, TAKE_CRASH } from './task-writes.js';

/** Parts that are shared with other stores of the same database. */
interface SharedParts extends Pick<TaskLimits, 'eventBytes'> {
  readonly inbox: SqliteInbox;
  readonly pushes: PushWrites;
  readonly recent: RecentEvents;
  readonly counts: TaskCounts;
}

/** The tasks of a database, for the journal. The constructor frees the leases of an earlier process. */
export class SqliteTaskStore implements TaskStore {
  readonly lastCrash: string | undefined;
  /** No other process appends. */
  readonly pollMs = undefined;
  readonly #database: SqliteDatabase;
  readonly #parts: SharedParts;
  readonly #sql: TaskSql;
  readonly #served = new Map<number, Scope>();
  /** The key of the newest task. No other process adds tasks. */
  #lastKey: number;

  constructor(database: SqliteDatabase, parts: SharedParts) {
    this.#database = database;
    this.#parts = parts;
    this.#sql = taskSql(database.dialect);
    database.run(run(RELEASE_ALL));
    [this.lastCrash] = database.run(column<string>(TAKE_CRASH));
    [this.#lastKey = 0] = database.run(column<number>(LAST_KEY));
    database.onTouch((taskId, events) => parts.recent.add(taskId, events));
  }

  findEarlier(entry: NewTask): EarlierOutcome | undefined {
    const { inbox, pushes } = this.#parts;
    return this.#database.readBeforeCommit(() => {
      if (!entry.push && !inbox.has(entry)) return undefined;
      const context = { sql: this.#sql, inbox, pushes, now: this.#database.clock() };
      return this.#database.run(earlierOrRoom(context, entry));
    });
  }

  async accept(entry: NewTask, start?: TaskStart): Promise<AcceptOutcome> {
    const message = encodeMessage(entry, this.#parts.eventBytes);
    const firstEvents = encodeBatch(start?.firstEvents ?? [], this.#parts.eventBytes);
    assertKeys({ contextId: entry.contextId });
    const key = (this.#lastKey += 1);
    return this.#write((context) =>
      acceptTask(context, entry, { message, firstEvents, worker: start?.worker, key }),
    );
  }

  async fork(entry: NewFork): Promise<TaskRecord> {
    const { events } = encodeBatch(entry.events, this.#parts.eventBytes);
    assertKeys({ contextId: entry.contextId });
    const key = (this.#lastKey += 1);
    return this.#write((context) => forkTask(context, entry, { events, key }));
  }

  async addInput(entry: NewInput): Promise<InputOutcome> {
    const event = encodeMessage(entry, this.#parts.eventBytes);
    return this.#write((context) => addInput(context, entry, event));
  }

  async append(fence: Fence, events: readonly NewEvent[]): Promise<number> {
    const batch = encodeBatch(events, this.#parts.eventBytes);
    return this.#write((context) => appendEvents(context, fence, batch));
  }

  async endDamaged(fence: Fence, end: NewEvent): Promise<number | undefined> {
    const batch = encodeBatch([end], this.#parts.eventBytes);
    this.#parts.recent.forget([fence.taskId]);
    return this.#write(function* (context) {
      const first = yield* setDamagedAside(context, fence);
      if (first !== undefined) yield* appendEvents(context, fence, batch);
      return first;
    });
  }

  async requestCancel(scope: Scope, taskId: string): Promise<TaskRecord | undefined> {
    return this.#write((context) => cancelTask(context, scope, taskId));
  }

  async waits(agents: readonly string[]): Promise<boolean> {
    const values = { now: this.#database.clock(), agents: JSON.stringify(agents) };
    const [waits] = await this.#database.read(() => column<number>(this.#sql.waits('@now'), values));
    return waits === 1;
  }

  async claim(...[worker, agents, room]: Parameters<TaskStore['claim']>): Promise<readonly TaskRecord[]> {
    return this.#write((context) => claimTasks(context, { worker, agents, room, served: this.#served }));
  }

  async claimSuspect(worker: string, agents: readonly string[]): Promise<TaskRecord | undefined> {
    return this.#write((context) => claimSuspect(context, worker, agents));
  }

  async renew(worker: string, taskIds: readonly string[]): Promise<readonly TaskHead[]> {
    return this.#database.write('tasks', (now) => renewLeases(worker, taskIds, now));
  }

  async retake(worker: string, fence: Fence): Promise<Fence | undefined> {
    return this.#write((context) => retakeTask(context, worker, fence));
  }

  async release(worker: string, taskId?: string): Promise<void> {
    await this.#database.write('tasks', () => releaseTasks(this.#sql, worker, taskId));
  }

  noteCrash(reason: string): void {
    try {
      this.#database.writeNow(run(NOTE_CRASH, reason));
    } catch {
      // The process ends anyway, and the database may be the reason.
    }
  }

  async get(scope: Scope, taskId: string): Promise<TaskRecord | undefined> {
    const { tenant, owner } = scope;
    const row = await this.#database.read(() => first<TaskRow>(this.#sql.task, taskId, tenant, owner));
    return row && toTaskRecord(row);
  }

  async list(scope: Scope, query: TaskQuery): Promise<TaskPage> {
    return this.#database.read(() =>
      listTasks({ dialect: this.#database.dialect, counts: this.#parts.counts }, scope, query),
    );
  }

  read(taskId: string, after: number, limit: number): ReturnType<TaskStore['read']> {
    try {
      return this.#database.readNow(() => {
        const recent = this.#parts.recent.read(taskId, after, limit);
        return recent?.map((row) => toTaskEvent(taskId, row)) ?? this.#select(taskId, after, limit);
      });
    } catch (error) {
      return rejected(error);
    }
  }

  readSession(...asked: Parameters<TaskStore['readSession']>): Promise<readonly TaskEvent[]> {
    return sessionEvents(this.#database, this.#sql, asked);
  }

  onAppend(listener: (taskId: string, head: number) => void): () => void {
    return this.#database.onTouch((taskId, events) => listener(taskId, events.at(-1)!.seq));
  }

  async heads(taskIds: readonly string[]): Promise<readonly TaskHead[]> {
    return this.#database.read(() => headsOf(this.#sql, taskIds));
  }

  #select(taskId: string, after: number, limit: number): readonly TaskEvent[] {
    const database = this.#database;
    const events = database.run(storedEventsOf(this.#sql, taskId, { after, limit }));
    const next = after + events.length + 1;
    // Checks the head as well: a damaged page can hide the last entries, which leaves no gap.
    const [task] = events.length < limit ? database.run(headsOf(this.#sql, [taskId])) : [];
    if (task && next <= task.head) throw damagedTask(`Entry ${next} of task ${taskId} is missing.`);
    return database.run(withContents(this.#sql, taskId, events));
  }

  #write<Result>(work: (context: SqliteContext) => Query<Result>): Promise<Result> {
    const { inbox, pushes } = this.#parts;
    return this.#database.commit((touch) => {
      const now = this.#database.clock();
      return this.#database.run(work({ sql: this.#sql, inbox, pushes, now, touch }));
    });
  }
}
