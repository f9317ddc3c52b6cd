import type { Page } from '../../stores/page.js';
import type { RetentionStore } from '../../stores/tasks.js';
import type { Scope, TaskRecord } from '../../core/task.js';
import { isTerminal } from '../../core/task.js';
import { parsePosition, toPositionText } from '../position.js';
import type { TaskRow } from '../rows.js';
import { toTaskRecord } from '../rows.js';
import type { SqliteDatabase } from './database.js';
import type { Prepared } from './prepared.js';
import type { RecentEvents } from './recent-events.js';
import type { TaskCounts } from './task-list.js';

/** The number of events that one transaction removes. */
const EVENTS_AT_ONCE = 500;

const ENDED = "state IN ('completed', 'failed', 'canceled', 'rejected')";

const SQL = {
  made: 'SELECT key, id, state, status_at, created_at FROM tasks WHERE key > ? ORDER BY key LIMIT ?',
  owned: `SELECT * FROM tasks INDEXED BY tasks_by_status
      WHERE tenant = ? AND owner = ? AND (agent, status_at, id) > (?, ?, ?) ORDER BY agent, status_at, id LIMIT ?`,
  context: `SELECT * FROM tasks INDEXED BY tasks_by_context WHERE context = ? AND owner = ? AND tenant = ? LIMIT ?`,
  removable: `SELECT key FROM tasks AS task WHERE id = ? AND ${ENDED}
      AND NOT EXISTS (SELECT 1 FROM tasks AS above WHERE above.id = task.parent AND NOT above.${ENDED})`,
  note: 'INSERT INTO removed_tasks SELECT key, tenant, owner, agent, id, context FROM tasks WHERE key = ?',
  dropPushes: 'DELETE FROM push_configs WHERE task_id = ?',
  dropTask: 'DELETE FROM tasks WHERE key = ?',
  removed: 'SELECT * FROM removed_tasks LIMIT 1',
  /** Also returns the message ids: they are the only way from a task to its inbox rows. */
  dropEvents: `DELETE FROM events WHERE task = ? AND seq IN (SELECT seq FROM events WHERE task = ? ORDER BY seq LIMIT ?)
      RETURNING iif(type = 'message', body ->> '$.message.id', NULL) AS message`,
  dropInbox: `DELETE FROM inbox
      WHERE tenant = ? AND owner = ? AND agent = ? AND context IN ('', ?) AND message_id = ? AND task = ?`,
  forget: 'DELETE FROM removed_tasks WHERE key = ?',
} as const;

type MadeRow = Pick<TaskRow, 'key' | 'id' | 'state' | 'status_at' | 'created_at'>;
type RemovedRow = Pick<TaskRow, 'key' | 'id' | 'tenant' | 'owner' | 'agent' | 'context'>;

interface DroppedEvent {
  /** The message id of a `message` event. */
  readonly message: string | null;
}

/** What is kept of tasks that may be removed here. */
interface Caches {
  readonly recent: RecentEvents;
  readonly counts: TaskCounts;
}

/** Lists and removes ended tasks, in the same database. */
export class SqliteRetentionStore implements RetentionStore {
  readonly #database: SqliteDatabase;
  readonly #recent: RecentEvents;
  readonly #counts: TaskCounts;
  readonly #prepared: Prepared;

  constructor(database: SqliteDatabase, { recent, counts }: Caches) {
    this.#database = database;
    this.#recent = recent;
    this.#counts = counts;
    this.#prepared = database.prepared;
  }

  /** Walks the tasks in the order of their creation, up to the first one that was created after the age limit. */
  async listEnded(ageMs: number, after: string, limit: number): Promise<Page<string>> {
    const before = this.#database.now() - ageMs;
    const rows = this.#database.read(() => this.#prepared.all<MadeRow>(SQL.made, Number(after), limit));
    const young = rows.findIndex((row) => row.created_at > before);
    const old = young === -1 ? rows : rows.slice(0, young);
    const ended = old.filter((row) => isTerminal(row.state) && row.status_at <= before);
    const isLast = young !== -1 || rows.length < limit;
    return { items: ended.map(({ id }) => id), next: isLast ? undefined : String(rows.at(-1)?.key) };
  }

  async listOwned({ tenant, owner }: Scope, after: string, limit: number): Promise<Page<TaskRecord>> {
    const position = parsePosition(after, ['', 0, '']);
    const rows = this.#database.read(() =>
      this.#prepared.all<TaskRow>(SQL.owned, tenant, owner, ...position, limit),
    );
    const last = rows.length < limit ? undefined : rows.at(-1);
    const next = last && toPositionText([last.agent, last.status_at, last.id]);
    return { items: rows.map(toTaskRecord), next };
  }

  async listContext({ tenant, owner }: Scope, contextId: string, limit: number) {
    const rows = this.#database.read(() =>
      this.#prepared.all<TaskRow>(SQL.context, contextId, owner, tenant, limit),
    );
    return rows.map(toTaskRecord);
  }

  async remove(taskIds: readonly string[]): Promise<readonly string[]> {
    const gone = await this.#database.write(() => taskIds.filter((id) => this.#hide(id)));
    this.#recent.forget(gone);
    while (await this.#database.write(() => this.#clear()));
    return gone;
  }

  /** Removes the row of the task, so that no reader finds it. Returns false if the task must stay. */
  #hide(id: string): boolean {
    const task = this.#prepared.first<Pick<TaskRow, 'key'>>(SQL.removable, id);
    if (!task) return false;
    this.#prepared.run(SQL.note, task.key);
    this.#prepared.run(SQL.dropPushes, id);
    this.#prepared.run(SQL.dropTask, task.key);
    this.#counts.clear();
    return true;
  }

  /** Removes some of the rows of removed tasks. False if none are left. */
  #clear(): boolean {
    for (let room = EVENTS_AT_ONCE; room > 0;) {
      const task = this.#prepared.first<RemovedRow>(SQL.removed);
      if (!task) return false;
      const { key, id, tenant, owner, agent, context } = task;
      const events = this.#prepared.all<DroppedEvent>(SQL.dropEvents, key, key, room);
      for (const { message } of events) {
        if (message !== null) this.#prepared.run(SQL.dropInbox, tenant, owner, agent, context, message, id);
      }
      if (events.length < room) this.#prepared.run(SQL.forget, key);
      room -= events.length + 1;
    }
    return true;
  }
}
