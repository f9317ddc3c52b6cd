import type { TaskPage, TaskQuery } from '../../core/journal.js';
import type {
  AcceptOutcome,
  EarlierOutcome,
  Fence,
  NewInput,
  NewTask,
  TaskStart,
  TaskStore,
} from '../../stores/tasks.js';
import { LEASE_MS } from '../../stores/tasks.js';
import type { NewEvent, Scope, TaskEvent, TaskRecord } from '../../core/task.js';
import type { EncodedEvent, EventRow } from '../rows.js';
import {
  assertKeys,
  assertUnchanged,
  CALLER_AUTHOR,
  changeOf,
  damagedTask,
  encodeEvent,
  toTaskEvent,
  toTaskRecord,
} from '../rows.js';
import { endDamaged } from './damaged-task.js';
import type { SqliteDatabase } from './database.js';
import type { PushWrites } from './push-store.js';
import type { RecentEvents } from './recent-events.js';
import type { Statements } from './statements.js';
import { prepareStatements } from './statements.js';
import { type TaskCounts, listTasks } from './task-list.js';
import type { EncodedBatch, WriteContext } from './task-writes.js';
import {
  acceptTask,
  addInput,
  appendEvents,
  cancelTask,
  claimSuspect,
  claimTasks,
  earlierOutcome,
} from './task-writes.js';

/** Parts that are shared with other stores of the same database. */
interface SharedParts {
  readonly pushes: PushWrites;
  readonly recent: RecentEvents;
  readonly counts: TaskCounts;
  /** The largest event body, in bytes. Undefined: the default. */
  readonly eventBytes: number | undefined;
  /** How long the id of a message without a context is known, in milliseconds. Undefined: a day. */
  readonly messageIdMs: number | undefined;
}

const DAY_MS = 24 * 60 * 60 * 1_000;

/** The tasks of a database, for the journal. Opening it voids the leases of an earlier process. */
export class SqliteTaskStore implements TaskStore {
  readonly #database: SqliteDatabase;
  readonly #pushes: PushWrites;
  readonly #statements: Statements;
  readonly #recent: RecentEvents;
  readonly #counts: TaskCounts;
  readonly #eventBytes: number | undefined;
  readonly #messageIdMs: number;
  readonly lastCrash: string | undefined;
  readonly #served = new Map<number, Scope>();

  constructor(database: SqliteDatabase, { pushes, recent, counts, ...limits }: SharedParts) {
    this.#database = database;
    this.#pushes = pushes;
    this.#recent = recent;
    this.#counts = counts;
    this.#eventBytes = limits.eventBytes;
    this.#messageIdMs = limits.messageIdMs ?? DAY_MS;
    this.#statements = prepareStatements(database.handle);
    this.#statements.releaseAll.run();
    this.lastCrash = this.#statements.takeCrash.get()?.value;
    database.onTouch((taskId, events) => this.#recent.add(taskId, events));
  }

  async findEarlier(entry: NewTask): Promise<EarlierOutcome | undefined> {
    return this.#read(() => {
      const knownSince = this.#database.now() - this.#messageIdMs;
      const earlier = earlierOutcome({ statements: this.#statements, knownSince }, entry);
      if (!earlier && entry.push)
        this.#pushes.assertRoom({ scope: entry.scope, taskId: entry.id }, entry.push);
      return earlier;
    });
  }

  async accept(entry: NewTask, start?: TaskStart): Promise<AcceptOutcome> {
    const message = this.#encodeMessage(entry);
    const firstEvents = this.#encodeBatch(start?.firstEvents ?? []);
    assertKeys({ contextId: entry.contextId });
    return this.#write((context) =>
      acceptTask(context, entry, { message, firstEvents, worker: start?.worker }),
    );
  }

  async addInput(entry: NewInput): ReturnType<TaskStore['addInput']> {
    const event = this.#encodeMessage(entry);
    return this.#write((context) => addInput(context, entry, event));
  }

  async append(fence: Fence, events: readonly NewEvent[]): Promise<number> {
    const batch = this.#encodeBatch(events);
    return this.#write((context) => appendEvents(context, fence, batch));
  }

  async endDamaged(fence: Fence, end: NewEvent): Promise<number | undefined> {
    const batch = this.#encodeBatch([end]);
    this.#recent.forget([fence.taskId]);
    return this.#write((context) => endDamaged(context, fence, batch));
  }

  async requestCancel(scope: Scope, taskId: string): Promise<TaskRecord | undefined> {
    return this.#write((context) => cancelTask(context, scope, taskId));
  }

  async claim(
    worker: string,
    agents: readonly string[],
    free: (level: number) => number,
  ): Promise<readonly TaskRecord[]> {
    return this.#write((context) => claimTasks(context, { worker, agents, free, served: this.#served }));
  }

  async claimSuspect(worker: string, agents: readonly string[]): Promise<TaskRecord | undefined> {
    return this.#write((context) => claimSuspect(context, worker, agents));
  }

  async renew(worker: string, taskIds: readonly string[]): Promise<readonly string[]> {
    return this.#write(({ statements, now }) =>
      taskIds.filter((id) => statements.renew.run(now + LEASE_MS, id, worker).changes === 0),
    );
  }

  async release(worker: string): Promise<void> {
    return this.#write(({ statements }) => void statements.release.run(worker));
  }

  noteCrash(reason: string): void {
    try {
      this.#statements.noteCrash.run(reason);
    } catch {
      // The process ends anyway, and the database may be the reason.
    }
  }

  async get(scope: Scope, taskId: string): Promise<TaskRecord | undefined> {
    const row = this.#read(() => this.#statements.task.get(taskId, scope.tenant, scope.owner));
    return row && toTaskRecord(row);
  }

  async list(scope: Scope, query: TaskQuery): Promise<TaskPage> {
    return this.#read(() =>
      listTasks({ prepared: this.#database.prepared, counts: this.#counts }, scope, query),
    );
  }

  async read(taskId: string, after: number, limit: number): Promise<readonly TaskEvent[]> {
    const rows = this.#read(
      () => this.#recent.read(taskId, after, limit) ?? this.#select(taskId, after, limit),
    );
    return rows.map((row) => toTaskEvent(taskId, row));
  }

  async readSession(
    task: TaskRecord,
    limit: number,
    { after = '', unfinished = false }: Parameters<TaskStore['readSession']>[2] = {},
  ): Promise<readonly TaskEvent[]> {
    const { contextId, agent, owner, tenant, id } = task;
    const session = { contextId, agent, owner, tenant, id, after, unfinished: unfinished ? 1 : 0, limit };
    const newestFirst = this.#read(() => this.#statements.sessionEvents.all(session));
    return newestFirst.reverse().map((row) => {
      assertUnchanged(row.task, row);
      return toTaskEvent(row.task, row);
    });
  }

  onAppend(listener: (taskId: string, head: number) => void): () => void {
    return this.#database.onTouch((taskId, events) => listener(taskId, events.at(-1)!.seq));
  }

  #select(taskId: string, after: number, limit: number): readonly EventRow[] {
    // The event numbers of a task have no gaps, so the next `limit` events are those up to `after + limit`.
    const rows = this.#statements.events.all(taskId, after, after + limit).sort((a, b) => a.seq - b.seq);
    rows.forEach((row, index) => {
      assertUnchanged(taskId, row);
      if (row.seq !== after + index + 1)
        throw damagedTask(`Entry ${after + index + 1} of task ${taskId} is missing.`);
    });
    return rows;
  }

  /** Checks the keys of a message and encodes its event. */
  #encodeMessage({ scope, agent, message, request }: NewTask | NewInput): EncodedEvent {
    assertKeys({ tenant: scope.tenant, owner: scope.owner, agent, 'message.id': message.id });
    return this.#encode({
      author: CALLER_AUTHOR,
      body: { type: 'message', message, ...(request && { request }) },
    });
  }

  #encodeBatch(events: readonly NewEvent[]): EncodedBatch {
    return { change: changeOf(events), events: events.map((event) => this.#encode(event)) };
  }

  #encode(event: NewEvent): EncodedEvent {
    return encodeEvent(event, this.#eventBytes);
  }

  async #write<Result>(work: (context: WriteContext) => Result): Promise<Result> {
    const statements = this.#statements;
    const pushes = this.#pushes;
    return this.#database.write((touch) => {
      const now = this.#database.now();
      return work({ statements, pushes, now, knownSince: now - this.#messageIdMs, touch });
    });
  }

  #read<Result>(query: () => Result): Result {
    return this.#database.read(query);
  }
}
