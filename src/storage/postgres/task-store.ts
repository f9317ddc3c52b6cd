import { isTerminal, type NewEvent, type TaskEvent } from '../../core/task.js';
import type {
  AcceptOutcome,
  EarlierOutcome,
  Fence,
  NewTask,
  TaskHead,
  TaskStart,
  TaskStore,
} from '../../stores/tasks.js';
import { taskOfNew } from '../../stores/tasks.js';
import { assertKeys } from '../../stores/records.js';
import { column, lockOf, type Query } from '../../core/sql.js';
import type { AppendListeners } from '../append-listeners.js';
import { packed, storedEvents } from '../event-rows.js';
import { storedEventsOf } from '../forks.js';
import { putPush } from '../push-store.js';
import { withContents } from '../references.js';
import { DAY_MS, encodeBatch, encodeMessage, toTaskEvent } from '../rows.js';
import type { EncodedBatch, StoredEvent } from '../rows.js';
import type { EncodedStart, TaskContext } from '../task-changes.js';
import { earlierOrRoom, earlierOutcome, fenced, newTaskColumns } from '../task-changes.js';
import { SqlTaskStore, type StoreParts, type TaskLimits } from '../task-store.js';
import type { PostgresDatabase } from './database.js';
import type { Liveness } from './liveness.js';
import {
  ACCEPTS,
  APPENDS,
  LOOKUPS,
  RENEW,
  acceptAll,
  appendAll,
  inboxOf,
  keptKeyOf,
} from './task-statements.js';
import type { Acceptance, AcceptedRow } from './task-statements.js';
import { StatementQueue } from './statement-queue.js';

interface PostgresParts extends StoreParts, TaskLimits {
  readonly listeners: AppendListeners;
  readonly processes: Liveness;
}

/** The pause between two polls of a follower besides notifications, which are lost only with their connection. */
const POLL_MS = 2_000;
/** The pause between two polls of a follower behind a pooler, where there are no notifications. */
const POLL_WITHOUT_NOTIFICATIONS_MS = 250;

/** The tasks of a database that several processes may share. */
export class PostgresTaskStore extends SqlTaskStore<PostgresDatabase, PostgresParts> implements TaskStore {
  /** Always undefined: a process that crashes has no time to write to this database. */
  readonly lastCrash = undefined;
  readonly pollMs = this.parts.processes.hasNotifications ? POLL_MS : POLL_WITHOUT_NOTIFICATIONS_MS;
  readonly #messageIdMs = this.parts.messageIdMs ?? DAY_MS;
  readonly #inbox = inboxOf(this.#messageIdMs);
  readonly #accepts = new StatementQueue(this.database, ACCEPTS);
  readonly #appends = new StatementQueue(this.database, APPENDS);
  readonly #lookups = new StatementQueue(this.database, LOOKUPS);

  constructor(database: PostgresDatabase, parts: PostgresParts) {
    super(database, parts);
    parts.listeners.add((id, head) => parts.recent.forgetBehind({ id, head }));
  }

  async findEarlier(entry: NewTask): Promise<EarlierOutcome | undefined> {
    if (!entry.push && !(await this.#lookups.add(keptKeyOf(entry)))) return undefined;
    const now = entry.push ? await this.database.now() : 0;
    const context = { sql: this.sql, inbox: this.#inbox, now };
    return this.database.read(() => earlierOrRoom(context, entry));
  }

  async accept(entry: NewTask, start?: TaskStart): Promise<AcceptOutcome> {
    const message = encodeMessage(entry, this.parts.eventBytes);
    const firstEvents = encodeBatch(start?.firstEvents ?? [], this.parts.eventBytes);
    assertKeys({ contextId: entry.contextId });
    const encoded = { message, firstEvents, worker: start?.worker };
    if (start) await this.parts.processes.add(start.worker);
    const { push } = entry;
    if (push || (!start && entry.queueLimit !== undefined))
      return this.write(lockOf(entry.scope), (context) => this.#acceptIfRoom(context, entry, encoded));
    const row = await this.#accepts.add(this.#acceptanceOf(entry, encoded));
    if (!row) return (await this.findEarlier(entry))!;
    this.#announce(entry.id, storedEvents([message, ...firstEvents.events], 0, row.created_at));
    return accepted(entry, row, start !== undefined);
  }

  async append(fence: Fence, events: readonly NewEvent[]): Promise<number> {
    const batch = encodeBatch(events, this.parts.eventBytes);
    const appended = await this.#appends.add({ fence, batch });
    if (!appended) throw fenced();
    const { head, now } = appended;
    this.#announce(fence.taskId, storedEvents(batch.events, head - events.length, now));
    return head;
  }

  async waits(agents: readonly string[]): Promise<boolean> {
    await this.parts.processes.freeDead();
    const values = { agents: JSON.stringify(agents) };
    const statement = this.sql.waits('(SELECT lango_now())');
    const [waits = false] = await this.database.read(() => column<boolean>(statement, values));
    return waits;
  }

  async renew(worker: string, taskIds: readonly string[]): Promise<readonly TaskHead[]> {
    const { rows } = await this.database.one({ sql: RENEW, values: [{ ids: taskIds, worker }] });
    return this.known(rows as readonly TaskHead[]);
  }

  noteCrash(): void {
    // See `lastCrash`.
  }

  async read(taskId: string, after: number, limit: number): Promise<readonly TaskEvent[]> {
    this.database.assertOpen();
    const cached = this.parts.recent.read(taskId, after, limit);
    // Only the database can tell that there are no more events. See `known`.
    if (cached && cached.length > 0) return cached.map((row) => toTaskEvent(taskId, row));
    return this.database.read(() => this.#select(taskId, after, limit));
  }

  onAppend(listener: (taskId: string, head: number) => void): () => void {
    return this.parts.listeners.add(listener);
  }

  *#select(taskId: string, after: number, limit: number): Query<readonly TaskEvent[]> {
    const events = yield* storedEventsOf(this.sql, taskId, { after, limit });
    return yield* withContents(this.sql, taskId, events);
  }

  /** Accepts a task that needs room among others of its owner. */
  *#acceptIfRoom(context: TaskContext, entry: NewTask, start: EncodedStart): Query<AcceptOutcome> {
    const { push, scope, id: taskId } = entry;
    const waits = start.worker === undefined;
    const earlier = yield* earlierOrRoom(context, entry, waits);
    if (earlier) return earlier;
    const [row] = yield* acceptAll([this.#acceptanceOf(entry, start)]);
    if (!row) return (yield* earlierOutcome(context, entry))!;
    context.touch(entry.id, storedEvents([start.message, ...start.firstEvents.events], 0, row.created_at));
    if (push) yield* putPush({ scope, taskId }, push, { cursor: 1, now: context.now });
    return accepted(entry, row, !waits);
  }

  #acceptanceOf(entry: NewTask, start: EncodedStart): Acceptance {
    const { message, firstEvents, worker } = start;
    const { state } = firstEvents.change;
    const isNamed = (entry.givenContextId ?? '') !== '';
    return {
      ...newTaskColumns(entry, start),
      inbox: keptKeyOf(entry),
      known_ms: isNamed ? null : this.#messageIdMs,
      leased: worker !== undefined,
      ended: state !== undefined && isTerminal(state),
      events: packed([message, ...firstEvents.events], 0),
    };
  }

  protected *appendWithin(context: TaskContext, fence: Fence, batch: EncodedBatch): Query<void> {
    // A fence without a chain: rows of its chain may have been set aside.
    const [row] = yield* appendAll([{ fence: { ...fence }, batch }]);
    if (!row) throw fenced();
    context.touch(fence.taskId, storedEvents(batch.events, row.head - batch.events.length, row.now));
  }

  protected async write<Result>(
    lock: string,
    work: (context: TaskContext) => Query<Result>,
  ): Promise<Result> {
    let touched: [taskId: string, events: readonly StoredEvent[]][] = [];
    const result = await this.database.write(lock, (now) => {
      touched = [];
      const touch: TaskContext['touch'] = (...one) => void touched.push(one);
      return work({ sql: this.sql, inbox: this.#inbox, now, touch });
    });
    for (const [taskId, events] of touched) this.#announce(taskId, events);
    return result;
  }

  #announce(taskId: string, events: readonly StoredEvent[]): void {
    const head = events.at(-1)?.seq;
    if (head === undefined) return;
    this.parts.recent.add(taskId, events);
    this.parts.processes.announce(taskId, head);
  }
}

function accepted(entry: NewTask, row: AcceptedRow, leased: boolean): AcceptOutcome {
  return { kind: 'accepted', task: taskOfNew(entry, row.created_at), seq: 1, leased };
}
