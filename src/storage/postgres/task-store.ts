import type { TaskPage, TaskQuery } from '../../core/journal.js';
import { isTerminal, type NewEvent, type Scope, type TaskEvent, type TaskRecord } from '../../core/task.js';
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
import { taskOfNew } from '../../stores/tasks.js';
import type { PushWrites } from '../push-store.js';
import type { RecentEvents } from '../recent-events.js';
import { withContents } from '../references.js';
import { packed, storedEvents } from '../event-rows.js';
import { forkTask, storedEventsOf } from '../forks.js';
import { toTaskEvent, toTaskRecord, type StoredEvent, type TaskRow } from '../rows.js';
import { assertKeys } from '../../stores/records.js';
import { column, first, lockOf, type Query } from '../../core/sql.js';
import type { EncodedBatch, EncodedStart, Inbox, TaskContext } from '../task-changes.js';
import {
  addInput,
  cancelTask,
  claimSuspect,
  claimTasks,
  earlierOrRoom,
  earlierOutcome,
  fenced,
  headsOf,
  newTaskColumns,
  releaseTasks,
  retakeTask,
  setDamagedAside,
} from '../task-changes.js';
import { sessionEvents } from '../session-events.js';
import { DAY_MS, encodeBatch, encodeMessage, type TaskLimits } from '../task-events.js';
import { listTasks } from '../task-list.js';
import { taskSql, type TaskSql } from '../task-sql.js';
import type { PostgresDatabase } from './database.js';
import type { AppendListeners } from '../append-listeners.js';
import type { Liveness } from './liveness.js';
import { InboxLookups } from './inbox-lookups.js';
import { WriteQueue } from './write-queue.js';
import {
  APPEND,
  RENEW,
  accept,
  appendAll,
  appendRows,
  appendValues,
  inboxOf,
  keptKeyOf,
  type Acceptance,
  type AcceptedRow,
  type Append,
  type Appended,
} from './task-statements.js';

interface Parts extends TaskLimits {
  readonly pushes: PushWrites;
  readonly recent: RecentEvents;
  readonly listeners: AppendListeners;
  readonly liveness: Liveness;
}

/** The pause between two polls of a follower besides notifications, which are lost only with their connection. */
const POLL_MS = 2_000;
/** The pause between two polls of a follower behind a pooler, where there are no notifications. */
const POLL_WITHOUT_NOTIFICATIONS_MS = 250;
/** Takes no lock: the locked row of a task already excludes other writers of the task. */
const NO_LOCK = '';

/** The tasks of a database that several processes may share. */
export class PostgresTaskStore implements TaskStore {
  /** Always undefined: a process that crashes has no time to write to this database. */
  readonly lastCrash = undefined;
  readonly pollMs: number;
  readonly #database: PostgresDatabase;
  readonly #parts: Parts;
  readonly #sql: TaskSql;
  readonly #messageIdMs: number;
  readonly #inbox: Inbox;
  /** For messages that name a context, and for those that name none. */
  readonly #accepts: Record<'named' | 'unnamed', WriteQueue<Acceptance, AcceptedRow | undefined>>;
  readonly #appends: WriteQueue<Append, Appended | undefined>;
  readonly #lookups: InboxLookups;
  readonly #served = new Map<number, Scope>();

  constructor(database: PostgresDatabase, parts: Parts) {
    this.#database = database;
    this.#parts = parts;
    this.#sql = taskSql(database.dialect);
    this.#messageIdMs = parts.messageIdMs ?? DAY_MS;
    this.#inbox = inboxOf(this.#messageIdMs);
    this.#accepts = { named: this.#acceptQueue(true), unnamed: this.#acceptQueue(false) };
    this.#appends = new WriteQueue(database, {
      isOrdered: false,
      keyOf: ({ fence }) => fence.taskId,
      charactersOf: ({ batch }) => batch.events.reduce((sum, { body }) => sum + body.length, 0),
      write: appendAll,
    });
    this.#lookups = new InboxLookups(database);
    parts.listeners.add((id, head) => parts.recent.forgetBehind({ id, head }));
    this.pollMs = parts.liveness.hasNotifications ? POLL_MS : POLL_WITHOUT_NOTIFICATIONS_MS;
  }

  async findEarlier(entry: NewTask): Promise<EarlierOutcome | undefined> {
    if (!entry.push && !(await this.#lookups.isKnown(keptKeyOf(entry)))) return undefined;
    const now = entry.push ? await this.#database.now() : 0;
    const context = { sql: this.#sql, inbox: this.#inbox, pushes: this.#parts.pushes, now };
    return this.#database.read(() => earlierOrRoom(context, entry));
  }

  async accept(entry: NewTask, start?: TaskStart): Promise<AcceptOutcome> {
    const message = encodeMessage(entry, this.#parts.eventBytes);
    const firstEvents = encodeBatch(start?.firstEvents ?? [], this.#parts.eventBytes);
    assertKeys({ contextId: entry.contextId });
    const encoded = { message, firstEvents, worker: start?.worker };
    if (start) await this.#parts.liveness.add(start.worker);
    const { push } = entry;
    if (push || (!start && entry.queueLimit !== undefined))
      return this.#write(lockOf(entry.scope), (context) => this.#acceptIfRoom(context, entry, encoded));
    const queue = this.#accepts[isNamed(entry) ? 'named' : 'unnamed'];
    const row = await queue.add(acceptanceOf(entry, encoded));
    if (!row) return (await this.findEarlier(entry))!;
    this.#announce(entry.id, storedEvents([message, ...firstEvents.events], 0, row.created_at));
    return accepted(entry, row, start !== undefined);
  }

  async fork(entry: NewFork): Promise<TaskRecord> {
    const { events } = encodeBatch(entry.events, this.#parts.eventBytes);
    assertKeys({ contextId: entry.contextId });
    return this.#write(NO_LOCK, (context) => forkTask(context, entry, { events }));
  }

  async addInput(entry: NewInput): Promise<InputOutcome> {
    const event = encodeMessage(entry, this.#parts.eventBytes);
    if (entry.lease !== undefined) await this.#parts.liveness.add(entry.lease);
    const lock = entry.push ? lockOf(entry.scope) : NO_LOCK;
    return this.#write(lock, (context) => addInput(context, entry, event));
  }

  async append(fence: Fence, events: readonly NewEvent[]): Promise<number> {
    const batch = encodeBatch(events, this.#parts.eventBytes);
    const appended = await this.#appends.add({ fence, batch });
    if (!appended) throw fenced();
    const { head, now } = appended;
    this.#announce(fence.taskId, storedEvents(batch.events, head - events.length, now));
    return head;
  }

  async endDamaged(fence: Fence, end: NewEvent): Promise<number | undefined> {
    const batch = encodeBatch([end], this.#parts.eventBytes);
    this.#parts.recent.forget([fence.taskId]);
    return this.#write(NO_LOCK, (context) => endDamaged(context, fence, batch));
  }

  async requestCancel(scope: Scope, taskId: string): Promise<TaskRecord | undefined> {
    return this.#write(NO_LOCK, (context) => cancelTask(context, scope, taskId));
  }

  async waits(agents: readonly string[]): Promise<boolean> {
    await this.#parts.liveness.freeDead();
    const values = { agents: JSON.stringify(agents) };
    const statement = this.#sql.waits('(SELECT lango_now())');
    const [waits = false] = await this.#database.read(() => column<boolean>(statement, values));
    return waits;
  }

  async claim(...[worker, agents, room]: Parameters<TaskStore['claim']>): Promise<readonly TaskRecord[]> {
    await this.#parts.liveness.add(worker);
    await this.#parts.liveness.freeDead();
    let served = new Map<number, Scope>();
    const tasks = await this.#write(NO_LOCK, (context) => {
      // The work may run again from its start, so the served owners are taken over only after it has succeeded.
      served = new Map(this.#served);
      return claimTasks(context, { worker, agents, room, served });
    });
    served.forEach((scope, level) => this.#served.set(level, scope));
    return this.#known(tasks);
  }

  async claimSuspect(worker: string, agents: readonly string[]): Promise<TaskRecord | undefined> {
    // The lock allows one suspect at a time, over all processes.
    const task = await this.#write('suspects', (context) => claimSuspect(context, worker, agents));
    return task && this.#known([task])[0];
  }

  async renew(worker: string, taskIds: readonly string[]): Promise<readonly TaskHead[]> {
    const { rows } = await this.#database.one({ sql: RENEW, values: [{ ids: taskIds, worker }] });
    return this.#known(rows as readonly TaskHead[]);
  }

  async retake(worker: string, fence: Fence): Promise<Fence | undefined> {
    await this.#parts.liveness.add(worker);
    return this.#write(NO_LOCK, (context) => retakeTask(context, worker, fence));
  }

  async release(worker: string, taskId?: string): Promise<void> {
    await this.#database.write(NO_LOCK, () => releaseTasks(this.#sql, worker, taskId));
  }

  noteCrash(): void {
    // See `lastCrash`.
  }

  async get(scope: Scope, taskId: string): Promise<TaskRecord | undefined> {
    const { tenant, owner } = scope;
    const row = await this.#database.read(() => first<TaskRow>(this.#sql.task, taskId, tenant, owner));
    return row && this.#known([toTaskRecord(row)])[0];
  }

  async list(scope: Scope, query: TaskQuery): Promise<TaskPage> {
    return this.#database.read(() =>
      listTasks({ dialect: this.#database.dialect, counts: undefined }, scope, query),
    );
  }

  async read(taskId: string, after: number, limit: number): Promise<readonly TaskEvent[]> {
    this.#database.assertOpen();
    const cached = this.#parts.recent.read(taskId, after, limit);
    // Only the database can tell that there are no more events. See `#known`.
    if (cached && cached.length > 0) return cached.map((row) => toTaskEvent(taskId, row));
    return this.#database.read(() => this.#select(taskId, after, limit));
  }

  readSession(...asked: Parameters<TaskStore['readSession']>): Promise<readonly TaskEvent[]> {
    return sessionEvents(this.#database, this.#sql, asked);
  }

  onAppend(listener: (taskId: string, head: number) => void): () => void {
    return this.#parts.listeners.add(listener);
  }

  async heads(taskIds: readonly string[]): Promise<readonly TaskHead[]> {
    return this.#known(await this.#database.read(() => headsOf(this.#sql, taskIds)));
  }

  /** Makes sure that a caller which gets the head of a task here can read all events up to it. */
  #known<Row extends TaskHead>(rows: readonly Row[]): readonly Row[] {
    for (const row of rows) this.#parts.recent.forgetBehind(row);
    return rows;
  }

  *#select(taskId: string, after: number, limit: number): Query<readonly TaskEvent[]> {
    const events = yield* storedEventsOf(this.#sql, taskId, { after, limit });
    return yield* withContents(this.#sql, taskId, events);
  }

  /** Accepts a task that needs room among others of its owner. */
  *#acceptIfRoom(context: TaskContext, entry: NewTask, start: EncodedStart): Query<AcceptOutcome> {
    const { push, scope, id: taskId } = entry;
    const waits = start.worker === undefined;
    const earlier = yield* earlierOrRoom(context, entry, waits);
    if (earlier) return earlier;
    const accepting = accept([acceptanceOf(entry, start)], isNamed(entry), this.#messageIdMs);
    const [row] = (yield accepting).rows as readonly AcceptedRow[];
    if (!row) return (yield* earlierOutcome(context, entry))!;
    context.touch(entry.id, storedEvents([start.message, ...start.firstEvents.events], 0, row.created_at));
    if (push) yield* context.pushes.put({ scope, taskId }, push, { cursor: 1, now: context.now });
    return accepted(entry, row, !waits);
  }

  #acceptQueue(named: boolean): WriteQueue<Acceptance, AcceptedRow | undefined> {
    return new WriteQueue(this.#database, {
      isOrdered: true,
      keyOf: ({ inbox }) => inbox,
      charactersOf: ({ events }) => events.reduce((sum, { body }) => sum + body.length, 0),
      write: async (tasks, ask) => {
        const { rows } = await ask(accept(tasks, named, this.#messageIdMs));
        const found = new Map((rows as readonly AcceptedRow[]).map((row) => [row.id, row]));
        return tasks.map(({ id }) => found.get(id));
      },
    });
  }

  /** Runs a write, and announces its events after the commit. */
  async #write<Result>(lock: string, work: (context: TaskContext) => Query<Result>): Promise<Result> {
    const { pushes } = this.#parts;
    let touched: [taskId: string, events: readonly StoredEvent[]][] = [];
    const result = await this.#database.write(lock, (now) => {
      touched = [];
      const touch: TaskContext['touch'] = (...one) => void touched.push(one);
      return work({ sql: this.#sql, inbox: this.#inbox, pushes, now, touch });
    });
    for (const [taskId, events] of touched) this.#announce(taskId, events);
    return result;
  }

  #announce(taskId: string, events: readonly StoredEvent[]): void {
    const head = events.at(-1)?.seq;
    if (head === undefined) return;
    this.#parts.recent.add(taskId, events);
    this.#parts.liveness.announce(taskId, head);
  }
}

function* endDamaged(context: TaskContext, fence: Fence, batch: EncodedBatch): Query<number | undefined> {
  const damaged = yield* setDamagedAside(context, fence);
  if (damaged === undefined) return undefined;
  const row = yield* first<Appended>(
    APPEND,
    appendValues([{ fence, batch, ...appendRows({ fence, batch }) }]),
  );
  if (!row) throw fenced();
  context.touch(fence.taskId, storedEvents(batch.events, row.head - batch.events.length, row.now));
  return damaged;
}

function isNamed({ givenContextId = '' }: NewTask): boolean {
  return givenContextId !== '';
}

function acceptanceOf(entry: NewTask, start: EncodedStart): Acceptance {
  const { message, firstEvents, worker } = start;
  const { state } = firstEvents.change;
  return {
    ...newTaskColumns(entry, start),
    inbox: keptKeyOf(entry).toString('hex'),
    leased: worker !== undefined,
    ended: state !== undefined && isTerminal(state),
    events: packed([message, ...firstEvents.events], 0),
  };
}

function accepted(entry: NewTask, row: AcceptedRow, leased: boolean): AcceptOutcome {
  return { kind: 'accepted', task: taskOfNew(entry, row.created_at), seq: 1, leased };
}
