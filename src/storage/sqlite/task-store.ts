import type {
  AcceptOutcome,
  EarlierOutcome,
  Fence,
  NewTask,
  TaskHead,
  TaskStart,
  TaskStore,
} from '../../stores/tasks.js';
import { LEASE_MS, taskOfNew } from '../../stores/tasks.js';
import { rejected } from '../../core/errors.js';
import { all, column, first, run, type Query } from '../../core/sql.js';
import { isTerminal, type NewEvent, type TaskEvent } from '../../core/task.js';
import { assertKeys } from '../../stores/records.js';
import { storedEventsOf } from '../forks.js';
import { putPush } from '../push-store.js';
import { withContents } from '../references.js';
import { damagedTask, encodeBatch, encodeMessage, toTaskEvent } from '../rows.js';
import type { EncodedBatch, TaskRow } from '../rows.js';
import type { EncodedStart, TaskContext } from '../task-changes.js';
import {
  earlierOrRoom,
  earlierOutcome,
  fenced,
  headsOf,
  insertEvents,
  newTaskColumns,
} from '../task-changes.js';
import { LIVE, TASK_COLUMNS } from '../task-sql.js';
import { NO_LOCK, SqlTaskStore, type StoreParts } from '../task-store.js';
import type { SqliteDatabase } from './database.js';
import type { SqliteInbox } from './inbox.js';

/*
 * The parameters of what is written most have no names: finding the values by name takes as long as the insert itself.
 */
const INSERT_TASK = `INSERT INTO tasks (key, ${TASK_COLUMNS.join(', ')}, lease_until, ended_before,
    status_at, created_at, sent, epoch, crashes, cancel_requested)
  VALUES (?, ${TASK_COLUMNS.map(() => '?').join(', ')}, ?, ?, ?, ?, unhex(?), 1, 0, 0)`;
/** For events that do not change the state. Updates no index. */
const ADVANCE = 'UPDATE tasks SET head = ?, lease_until = ?, crashes = iif(?, 0, crashes) WHERE key = ?';
/** For events that change the state. */
const ADVANCE_TO = `UPDATE tasks SET head = ?, lease_until = ?, crashes = iif(?, 0, crashes),
    state = ?, status_message = ?, status_at = ?, expires_at = ?,
    ended_before = iif(?, (SELECT coalesce(max(key), 0) + 1 FROM tasks), NULL),
    lease_by = iif(?, NULL, lease_by), cancel_requested = iif(?, 0, cancel_requested)
  WHERE key = ?`;

/** The largest key that a task ever had: that of a stored one, or the one that was noted when the last one was removed. */
export const LAST_KEY = `SELECT max(coalesce((SELECT max(key) FROM tasks), 0),
  coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'last_task'), 0))`;

const RENEW = `UPDATE tasks SET lease_until = ? WHERE id IN (SELECT value FROM json_each(?)) AND lease_by = ?
  RETURNING id, head`;
/** Frees the leases of a crash: a process that stops regularly gives its leases back. */
const RELEASE_ALL = `UPDATE tasks INDEXED BY tasks_live
  SET epoch = epoch + 1, lease_by = NULL, lease_until = 0, crashes = crashes + 1
  WHERE ${LIVE} AND lease_by IS NOT NULL`;
const NOTE_CRASH = "INSERT OR REPLACE INTO meta (key, value) VALUES ('crash', ?)";
const TAKE_CRASH = "DELETE FROM meta WHERE key = 'crash' RETURNING value";

/** Parts that are shared with other stores of the same database. */
interface SqliteParts extends StoreParts {
  readonly inbox: SqliteInbox;
}

interface KeyedStart extends EncodedStart {
  /** Above the keys of all tasks that the database ever had. */
  readonly key: number;
}

/** The tasks of a database, for the journal. The constructor frees the leases of an earlier process. */
export class SqliteTaskStore extends SqlTaskStore<SqliteDatabase, SqliteParts> implements TaskStore {
  readonly lastCrash: string | undefined;
  /** No other process appends. */
  readonly pollMs = undefined;
  /** The key of the newest task. No other process adds tasks. */
  #lastKey: number;

  constructor(database: SqliteDatabase, parts: SqliteParts) {
    super(database, parts);
    database.run(run(RELEASE_ALL));
    [this.lastCrash] = database.run(column<string>(TAKE_CRASH));
    [this.#lastKey = 0] = database.run(column<number>(LAST_KEY));
    database.onTouch((taskId, events) => parts.recent.add(taskId, events));
  }

  findEarlier(entry: NewTask): EarlierOutcome | undefined {
    const { inbox } = this.parts;
    return this.database.readBeforeCommit(() => {
      if (!entry.push && !inbox.has(entry)) return undefined;
      const context = { sql: this.sql, inbox, now: this.database.clock() };
      return this.database.run(earlierOrRoom(context, entry));
    });
  }

  async accept(entry: NewTask, start?: TaskStart): Promise<AcceptOutcome> {
    const message = encodeMessage(entry, this.parts.eventBytes);
    const firstEvents = encodeBatch(start?.firstEvents ?? [], this.parts.eventBytes);
    assertKeys({ contextId: entry.contextId });
    const key = this.nextKey();
    return this.write(NO_LOCK, (context) =>
      this.#accept(context, entry, { message, firstEvents, worker: start?.worker, key }),
    );
  }

  async append(fence: Fence, events: readonly NewEvent[]): Promise<number> {
    const batch = encodeBatch(events, this.parts.eventBytes);
    return this.write(NO_LOCK, (context) => this.appendWithin(context, fence, batch));
  }

  async waits(agents: readonly string[]): Promise<boolean> {
    const values = { now: this.database.clock(), agents: JSON.stringify(agents) };
    const [waits] = await this.database.read(() => column<number>(this.sql.waits('@now'), values));
    return waits === 1;
  }

  async renew(worker: string, taskIds: readonly string[]): Promise<readonly TaskHead[]> {
    const ids = JSON.stringify(taskIds);
    return this.database.write(NO_LOCK, (now) => all<TaskHead>(RENEW, now + LEASE_MS, ids, worker));
  }

  noteCrash(reason: string): void {
    try {
      this.database.writeNow(run(NOTE_CRASH, reason));
    } catch {
      // The process ends anyway, and the database may be the reason.
    }
  }

  read(taskId: string, after: number, limit: number): ReturnType<TaskStore['read']> {
    try {
      return this.database.readNow(() => {
        const recent = this.parts.recent.read(taskId, after, limit);
        return recent?.map((row) => toTaskEvent(taskId, row)) ?? this.#select(taskId, after, limit);
      });
    } catch (error) {
      return rejected(error);
    }
  }

  onAppend(listener: (taskId: string, head: number) => void): () => void {
    return this.database.onTouch((taskId, events) => listener(taskId, events.at(-1)!.seq));
  }

  protected override nextKey(): number {
    return (this.#lastKey += 1);
  }

  protected write<Result>(_lock: string, work: (context: TaskContext) => Query<Result>): Promise<Result> {
    const { inbox } = this.parts;
    return this.database.commit((touch) => {
      const now = this.database.clock();
      return this.database.run(work({ sql: this.sql, inbox, now, touch }));
    });
  }

  /** Writes a task with its message's key, and its first events. A repeated message writes nothing and returns the first one's outcome. */
  *#accept(context: TaskContext, entry: NewTask, start: KeyedStart): Query<AcceptOutcome> {
    const { scope, id, push } = entry;
    const { now } = context;
    const { message, firstEvents, worker, key } = start;
    const waits = worker === undefined;
    if (push || (waits && entry.queueLimit !== undefined)) {
      const earlier = yield* earlierOrRoom(context, entry, waits);
      if (earlier) return earlier;
    }
    const sent = this.parts.inbox.addNew(entry, key);
    if (sent === undefined) return (yield* earlierOutcome(context, entry))!;
    const row = newTaskColumns(entry, start);
    const leaseUntil = waits ? 0 : now + LEASE_MS;
    // No later task is stored yet, so all that will be have a larger key.
    const endedBefore = isTerminal(row.state) ? key : null;
    const own = TASK_COLUMNS.map((column) => row[column]);
    yield { sql: INSERT_TASK, values: [key, ...own, leaseUntil, endedBefore, now, now, sent] };
    yield* insertEvents(context, { id, key, head: row.head }, [message, ...firstEvents.events]);
    if (push) yield* putPush({ scope, taskId: id }, push, { cursor: 1, now });
    return { kind: 'accepted', task: taskOfNew(entry, now), seq: 1, leased: !waits };
  }

  /**
   * The only conditional append: it succeeds if task id and epoch still match and the task has not ended. Returns the new
   * head. Otherwise throws `LangoError` `fenced`: another worker owns the task, so the caller must stop and drop its result.
   */
  protected *appendWithin(
    context: TaskContext,
    { taskId, epoch }: Fence,
    { change, events }: EncodedBatch,
  ): Query<number> {
    const { sql, now } = context;
    const task = yield* first<Pick<TaskRow, 'key' | 'head'>>(sql.fenced, taskId, epoch);
    if (!task) throw fenced();
    const { key } = task;
    const head = task.head + events.length;
    const { state, statusMessage, expiresAt = null } = change;
    const row = [head, now + LEASE_MS, change.isStep ? 1 : 0];
    if (state === undefined) yield* run(ADVANCE, ...row, key);
    else {
      const endsRun = change.endsRun ? 1 : 0;
      const news = [state, statusMessage, now, expiresAt, isTerminal(state) ? 1 : 0, endsRun, endsRun];
      yield* run(ADVANCE_TO, ...row, ...news, key);
    }
    yield* insertEvents(context, { id: taskId, key, head }, events);
    return head;
  }

  #select(taskId: string, after: number, limit: number): readonly TaskEvent[] {
    const { database, sql } = this;
    const events = database.run(storedEventsOf(sql, taskId, { after, limit }));
    const next = after + events.length + 1;
    // Checks the head as well: a damaged page can hide the last entries, which leaves no gap.
    const [task] = events.length < limit ? database.run(headsOf(sql, [taskId])) : [];
    if (task && next <= task.head) throw damagedTask(`Entry ${next} of task ${taskId} is missing.`);
    return database.run(withContents(sql, taskId, events));
  }
}
