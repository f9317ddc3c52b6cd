import { LangoError } from '../core/errors.js';
import { newId } from '../core/ids.js';
import type { NewPush, PushConfig, PushDelivery, PushTask } from '../core/push.js';
import { PUSH_LEASE_MS, type PushCounts, type PushOutcome, type PushStore } from '../stores/pushes.js';
import type { Grant } from '../core/task.js';
import { assertKeys, insertInto, toParameters, toRecord, type Row } from '../stores/records.js';
import { DAY_MS, type TaskRow } from './rows.js';
import { ENDED } from './task-sql.js';
import { all, column, first, lockOf, run, type Query, type SqlDatabase } from '../core/sql.js';

/** The time that the row of a given-up config is kept, in milliseconds. */
const GIVEN_UP_KEPT_MS = 7 * DAY_MS;
/** The most of these rows, of all owners. */
const GIVEN_UP_KEPT = 10_000;
/** After this time, a config whose task has ended counts as late: its receiver is slow, hangs or is gone. */
const LATE_MS = 60_000;
const LATE_REASON = 'The receiver was late, and its owner had as many newer push configs as they may have.';

const ACTIVE = "state = 'active'";
const CONFIG = 'p.id, p.task_id, p.url, p.scheme, p.sealed, p.version, p.created_at';
const WORK = `SELECT ${CONFIG}, p.key, p.cursor, p.up_to, p.attempts, p.next_at,
    t.agent, t.context AS context_id, t.authority
  FROM push_configs p JOIN tasks t ON t.id = p.task_id WHERE p.state = 'active'`;
const SETTLED = 'lease_by = NULL, lease_until = 0';

const TASK = 'SELECT head FROM tasks WHERE id = ? AND tenant = ? AND owner = ?';
/** The lock of writes to the configs of many owners. */
const LOCK = 'pushes';

/** The late configs of an owner. */
const LATE = `p.tenant = ? AND p.owner = ? AND p.state = 'active'
  AND EXISTS (SELECT 1 FROM tasks WHERE id = p.task_id AND ${ENDED} AND status_at <= ?)`;

const COLUMNS = [
  ...['key', 'tenant', 'owner', 'taskId', 'id', 'url', 'scheme', 'sealed', 'version', 'createdAt', 'cursor'],
  ...['upTo', 'attempts', 'nextAt', 'leaseUntil', 'state'],
];

const SQL = {
  one: `SELECT ${CONFIG} FROM push_configs p WHERE task_id = ? AND id = ? AND tenant = ? AND owner = ? AND ${ACTIVE}`,
  page: `SELECT ${CONFIG} FROM push_configs p WHERE task_id = ? AND id > ? AND tenant = ? AND owner = ? AND ${ACTIVE}
      ORDER BY id LIMIT ?`,
  remove: 'DELETE FROM push_configs WHERE task_id = ? AND id = ? AND tenant = ? AND owner = ?',
  countOfTask: `SELECT count(*) FROM push_configs WHERE task_id = ? AND ${ACTIVE}`,
  countOfOwner: `SELECT count(*) FROM push_configs WHERE tenant = ? AND owner = ? AND ${ACTIVE}`,
  countLate: `SELECT count(*) FROM push_configs p WHERE ${LATE}`,
  /** Gives up the late configs of an owner, the oldest first. */
  giveUpLate: `UPDATE push_configs SET state = 'given-up', next_at = ?, reason = ?, sealed = NULL, ${SETTLED}
      WHERE key IN (SELECT key FROM push_configs p WHERE ${LATE} ORDER BY key LIMIT ?)`,
  /** Replacing an active config keeps its cursor. Replacing a given-up config starts at the current head. */
  put: `${insertInto('push_configs', COLUMNS)}
      ON CONFLICT (task_id, id) DO UPDATE SET key = excluded.key, url = excluded.url, scheme = excluded.scheme,
        sealed = excluded.sealed, version = excluded.version, created_at = excluded.created_at,
        cursor = CASE push_configs.state WHEN 'active' THEN push_configs.cursor ELSE excluded.cursor END,
        up_to = CASE WHEN excluded.up_to > 0 AND push_configs.state = 'active' THEN push_configs.cursor
          ELSE excluded.up_to END,
        attempts = 0, next_at = 0, lease_by = NULL, lease_until = 0, state = 'active', reason = NULL`,
  active: `${WORK} AND p.key > ? ORDER BY p.key LIMIT ?`,
  activeOf: `${WORK} AND p.task_id = ?`,
  activeOne: `${WORK} AND p.key = ?`,
  claim: `UPDATE push_configs SET lease_by = @worker, lease_until = @until, up_to = @upTo
      WHERE key = @key AND ${ACTIVE} AND cursor = @cursor AND (lease_by IS NULL OR lease_until <= @now)`,
  delivered: `UPDATE push_configs SET cursor = ?, up_to = 0, attempts = 0, next_at = 0, reason = NULL, ${SETTLED}
      WHERE key = ? AND lease_by = ?`,
  failed: `UPDATE push_configs SET attempts = attempts + 1, next_at = ?, reason = ?, ${SETTLED}
      WHERE key = ? AND lease_by = ?`,
  ended: 'DELETE FROM push_configs WHERE key = ? AND lease_by = ?',
  /** Clears the secrets, which are not needed any more. */
  givenUp: `UPDATE push_configs SET state = 'given-up', next_at = ?, reason = ?, sealed = NULL, ${SETTLED}
      WHERE key = ? AND lease_by = ?`,
  release: `UPDATE push_configs SET ${SETTLED} WHERE lease_by = ?`,
  releaseAll: `UPDATE push_configs SET ${SETTLED} WHERE lease_by IS NOT NULL`,
  purge: `DELETE FROM push_configs WHERE state = 'given-up' AND (next_at < ? OR next_at <=
      (SELECT next_at FROM push_configs WHERE state = 'given-up' ORDER BY next_at DESC LIMIT 1 OFFSET ?))`,
  counts: `SELECT count(*) FILTER (WHERE state = 'active') AS active,
        count(*) FILTER (WHERE state = 'active' AND attempts > 0) AS failing,
        count(*) FILTER (WHERE state = 'given-up') AS "givenUp" FROM push_configs`,
} as const;

/** The event after which a new config starts, and the time of the store's clock. */
interface PushStart {
  readonly cursor: number;
  /** Whether the Task as of `cursor` is delivered first. The response to a message is the Task already. */
  readonly withTask?: boolean;
  readonly now: number;
}

/** The processes that share a database. */
export interface Processes {
  /** Call it with the name of a worker before the worker claims. */
  add(worker: string): Promise<void>;
  /** Frees the leases of processes that have ended. */
  freeDead(): Promise<void>;
  /** Calls `listener` when the leases of ended processes were freed. */
  onFreed(listener: () => void): void;
}

/** Push configs, in the same database as their tasks. Without `processes` no other process uses the database. */
export function createPushStore(database: SqlDatabase, processes?: Processes): PushStore {
  const deliveries = async (sql: string, ...values: readonly unknown[]): Promise<readonly PushDelivery[]> => {
    const rows = await database.read(() => all<DeliveryRow>(sql, ...values));
    return rows.map(({ authority, ...row }) => {
      const { trace } = JSON.parse(authority) as Grant;
      return { ...toRecord<PushDelivery>(row), ...(trace && { trace }) };
    });
  };
  return {
    async save(owned, push) {
      assertKeys({ id: push.target.id });
      const { scope, taskId } = owned;
      return database.write(lockOf(scope), function* (now) {
        const sql = `${TASK}${database.dialect.forUpdate}`;
        const task = yield* first<Pick<TaskRow, 'head'>>(sql, taskId, scope.tenant, scope.owner);
        if (!task) throw new LangoError('not-found', `There is no task ${taskId}.`);
        yield* assertPushRoom(owned, push, now);
        return yield* putPush(owned, push, { cursor: task.head, withTask: true, now });
      });
    },

    async get({ scope, taskId }, id) {
      const row = await database.read(() => first<Row>(SQL.one, taskId, id, scope.tenant, scope.owner));
      return row && toRecord(row);
    },

    async list({ scope, taskId }, after, limit) {
      const { tenant, owner } = scope;
      const rows = await database.read(() => all<Row>(SQL.page, taskId, after, tenant, owner, limit));
      return rows.map((row) => toRecord(row));
    },

    async delete({ scope, taskId }, id) {
      await database.write(lockOf(scope), () => run(SQL.remove, taskId, id, scope.tenant, scope.owner));
    },

    listActive: (after, limit) => deliveries(SQL.active, after, limit),
    listActiveOf: (taskId) => deliveries(SQL.activeOf, taskId),
    getActive: async (key) => (await deliveries(SQL.activeOne, key))[0],

    async claim({ key, cursor }, upTo, worker) {
      await processes?.add(worker);
      const changes = await database.write(key, (now) =>
        run(SQL.claim, { key, cursor, upTo, worker, until: now + PUSH_LEASE_MS, now }),
      );
      return changes === 1;
    },

    async settle(key, worker, outcome) {
      await database.write(key, (now) => settle(key, worker, { outcome, now }));
    },

    async release(worker) {
      await database.write(LOCK, () => run(SQL.release, worker));
    },

    async purge() {
      await database.write(LOCK, purgePushes);
    },

    onFreed(listener) {
      processes?.onFreed(listener);
    },

    async counts() {
      return (await database.read(() => first<PushCounts>(SQL.counts)))!;
    },
  };
}

/** Throws `too-many` if a limit is reached. Writes nothing. Late configs of tasks that have ended do not count. */
export function* assertPushRoom(
  { scope, taskId }: PushTask,
  { target, caps }: NewPush,
  now: number,
): Query<void> {
  const { tenant, owner } = scope;
  if (yield* first(SQL.one, taskId, target.id, tenant, owner)) return;
  const [ofTask = 0] = yield* column<number>(SQL.countOfTask, taskId);
  if (ofTask >= caps.perTask) throw full('A task', caps.perTask);
  const [ofOwner = 0] = yield* column<number>(SQL.countOfOwner, tenant, owner);
  if (ofOwner < caps.perOwner) return;
  const [late = 0] = yield* column<number>(SQL.countLate, tenant, owner, now - LATE_MS);
  if (ofOwner - late >= caps.perOwner) throw full('A caller', caps.perOwner);
}

/** Stores a config that starts after the event `cursor`, in place of late configs when the owner has too many. */
export function* putPush(
  { scope, taskId }: PushTask,
  { target, caps }: NewPush,
  { cursor, withTask = false, now }: PushStart,
): Query<PushConfig> {
  const { tenant, owner } = scope;
  const config: PushConfig = { ...target, taskId, createdAt: now };
  const unsent = { attempts: 0, nextAt: 0, leaseUntil: 0, state: 'active' };
  const row = { ...config, ...unsent, tenant, owner, key: newId(), cursor, upTo: withTask ? cursor : 0 };
  yield* run(SQL.put, toParameters(row));
  const [ofOwner = 0] = yield* column<number>(SQL.countOfOwner, tenant, owner);
  if (ofOwner > caps.perOwner) {
    const late = [tenant, owner, now - LATE_MS, ofOwner - caps.perOwner];
    yield* run(SQL.giveUpLate, now, LATE_REASON, ...late);
    yield* purgePushes(now);
  }
  return config;
}

type DeliveryRow = Row & Pick<TaskRow, 'authority'>;

function* settle(
  key: string,
  worker: string,
  { outcome, now }: { readonly outcome: PushOutcome; readonly now: number },
): Query<number> {
  switch (outcome.kind) {
    case 'delivered':
      return yield* run(SQL.delivered, outcome.cursor, key, worker);
    case 'failed':
      return yield* run(SQL.failed, outcome.nextAt, outcome.reason, key, worker);
    case 'ended':
      return yield* run(SQL.ended, key, worker);
    case 'given-up':
      yield* run(SQL.givenUp, now, outcome.reason, key, worker);
      return yield* purgePushes(now);
  }
}

/** Removes the rows of configs that were given up long ago, or before many others. Call it when the storage is opened. */
export function purgePushes(now: number): Query<number> {
  return run(SQL.purge, now - GIVEN_UP_KEPT_MS, GIVEN_UP_KEPT);
}

/** Ends all claims. Call it only for a database that no other process uses. */
export function releaseAllPushes(): Query<number> {
  return run(SQL.releaseAll);
}

function full(whose: string, limit: number): LangoError {
  return new LangoError('too-many', `${whose} cannot have more than ${limit} push notification configs.`, {
    hint: 'Delete the configs that are not needed any more.',
  });
}
