import type { OpenTaskCount, RetentionStore } from '../stores/tasks.js';
import { isTerminal, type EventBody, type Scope, type TaskRecord } from '../core/task.js';
import { parsePosition, toPositionText } from '../stores/position.js';
import { eventsIn } from './event-rows.js';
import { toTaskRecord, type TaskRow } from './rows.js';
import { inboxKey } from './task-changes.js';
import { ENDED, LIVE } from './task-sql.js';
import { subtractUse } from './task-use-store.js';
import { all, first, run, type Dialect, type Query, type SqlDatabase } from '../core/sql.js';
import type { RecentEvents } from './recent-events.js';
import type { TaskCounts } from './task-list.js';

/** The number of rows of events that one transaction removes. */
const ROWS_AT_ONCE = 500;

const SQL = {
  /** `above`: the id of the parent while that is stored. */
  made: `SELECT key, id, state, status_at, created_at, (SELECT id FROM tasks AS above WHERE id = task.parent) AS above,
      (SELECT min(id) FROM tasks AS fork WHERE fork.fork_of = task.id) AS fork
    FROM tasks AS task WHERE key > ? ORDER BY key LIMIT ?`,
  /** The last parameter is 1 to remove a task with a fork as well. */
  removable: `SELECT key FROM tasks AS task WHERE id = ? AND ${ENDED}
      AND NOT EXISTS (SELECT 1 FROM tasks AS above WHERE above.id = task.parent AND NOT above.${ENDED})
      AND (CAST(? AS INTEGER) = 1 OR NOT EXISTS (SELECT 1 FROM tasks AS fork WHERE fork.fork_of = task.id))`,
  note: 'INSERT INTO removed_tasks SELECT key, tenant, owner, agent, id, context FROM tasks WHERE key = ?',
  dropPushes: 'DELETE FROM push_configs WHERE task_id = ?',
  dropTask: 'DELETE FROM tasks WHERE key = ?',
  removed: 'SELECT * FROM removed_tasks LIMIT 1',
  forget: 'DELETE FROM removed_tasks WHERE key = ?',
} as const;

type MadeRow = Pick<TaskRow, 'key' | 'id' | 'state' | 'status_at' | 'created_at'> & {
  readonly above: string | null;
  /** The id of a fork; null when there is none. */
  readonly fork: string | null;
};
type DroppedRow = Readonly<{ messages: string | null; bytes: number }>;
type RemovedTask = Pick<TaskRow, 'key' | 'id' | 'tenant' | 'owner' | 'agent' | 'context'>;

const sqlOf = ({ using, eventBytes }: Dialect) => ({
  /** Also returns the rows with messages: their ids are the only way from a task to its inbox rows. */
  dropEvents: `DELETE FROM events WHERE task = ? AND seq IN (SELECT seq FROM events WHERE task = ? ORDER BY seq LIMIT ?)
    RETURNING CASE type WHEN 'message' THEN body END AS messages, ${eventBytes} AS bytes`,
  owned: `SELECT * FROM tasks ${using('tasks_by_status')}
    WHERE tenant = ? AND owner = ? AND (agent, status_at, id) > (?, ?, ?) ORDER BY agent, status_at, id LIMIT ?`,
  /** Reads one index entry per owner, regardless of the number of tasks. */
  nextOwner: `SELECT tenant, owner FROM tasks ${using('tasks_by_status')}
    WHERE (tenant, owner) > (?, ?) ORDER BY tenant, owner LIMIT 1`,
  /** Forks are newer than what they share: they come first. */
  ofContext: `WITH RECURSIVE family (name) AS (
      SELECT context FROM tasks WHERE context = @contextId UNION SELECT fork.context
      FROM family JOIN tasks AS task ON task.context = family.name JOIN tasks AS fork ON fork.fork_of = task.id
      WHERE task.owner = @owner AND task.tenant = @tenant
    )
    SELECT tasks.* FROM tasks JOIN family ON tasks.context = family.name
    WHERE owner = @owner AND tenant = @tenant ORDER BY key DESC LIMIT @limit`,
  openOf: `SELECT * FROM tasks ${using('tasks_live')} WHERE ${LIVE} AND tenant = ? AND owner = ? ORDER BY key DESC LIMIT ?`,
  open: `SELECT agent, state, count(*) AS value FROM tasks ${using('tasks_live')} WHERE ${LIVE} GROUP BY agent, state`,
});
/** The lock that lets one process remove at a time: two would lock rows in different orders, and wait for each other. */
const LOCK = 'retention';

interface RetentionParts {
  readonly recent: RecentEvents;
  /** Undefined when other processes remove tasks too. */
  readonly counts: TaskCounts | undefined;
  /** Removes a message from the inbox by its key, unless it has become another task since. */
  readonly forgetMessage: (key: string, task: RemovedTask) => Query<unknown>;
}

/** Lists and removes ended tasks, in the same database. */
export function createRetentionStore(database: SqlDatabase, parts: RetentionParts): RetentionStore {
  const sql = sqlOf(database.dialect);
  const recordsOf = async (...asked: Parameters<typeof all>): Promise<readonly TaskRecord[]> =>
    (await database.read(() => all<TaskRow>(...asked))).map(toTaskRecord);
  return {
    /**
     * Walks the tasks in the order of their creation, up to the first one that was created after the age limit. Leaves out
     * a child whose parent is stored and not listed with it, and a task with a fork: their entries refer to those of the one.
     */
    async listEnded(ageMs, after, limit) {
      const before = (await database.now()) - ageMs;
      const rows = await database.read(() => all<MadeRow>(SQL.made, Number(after), limit));
      const young = rows.findIndex((row) => row.created_at > before);
      const old = young === -1 ? rows : rows.slice(0, young);
      const ended = new Set<string>();
      for (const { id, state, status_at: at, above, fork } of old) {
        const isNeeded = fork !== null || (above !== null && !ended.has(above));
        if (isTerminal(state) && at <= before && !isNeeded) ended.add(id);
      }
      const isLast = young !== -1 || rows.length < limit;
      return { items: [...ended], next: isLast ? undefined : String(rows.at(-1)?.key) };
    },

    async countOpen() {
      const rows = await database.read(() => all<OpenTaskCount>(sql.open));
      return rows.map(({ value, ...rest }) => ({ ...rest, value: Number(value) }));
    },

    listOpen: ({ tenant, owner }, limit) => recordsOf(sql.openOf, tenant, owner, limit),
    listContext: ({ tenant, owner }, contextId, limit) =>
      recordsOf(sql.ofContext, { contextId, owner, tenant, limit }),

    async listOwned({ tenant, owner }, after, limit) {
      const position = parsePosition(after, ['', 0, '']);
      const items = await recordsOf(sql.owned, tenant, owner, ...position, limit);
      const last = items.length < limit ? undefined : items.at(-1);
      return { items, next: last && toPositionText([last.agent, last.statusAt, last.id]) };
    },

    listOwners(after, limit) {
      return database.read(function* () {
        const owners: Scope[] = [];
        for (let last: Scope | undefined = after; last && owners.length < limit;) {
          last = yield* first<Scope>(sql.nextOwner, last.tenant, last.owner);
          if (last) owners.push(last);
        }
        return owners;
      });
    },

    async remove(taskIds, forked = false) {
      const gone = await database.write(LOCK, () => hideAll(taskIds, { counts: parts.counts, forked }));
      parts.recent.forget(gone);
      while (await database.write(LOCK, () => clear(sql.dropEvents, parts.forgetMessage)));
      return gone;
    },
  };
}

/** Removes some of the rows of removed tasks. False if none are left. */
function* clear(dropEvents: string, forgetMessage: RetentionParts['forgetMessage']): Query<boolean> {
  for (let room = ROWS_AT_ONCE; room > 0;) {
    const task = yield* first<RemovedTask>(SQL.removed);
    if (!task) return false;
    const { key } = task;
    const rows = yield* all<DroppedRow>(dropEvents, key, key, room);
    const bytes = rows.reduce((sum, row) => sum + row.bytes, 0);
    if (bytes > 0) yield* subtractUse(task, bytes);
    const ids = rows.flatMap(({ messages }) => (messages === null ? [] : messageIdsIn(messages)));
    for (const messageId of ids)
      for (const context of ['', task.context])
        yield* forgetMessage(inboxKey({ ...task, context, messageId }), task);
    if (rows.length < room) yield* run(SQL.forget, key);
    room -= rows.length + 1;
  }
  return true;
}

/** Removes the rows of these tasks, so that no reader finds them. Returns the ids of the tasks that could be removed. */
function* hideAll(
  taskIds: readonly string[],
  { counts, forked }: { readonly counts: TaskCounts | undefined; readonly forked: boolean },
): Query<readonly string[]> {
  const gone: string[] = [];
  for (const id of taskIds) {
    const task = yield* first<Pick<TaskRow, 'key'>>(SQL.removable, id, forked ? 1 : 0);
    if (!task) continue;
    yield* run(SQL.note, task.key);
    yield* run(SQL.dropPushes, id);
    yield* run(SQL.dropTask, task.key);
    counts?.clear();
    gone.push(id);
  }
  return gone;
}

/** Returns the ids of the messages in a row; none of a damaged event, whose inbox row stays. */
function messageIdsIn(body: string): readonly string[] {
  return eventsIn({ seq: 0, at: 0, author: null, body }).flatMap((event) => {
    try {
      const parsed = JSON.parse(event.body) as EventBody;
      return parsed.type === 'message' ? parsed.message.id : [];
    } catch {
      return [];
    }
  });
}
