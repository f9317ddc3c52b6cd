import type Database from 'better-sqlite3';
import { LangoError } from '../../core/errors.js';
import { newId } from '../../core/ids.js';
import type {
  NewPush,
  PushConfig,
  PushCounts,
  PushOutcome,
  PushTask,
  PushStore,
  PushDelivery,
} from '../../core/push.js';
import { PUSH_LEASE_MS } from '../../core/push.js';
import type { TaskState } from '../../core/task.js';
import { isTerminal } from '../../core/task.js';
import type { PushRow, PushWorkRow } from '../push-rows.js';
import { GIVEN_UP_KEPT_MS, toPushConfig, toPushWork } from '../push-rows.js';
import { assertKeys } from '../rows.js';
import type { SqliteDatabase } from './database.js';
import { prepareAll } from './prepared.js';

/** What a transaction that accepts a message needs to store a config with it. */
export interface PushWrites {
  /** Throws `too-many` when there is no room; writes nothing. */
  assertRoom(place: PushTask, push: NewPush): void;
  /** The config starts after the event `cursor`. */
  put(place: PushTask, push: NewPush, cursor: number): PushRow;
}

/** Push configs in the same database as their tasks. Claims of an earlier process are void. */
export class SqlitePushStore implements PushStore, PushWrites {
  readonly #database: SqliteDatabase;
  readonly #sql: PushStatements;

  constructor(database: SqliteDatabase) {
    this.#database = database;
    this.#sql = prepareAll(database.handle, SQL, ['countOfTask', 'countOfOwner']);
    this.#sql.releaseAll.run();
    this.#sql.purge.run(database.now() - GIVEN_UP_KEPT_MS);
  }

  async save(place: PushTask, push: NewPush): Promise<PushConfig> {
    assertKeys({ id: push.target.id });
    const row = await this.#database.write(() => {
      const task = this.#sql.task.get(place.taskId, place.scope.tenant, place.scope.owner);
      if (!task) throw new LangoError('not-found', `there is no task ${place.taskId}`);
      this.assertRoom(place, push);
      return this.put(place, push, isTerminal(task.state) ? task.head - 1 : task.head);
    });
    return toPushConfig(row);
  }

  async get({ scope, taskId }: PushTask, id: string): Promise<PushConfig | undefined> {
    const row = this.#read(() => this.#sql.one.get(taskId, id, scope.tenant, scope.owner));
    return row && toPushConfig(row);
  }

  async list({ scope, taskId }: PushTask, after: string, limit: number): Promise<readonly PushConfig[]> {
    const rows = this.#read(() => this.#sql.page.all(taskId, after, scope.tenant, scope.owner, limit));
    return rows.map(toPushConfig);
  }

  async delete({ scope, taskId }: PushTask, id: string): Promise<void> {
    await this.#database.write(() => void this.#sql.remove.run(taskId, id, scope.tenant, scope.owner));
  }

  async listActive(after: string, limit: number): Promise<readonly PushDelivery[]> {
    return this.#read(() => this.#sql.active.all(after, limit)).map(toPushWork);
  }

  async listActiveOf(taskId: string): Promise<readonly PushDelivery[]> {
    return this.#read(() => this.#sql.activeOf.all(taskId)).map(toPushWork);
  }

  async getActive(key: string): Promise<PushDelivery | undefined> {
    const row = this.#read(() => this.#sql.activeOne.get(key));
    return row && toPushWork(row);
  }

  async claim(work: PushDelivery, upTo: number, worker: string): Promise<boolean> {
    return this.#database.write(() => {
      const now = this.#database.now();
      const { changes } = this.#sql.claim.run({
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
          this.#sql.delivered.run(outcome.cursor, key, worker);
          break;
        case 'failed':
          this.#sql.failed.run(outcome.nextAt, outcome.reason, key, worker);
          break;
        case 'ended':
          this.#sql.ended.run(key, worker);
          break;
        case 'given-up':
          this.#sql.givenUp.run(this.#database.now(), outcome.reason, key, worker);
          this.#sql.purge.run(this.#database.now() - GIVEN_UP_KEPT_MS);
          break;
      }
    });
  }

  async release(worker: string): Promise<void> {
    await this.#database.write(() => void this.#sql.release.run(worker));
  }

  async counts(): Promise<PushCounts> {
    const { active, failing, givenUp } = this.#read(() => this.#sql.counts.get()!);
    return { active: active ?? 0, failing: failing ?? 0, givenUp: givenUp ?? 0 };
  }

  assertRoom({ scope, taskId }: PushTask, { target, caps }: NewPush): void {
    if (this.#sql.one.get(taskId, target.id, scope.tenant, scope.owner)) return;
    if (this.#sql.countOfTask.get(taskId)! >= caps.perTask) throw full('this task', caps.perTask);
    if (this.#sql.countOfOwner.get(scope.tenant, scope.owner)! >= caps.perOwner)
      throw full('you', caps.perOwner);
  }

  put({ scope, taskId }: PushTask, { target }: NewPush, cursor: number): PushRow {
    const row: PushRow = {
      key: newId(),
      tenant: scope.tenant,
      owner: scope.owner,
      task: taskId,
      id: target.id,
      url: target.url,
      scheme: target.scheme ?? null,
      sealed: target.sealed ?? null,
      version: target.version,
      created_at: this.#database.now(),
      cursor,
      up_to: 0,
      attempts: 0,
      next_at: 0,
      lease_by: null,
      lease_until: 0,
      state: 'active',
      reason: null,
    };
    this.#sql.put.run(row);
    return row;
  }

  #read<Result>(query: () => Result): Result {
    return this.#database.read(query);
  }
}

function full(whose: string, limit: number): LangoError {
  return new LangoError('too-many', `${whose} cannot have more than ${limit} push notification configs`, {
    hint: 'Delete those that are not needed any more.',
  });
}

interface ClaimValues {
  readonly key: string;
  readonly cursor: number;
  readonly upTo: number;
  readonly worker: string;
  readonly until: number;
  readonly now: number;
}

interface PushStatements {
  readonly task: Database.Statement<
    [id: string, tenant: string, owner: string],
    { readonly state: TaskState; readonly head: number }
  >;
  readonly one: Database.Statement<[task: string, id: string, tenant: string, owner: string], PushRow>;
  readonly page: Database.Statement<
    [task: string, after: string, tenant: string, owner: string, limit: number],
    PushRow
  >;
  readonly remove: Database.Statement<[task: string, id: string, tenant: string, owner: string]>;
  readonly countOfTask: Database.Statement<[task: string], number>;
  readonly countOfOwner: Database.Statement<[tenant: string, owner: string], number>;
  readonly put: Database.Statement<[PushRow]>;
  readonly active: Database.Statement<[after: string, limit: number], PushWorkRow>;
  readonly activeOf: Database.Statement<[task: string], PushWorkRow>;
  readonly activeOne: Database.Statement<[key: string], PushWorkRow>;
  readonly claim: Database.Statement<[ClaimValues]>;
  readonly delivered: Database.Statement<[cursor: number, key: string, worker: string]>;
  readonly failed: Database.Statement<[nextAt: number, reason: string, key: string, worker: string]>;
  readonly ended: Database.Statement<[key: string, worker: string]>;
  readonly givenUp: Database.Statement<[at: number, reason: string, key: string, worker: string]>;
  readonly release: Database.Statement<[worker: string]>;
  readonly releaseAll: Database.Statement<[]>;
  readonly purge: Database.Statement<[before: number]>;
  readonly counts: Database.Statement<[], Readonly<Record<'active' | 'failing' | 'givenUp', number | null>>>;
}

const ACTIVE = "state = 'active'";
const WORK =
  "SELECT p.*, t.agent, t.context, t.authority -> '$.trace' AS trace FROM push_configs p JOIN tasks t ON t.id = p.task WHERE p.state = 'active'";
const SETTLED = 'lease_by = NULL, lease_until = 0';

const SQL: Readonly<Record<keyof PushStatements, string>> = {
  task: 'SELECT state, head FROM tasks WHERE id = ? AND tenant = ? AND owner = ?',
  one: `SELECT * FROM push_configs WHERE task = ? AND id = ? AND tenant = ? AND owner = ? AND ${ACTIVE}`,
  page: `SELECT * FROM push_configs WHERE task = ? AND id > ? AND tenant = ? AND owner = ? AND ${ACTIVE}
      ORDER BY id LIMIT ?`,
  remove: 'DELETE FROM push_configs WHERE task = ? AND id = ? AND tenant = ? AND owner = ?',
  countOfTask: `SELECT count(*) FROM push_configs WHERE task = ? AND ${ACTIVE}`,
  countOfOwner: `SELECT count(*) FROM push_configs WHERE tenant = ? AND owner = ? AND ${ACTIVE}`,
  /** One that is replaced goes on where it was; one that was given up begins anew. */
  put: `INSERT INTO push_configs VALUES (@key, @tenant, @owner, @task, @id, @url, @scheme, @sealed, @version, @created_at,
        @cursor, @up_to, @attempts, @next_at, @lease_by, @lease_until, @state, @reason)
      ON CONFLICT (task, id) DO UPDATE SET key = excluded.key, url = excluded.url, scheme = excluded.scheme,
        sealed = excluded.sealed, version = excluded.version, created_at = excluded.created_at,
        cursor = iif(state = 'active', cursor, excluded.cursor), up_to = 0, attempts = 0, next_at = 0,
        lease_by = NULL, lease_until = 0, state = 'active', reason = NULL`,
  active: `${WORK} AND p.key > ? ORDER BY p.key LIMIT ?`,
  activeOf: `${WORK} AND p.task = ?`,
  activeOne: `${WORK} AND p.key = ?`,
  claim: `UPDATE push_configs SET lease_by = @worker, lease_until = @until, up_to = @upTo
      WHERE key = @key AND ${ACTIVE} AND cursor = @cursor AND (lease_by IS NULL OR lease_until <= @now)`,
  delivered: `UPDATE push_configs SET cursor = ?, up_to = 0, attempts = 0, next_at = 0, reason = NULL, ${SETTLED}
      WHERE key = ? AND lease_by = ?`,
  failed: `UPDATE push_configs SET attempts = attempts + 1, next_at = ?, reason = ?, ${SETTLED}
      WHERE key = ? AND lease_by = ?`,
  ended: 'DELETE FROM push_configs WHERE key = ? AND lease_by = ?',
  /** Its secrets are needed no more. */
  givenUp: `UPDATE push_configs SET state = 'given-up', next_at = ?, reason = ?, sealed = NULL, ${SETTLED}
      WHERE key = ? AND lease_by = ?`,
  release: `UPDATE push_configs SET ${SETTLED} WHERE lease_by = ?`,
  releaseAll: `UPDATE push_configs SET ${SETTLED} WHERE lease_by IS NOT NULL`,
  purge: "DELETE FROM push_configs WHERE state = 'given-up' AND next_at < ?",
  counts: `SELECT sum(state = 'active') AS active, sum(state = 'active' AND attempts > 0) AS failing,
        sum(state = 'given-up') AS givenUp FROM push_configs`,
};
