import { BoundedCache } from '../core/bounded-cache.js';
import type { TaskPage, TaskQuery } from '../core/journal.js';
import type { Scope } from '../core/task.js';
import { parsePosition, toPositionText } from '../stores/position.js';
import { toTaskRecord, type RecordRow } from './rows.js';
import { all, column, type Dialect, type Query } from '../core/sql.js';

interface Condition {
  readonly sql: string;
  readonly values: readonly (string | number)[];
}

/** The columns that a record is made of, but for those that all tasks of a page share. A row of all columns costs twice as much. */
const COLUMNS =
  'id, context, parent, authority, state, status_message, status_at, created_at, head, epoch, crashes, fork_of, fork_at';

/** SQLite plans a statement with ORDER BY and LIMIT again at each binding of a bare parameter that is compared with =. */
const TEXT = 'CAST(? AS TEXT)';

/** Reads one page of a caller's tasks. It walks an index in the order of the page, or sorts the tasks of one context. */
export function* listTasks(
  { dialect, counts }: { readonly dialect: Dialect; readonly counts: TaskCounts | undefined },
  scope: Scope,
  query: TaskQuery,
): Query<TaskPage> {
  const filters = filtersOf(scope, query);
  const onPage = [...filters, ...startOf(query)];
  const sql = `SELECT count(*) ${from(dialect, query)} ${where(filters)}`;
  const count = () => column<number>(sql, ...valuesOf(filters));
  const isAll = [query.contextId, query.state, query.statusFrom].every((filter) => filter === undefined);
  const owned = [scope.tenant, scope.owner, query.agent] as const;
  const totalSize = isAll && counts ? yield* counts.of(owned, count) : ((yield* count())[0] ?? 0);
  const rows = yield* all<RecordRow>(
    `SELECT ${COLUMNS} ${from(dialect, query)} ${where(onPage)}
      ORDER BY status_at DESC, id DESC LIMIT CAST(? AS INTEGER)`,
    ...valuesOf(onPage),
    query.pageSize + 1,
  );
  const tasks = rows.slice(0, query.pageSize);
  const last = rows.length > tasks.length ? tasks.at(-1) : undefined;
  const nextPageToken = last ? toPositionText([last.status_at, last.id]) : '';
  const shared = { tenant: scope.tenant, owner: scope.owner, agent: query.agent };
  return { tasks: tasks.map((row) => toTaskRecord({ ...row, ...shared })), nextPageToken, totalSize };
}

/** When more tasks than this are new since the last count, all tasks are counted again. */
const MAX_NEW_TASKS = 500;
const MAX_OWNERS = 1_000;
const NEWEST = 'SELECT coalesce(max(key), 0) FROM tasks';
/** The pluses keep SQLite from an index that holds all tasks of the caller: it walks the newest keys alone. */
const SINCE = 'SELECT count(*) FROM tasks WHERE key > ? AND +tenant = ? AND +owner = ? AND +agent = ?';

/** Keeps the number of tasks of each caller and agent, for a database that no other process writes to. */
export class TaskCounts {
  readonly #known = new BoundedCache<string, { readonly count: number; readonly newest: number }>(MAX_OWNERS);

  /** Call it in each transaction that removes tasks. */
  clear(): void {
    for (const [name] of this.#known) this.#known.take(name);
  }

  /** Returns the known count plus the newer tasks; without a recent count, the result of `count`. */
  *of(owned: readonly [string, string, string], count: () => Query<readonly number[]>): Query<number> {
    const name = JSON.stringify(owned);
    const known = this.#known.get(name);
    const [newest = 0] = yield* column<number>(NEWEST);
    const isNear = known && newest - known.newest <= MAX_NEW_TASKS;
    const [counted = 0] = yield* isNear ? column<number>(SINCE, known.newest, ...owned) : count();
    const total = isNear ? known.count + counted : counted;
    this.#known.set(name, { count: total, newest });
    return total;
  }
}

/** Names the index, because SQLite would choose to walk all tasks of the agent, instead of sorting the few of a context. */
function from({ using }: Dialect, { contextId }: TaskQuery): string {
  return `FROM tasks ${using(contextId === undefined ? 'tasks_by_status' : 'tasks_by_context')}`;
}

function filtersOf({ tenant, owner }: Scope, query: TaskQuery): readonly Condition[] {
  const { agent, contextId: context, state, statusFrom } = query;
  const given = Object.entries({ context, tenant, owner, agent, state });
  const filters: Condition[] = given.flatMap(([name, value]) =>
    value === undefined ? [] : { sql: `${name} = ${TEXT}`, values: [value] },
  );
  if (statusFrom !== undefined) filters.push({ sql: 'status_at >= ?', values: [statusFrom] });
  return filters;
}

function startOf(query: TaskQuery): readonly Condition[] {
  if (query.pageToken === undefined || query.pageToken === '') return [];
  const values = parsePosition(query.pageToken, [0, ''], 'pageToken');
  return [{ sql: '(status_at, id) < (?, ?)', values }];
}

function where(conditions: readonly Condition[]): string {
  return `WHERE ${conditions.map(({ sql }) => sql).join(' AND ')}`;
}

function valuesOf(conditions: readonly Condition[]): (string | number)[] {
  return conditions.flatMap(({ values }) => values);
}
