import type Database from 'better-sqlite3';
import { LangoError } from '../../core/errors.js';
import type { Page } from '../../core/page.js';
import type { RetentionStore } from '../../core/store.js';
import type { Scope, TaskRecord } from '../../core/task.js';
import { isTerminal } from '../../core/task.js';
import type { TaskRow } from '../rows.js';
import { toTaskRecord } from '../rows.js';
import type { SqliteDatabase } from './database.js';
import { prepareAll } from './prepared.js';
import type { RecentEvents } from './recent-events.js';

/** Events that one transaction takes away. */
const EVENTS_AT_ONCE = 500;

/** The end of tasks, in the same database. */
export class SqliteRetentionStore implements RetentionStore {
  readonly #database: SqliteDatabase;
  readonly #recent: RecentEvents;
  readonly #sql: RetentionStatements;

  constructor(database: SqliteDatabase, recent: RecentEvents) {
    this.#database = database;
    this.#recent = recent;
    this.#sql = prepareAll(database.handle, SQL);
  }

  /** Walks the tasks as they were made, up to the first that is too young to have ended so long ago. */
  async listEnded(ageMs: number, after: string, limit: number): Promise<Page<string>> {
    const before = this.#database.now() - ageMs;
    const rows = this.#database.read(() => this.#sql.made.all(Number(after), limit));
    const young = rows.findIndex((row) => row.created_at > before);
    const old = young === -1 ? rows : rows.slice(0, young);
    const ended = old.filter((row) => isTerminal(row.state) && row.status_at <= before);
    const isLast = young !== -1 || rows.length < limit;
    return { items: ended.map(({ id }) => id), next: isLast ? undefined : String(rows.at(-1)?.key) };
  }

  async listOwned({ tenant, owner }: Scope, after: string, limit: number): Promise<Page<TaskRecord>> {
    const place = placeOf(after);
    const rows = this.#database.read(() => this.#sql.owned.all(tenant, owner, ...place, limit));
    const last = rows.length < limit ? undefined : rows.at(-1);
    const next = last && `${last.agent} ${last.status_at} ${last.id}`;
    return { items: rows.map(toTaskRecord), next };
  }

  async listContext({ tenant, owner }: Scope, contextId: string, limit: number) {
    const rows = this.#database.read(() => this.#sql.context.all(contextId, owner, tenant, limit));
    return rows.map(toTaskRecord);
  }

  async remove(taskIds: readonly string[]): Promise<readonly string[]> {
    const gone = await this.#database.write(() => taskIds.filter((id) => this.#hide(id)));
    this.#recent.forget(gone);
    while (await this.#database.write(() => this.#clear()));
    return gone;
  }

  /** False when the task has to stay. */
  #hide(id: string): boolean {
    const task = this.#sql.removable.get(id);
    if (!task) return false;
    this.#sql.note.run(task.key);
    this.#sql.dropPushes.run(id);
    this.#sql.dropTask.run(task.key);
    return true;
  }

  /** Takes a part of what removed tasks left; false when nothing is left. */
  #clear(): boolean {
    for (let room = EVENTS_AT_ONCE; room > 0;) {
      const task = this.#sql.removed.get();
      if (!task) return false;
      const events = this.#sql.dropEvents.all(task.key, task.key, room);
      for (const { message } of events) {
        if (message !== null) this.#sql.dropInbox.run(task.tenant, task.owner, task.agent, message);
      }
      if (events.length < room) this.#sql.forget.run(task.key);
      room -= events.length + 1;
    }
    return true;
  }
}

type Place = readonly [agent: string, statusAt: number, id: string];

/** Throws `invalid-input` for what `listOwned` did not give out. */
function placeOf(after: string): Place {
  if (after === '') return ['', 0, ''];
  const [, agent, statusAt, id] = /^(.+) (\d{1,15}) (\S+)$/s.exec(after) ?? [];
  if (agent !== undefined && id !== undefined) return [agent, Number(statusAt), id];
  throw new LangoError('invalid-input', 'That is no place in the list of tasks.', {
    hint: 'Begin again without "after".',
  });
}

interface RetentionStatements {
  readonly made: Database.Statement<
    [after: number, limit: number],
    Pick<TaskRow, 'key' | 'id' | 'state' | 'status_at' | 'created_at'>
  >;
  readonly owned: Database.Statement<
    [tenant: string, owner: string, agent: string, statusAt: number, id: string, limit: number],
    TaskRow
  >;
  readonly context: Database.Statement<
    [context: string, owner: string, tenant: string, limit: number],
    TaskRow
  >;
  readonly removable: Database.Statement<[id: string], Pick<TaskRow, 'key'>>;
  readonly note: Database.Statement<[key: number]>;
  readonly dropPushes: Database.Statement<[task: string]>;
  readonly dropTask: Database.Statement<[key: number]>;
  readonly removed: Database.Statement<[], Pick<TaskRow, 'key' | 'tenant' | 'owner' | 'agent'>>;
  readonly dropEvents: Database.Statement<
    [task: number, task: number, limit: number],
    { readonly message: string | null }
  >;
  readonly dropInbox: Database.Statement<[tenant: string, owner: string, agent: string, messageId: string]>;
  readonly forget: Database.Statement<[key: number]>;
}

const ENDED = "state IN ('completed', 'failed', 'canceled', 'rejected')";

const SQL: Readonly<Record<keyof RetentionStatements, string>> = {
  made: 'SELECT key, id, state, status_at, created_at FROM tasks WHERE key > ? ORDER BY key LIMIT ?',
  owned: `SELECT * FROM tasks INDEXED BY tasks_by_status
      WHERE tenant = ? AND owner = ? AND (agent, status_at, id) > (?, ?, ?) ORDER BY agent, status_at, id LIMIT ?`,
  context: `SELECT * FROM tasks INDEXED BY tasks_by_context WHERE context = ? AND owner = ? AND tenant = ? LIMIT ?`,
  removable: `SELECT key FROM tasks AS task WHERE id = ? AND ${ENDED}
      AND NOT EXISTS (SELECT 1 FROM tasks AS above WHERE above.id = task.parent AND NOT above.${ENDED})`,
  note: 'INSERT INTO removed_tasks SELECT key, tenant, owner, agent FROM tasks WHERE key = ?',
  dropPushes: 'DELETE FROM push_configs WHERE task = ?',
  dropTask: 'DELETE FROM tasks WHERE key = ?',
  removed: 'SELECT key, tenant, owner, agent FROM removed_tasks LIMIT 1',
  /** An idempotency row is found by the message that it stands for: nothing else leads from a task to it. */
  dropEvents: `DELETE FROM events WHERE task = ? AND seq IN (SELECT seq FROM events WHERE task = ? ORDER BY seq LIMIT ?)
      RETURNING iif(type = 'message', body ->> '$.message.id', NULL) AS message`,
  dropInbox: 'DELETE FROM inbox WHERE tenant = ? AND owner = ? AND agent = ? AND message_id = ?',
  forget: 'DELETE FROM removed_tasks WHERE key = ?',
};
