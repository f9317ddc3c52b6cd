import { LangoError } from '../../core/errors.js';
import { newId } from '../../core/ids.js';
import type { NewPush, PushConfig, PushDelivery, PushTask } from '../../core/push.js';
import { PUSH_LEASE_MS, type PushCounts, type PushOutcome, type PushStore } from '../../stores/pushes.js';
import { isTerminal } from '../../core/task.js';
import type { Row } from '../records.js';
import { insertInto, toParameters, toRecord } from '../records.js';
import type { TaskRow } from '../rows.js';
import { assertKeys } from '../rows.js';
import type { SqliteDatabase } from './database.js';
import type { Prepared } from './prepared.js';

/** How long the row of a given-up config is kept, in milliseconds. */
const GIVEN_UP_KEPT_MS = 7 * 24 * 60 * 60 * 1_000;

const ACTIVE = "state = 'active'";
const CONFIG = 'p.id, p.task_id, p.url, p.scheme, p.sealed, p.version, p.created_at';
const WORK = `SELECT ${CONFIG}, p.key, p.cursor, p.up_to, p.attempts, p.next_at,
    t.agent, t.context AS context_id, t.authority -> '$.trace' AS trace
  FROM push_configs p JOIN tasks t ON t.id = p.task_id WHERE p.state = 'active'`;
const SETTLED = 'lease_by = NULL, lease_until = 0';

const SQL = {
  task: 'SELECT state, head FROM tasks WHERE id = ? AND tenant = ? AND owner = ?',
  one: `SELECT ${CONFIG} FROM push_configs p WHERE task_id = ? AND id = ? AND tenant = ? AND owner = ? AND ${ACTIVE}`,
  page: `SELECT ${CONFIG} FROM push_configs p WHERE task_id = ? AND id > ? AND tenant = ? AND owner = ? AND ${ACTIVE}
      ORDER BY id LIMIT ?`,
  remove: 'DELETE FROM push_configs WHERE task_id = ? AND id = ? AND tenant = ? AND owner = ?',
  countOfTask: `SELECT count(*) FROM push_configs WHERE task_id = ? AND ${ACTIVE}`,
  countOfOwner: `SELECT count(*) FROM push_configs WHERE tenant = ? AND owner = ? AND ${ACTIVE}`,
  /** Replacing an active config keeps its cursor. Replacing a given-up config starts after the current head. */
  put: `${insertInto('push_configs', [
    ...[
      'key',
      'tenant',
      'owner',
      'taskId',
      'id',
      'url',
      'scheme',
      'sealed',
      'version',
      'createdAt',
      'cursor',
    ],
    ...['upTo', 'attempts', 'nextAt', 'leaseUntil', 'state'],
  ])}
      ON CONFLICT (task_id, id) DO UPDATE SET key = excluded.key, url = excluded.url, scheme = excluded.scheme,
        sealed = excluded.sealed, version = excluded.version, created_at = excluded.created_at,
        cursor = iif(state = 'active', cursor, excluded.cursor), up_to = 0, attempts = 0, next_at = 0,
        lease_by = NULL, lease_until = 0, state = 'active', reason = NULL`,
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
  purge: "DELETE FROM push_configs WHERE state = 'given-up' AND next_at < ?",
  counts: `SELECT sum(state = 'active') AS active, sum(state = 'active' AND attempts > 0) AS failing,
        sum(state = 'given-up') AS givenUp FROM push_configs`,
} as const;

type TaskHead = Pick<TaskRow, 'state' | 'head'>;
type CountsRow = Readonly<Record<'active' | 'failing' | 'givenUp', number | null>>;

/** Used inside a transaction that accepts a message, to store a push config with it. */
export interface PushWrites {
  /** Throws `too-many` if a limit is reached. Writes nothing. */
  assertRoom(owned: PushTask, push: NewPush): void;
  /** Stores a config that starts after the event `cursor`. */
  put(owned: PushTask, push: NewPush, cursor: number): PushConfig;
}

/** Push configs, in the same database as their tasks. Opening it voids the claims of an earlier process. */
export class SqlitePushStore implements PushStore, PushWrites {
  readonly #database: SqliteDatabase;
  readonly #prepared: Prepared;

  constructor(database: SqliteDatabase) {
    this.#database = database;
    this.#prepared = database.prepared;
    this.#prepared.run(SQL.releaseAll);
    this.#prepared.run(SQL.purge, database.now() - GIVEN_UP_KEPT_MS);
  }

  async save(owned: PushTask, push: NewPush): Promise<PushConfig> {
    assertKeys({ id: push.target.id });
    return this.#database.write(() => {
      const task = this.#prepared.first<TaskHead>(
        SQL.task,
        owned.taskId,
        owned.scope.tenant,
        owned.scope.owner,
      );
      if (!task) throw new LangoError('not-found', `There is no task ${owned.taskId}.`);
      this.assertRoom(owned, push);
      return this.put(owned, push, isTerminal(task.state) ? task.head - 1 : task.head);
    });
  }

  async get({ scope, taskId }: PushTask, id: string): Promise<PushConfig | undefined> {
    const row = this.#read(() => this.#prepared.first<Row>(SQL.one, taskId, id, scope.tenant, scope.owner));
    return row && toRecord(row);
  }

  async list({ scope, taskId }: PushTask, after: string, limit: number): Promise<readonly PushConfig[]> {
    const rows = this.#read(() =>
      this.#prepared.all<Row>(SQL.page, taskId, after, scope.tenant, scope.owner, limit),
    );
    return rows.map((row) => toRecord(row));
  }

  async delete({ scope, taskId }: PushTask, id: string): Promise<void> {
    await this.#database.write(
      () => void this.#prepared.run(SQL.remove, taskId, id, scope.tenant, scope.owner),
    );
  }

  async listActive(after: string, limit: number): Promise<readonly PushDelivery[]> {
    return this.#deliveries(SQL.active, after, limit);
  }

  async listActiveOf(taskId: string): Promise<readonly PushDelivery[]> {
    return this.#deliveries(SQL.activeOf, taskId);
  }

  async getActive(key: string): Promise<PushDelivery | undefined> {
    return this.#deliveries(SQL.activeOne, key)[0];
  }

  async claim(work: PushDelivery, upTo: number, worker: string): Promise<boolean> {
    return this.#database.write(() => {
      const now = this.#database.now();
      const { changes } = this.#prepared.run(SQL.claim, {
        key: work.key,
        cursor: work.cursor,
        upTo,
        worker,
        until: now + PUSH_LEASE_MS,
        now,
      });
      return changes === 1;
    });
  }

  async settle(key: string, worker: string, outcome: PushOutcome): Promise<void> {
    await this.#database.write(() => {
      switch (outcome.kind) {
        case 'delivered':
          this.#prepared.run(SQL.delivered, outcome.cursor, key, worker);
          break;
        case 'failed':
          this.#prepared.run(SQL.failed, outcome.nextAt, outcome.reason, key, worker);
          break;
        case 'ended':
          this.#prepared.run(SQL.ended, key, worker);
          break;
        case 'given-up':
          this.#prepared.run(SQL.givenUp, this.#database.now(), outcome.reason, key, worker);
          this.#prepared.run(SQL.purge, this.#database.now() - GIVEN_UP_KEPT_MS);
          break;
      }
    });
  }

  async release(worker: string): Promise<void> {
    await this.#database.write(() => void this.#prepared.run(SQL.release, worker));
  }

  async counts(): Promise<PushCounts> {
    const { active, failing, givenUp } = this.#read(() => this.#prepared.first<CountsRow>(SQL.counts)!);
    return { active: active ?? 0, failing: failing ?? 0, givenUp: givenUp ?? 0 };
  }

  assertRoom({ scope, taskId }: PushTask, { target, caps }: NewPush): void {
    if (this.#prepared.first(SQL.one, taskId, target.id, scope.tenant, scope.owner)) return;
    if (this.#count(SQL.countOfTask, taskId) >= caps.perTask) throw full('A task', caps.perTask);
    if (this.#count(SQL.countOfOwner, scope.tenant, scope.owner) >= caps.perOwner)
      throw full('A caller', caps.perOwner);
  }

  put({ scope, taskId }: PushTask, { target }: NewPush, cursor: number): PushConfig {
    const config: PushConfig = { ...target, taskId, createdAt: this.#database.now() };
    const { tenant, owner } = scope;
    const unsent = { cursor, upTo: 0, attempts: 0, nextAt: 0, leaseUntil: 0, state: 'active' };
    this.#prepared.run(SQL.put, toParameters({ ...config, ...unsent, key: newId(), tenant, owner }));
    return config;
  }

  #deliveries(sql: string, ...values: readonly unknown[]): readonly PushDelivery[] {
    const rows = this.#read(() => this.#prepared.all<Row>(sql, ...values));
    return rows.map((row) => toRecord(row, { json: ['trace'] }));
  }

  #count(sql: string, ...values: readonly string[]): number {
    return this.#prepared.column<number>(sql, ...values)[0] ?? 0;
  }

  #read<Result>(query: () => Result): Result {
    return this.#database.read(query);
  }
}

function full(whose: string, limit: number): LangoError {
  return new LangoError('too-many', `${whose} cannot have more than ${limit} push notification configs.`, {
    hint: 'Delete the configs that are not needed any more.',
  });
}
