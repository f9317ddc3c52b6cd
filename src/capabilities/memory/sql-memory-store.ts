import { newId } from '../../core/ids.js';
import type {
  MemoryPosition,
  MemoryStore,
  Observation,
  ObservationBatch,
  ObservationQuery,
  Reflection,
} from './memory-store.js';
import type { Scope } from '../../core/task.js';
import type { Row } from '../../stores/records.js';
import { insertInto, toParameters, toRecord } from '../../stores/records.js';
import type { Query, SqlDatabase, Step } from '../../core/sql.js';
import { all, first, lockOf, run, writeInSteps } from '../../core/sql.js';

const FORMAT = { json: ['tasks'], flags: ['fromOutside'] };
const OBSERVATION = 'id, agent, context_id, text, at, tasks, "by", from_outside';
const REFLECTION = 'id, text, "from", "to", "by", from_outside';

const MARK = `SELECT up_to FROM observed
  WHERE tenant = @tenant AND owner = @owner AND agent = @agent AND context_id = @contextId`;
const SET_MARK = `${insertInto('observed', ['tenant', 'owner', 'agent', 'contextId', 'upTo'])}
  ON CONFLICT (tenant, owner, agent, context_id) DO UPDATE SET up_to = excluded.up_to`;
const ADD = `${insertInto('observations', [
  ...['id', 'tenant', 'owner', 'agent', 'contextId', 'text', 'at', 'tasks', 'by', 'fromOutside'],
])} ON CONFLICT DO NOTHING`;
const IS_OPEN = 'SELECT 1 FROM observations WHERE id = ? AND tenant = ? AND owner = ? AND reflection IS NULL';
const CONDENSE =
  'UPDATE observations SET reflection = ? WHERE id = ? AND tenant = ? AND owner = ? AND reflection IS NULL';
const ADD_REFLECTION = insertInto('reflections', [
  ...['id', 'tenant', 'owner', 'text', 'from', 'to', 'by', 'fromOutside'],
]);
const REFLECTIONS = `SELECT ${REFLECTION} FROM reflections
  WHERE tenant = ? AND owner = ? AND ("to", id) < (?, ?) ORDER BY "to" DESC, id DESC LIMIT ?`;
/** A position after every row. */
const END: MemoryPosition = { at: Number.MAX_SAFE_INTEGER, id: '' };
const REFLECTIONS_OF_CONTEXT = `SELECT DISTINCT reflection AS id FROM observations
  WHERE tenant = ? AND owner = ? AND context_id = ? AND reflection IS NOT NULL LIMIT ?`;
/** The key columns of each table. */
const KEYS = { observations: 'id', reflections: 'id', observed: 'tenant, owner, agent, context_id' };
/** The number of rows that one transaction removes. */
const ROWS_AT_ONCE = 200;

type Table = keyof typeof KEYS;

/** Observations of conversations, and the reflections that condense them. See schema.ts. */
export class SqlMemoryStore implements MemoryStore {
  readonly #database: SqlDatabase;

  constructor(database: SqlDatabase) {
    this.#database = database;
  }

  async observedUpTo(scope: Scope, agent: string, contextId: string): Promise<string | undefined> {
    return this.#database.read(() => readMark(scope, agent, contextId));
  }

  async observe(scope: Scope, batch: ObservationBatch): Promise<boolean> {
    return this.#database.write(lockOf(scope), () => observe(scope, batch));
  }

  async record(scope: Scope, observation: Observation): Promise<void> {
    await this.#database.write(lockOf(scope), () => add(scope, observation));
  }

  async observations(
    scope: Scope,
    { contextId, open, limit, before = END }: ObservationQuery,
  ): Promise<readonly Observation[]> {
    const conditions = ['tenant = ?', 'owner = ?', '(at, id) < (?, ?)'];
    if (contextId !== undefined) conditions.push('context_id = ?');
    if (open) conditions.push('reflection IS NULL');
    const sql = `SELECT ${OBSERVATION} FROM observations
      WHERE ${conditions.join(' AND ')} ORDER BY at DESC, id DESC LIMIT ?`;
    const position = [scope.tenant, scope.owner, before.at, before.id];
    const values = [...position, ...(contextId === undefined ? [] : [contextId]), limit];
    return this.#list(sql, values);
  }

  async reflect(
    scope: Scope,
    reflection: Omit<Reflection, 'id'>,
    observationIds: readonly string[],
  ): Promise<boolean> {
    return this.#database.write(lockOf(scope), () => reflect(scope, reflection, observationIds));
  }

  async reflections({ tenant, owner }: Scope, limit: number, before = END): Promise<readonly Reflection[]> {
    return this.#list(REFLECTIONS, [tenant, owner, before.at, before.id, limit]);
  }

  async forgetContext(scope: Scope, contextId: string): Promise<number> {
    const own = [scope.tenant, scope.owner, contextId];
    const reflections = await writeInSteps(this.#database, lockOf(scope), () => removeReflections(own));
    const condition = 'tenant = ? AND owner = ? AND context_id = ?';
    const observations = await this.#remove(scope, 'observations', { condition, values: own });
    await this.#remove(scope, 'observed', { condition, values: own });
    return reflections + observations;
  }

  async forgetAll(scope: Scope): Promise<number> {
    const own = { condition: 'tenant = ? AND owner = ?', values: [scope.tenant, scope.owner] };
    const reflections = await this.#remove(scope, 'reflections', own);
    const observations = await this.#remove(scope, 'observations', own);
    await this.#remove(scope, 'observed', own);
    return reflections + observations;
  }

  #remove(scope: Scope, table: Table, rows: Rows): Promise<number> {
    return writeInSteps(this.#database, lockOf(scope), () => removeSome(table, rows));
  }

  async #list<Item>(sql: string, values: readonly unknown[]): Promise<readonly Item[]> {
    const rows = await this.#database.read(() => all<Row>(sql, ...values));
    return rows.map((row) => toRecord<Item>(row, FORMAT));
  }
}

interface Rows {
  readonly condition: string;
  readonly values: readonly string[];
}

function* readMark(scope: Scope, agent: string, contextId: string): Query<string | undefined> {
  return (yield* first<{ readonly up_to: string }>(MARK, { ...scope, agent, contextId }))?.up_to;
}

function* observe(
  scope: Scope,
  { agent, contextId, after, upTo, observations }: ObservationBatch,
): Query<boolean> {
  if ((yield* readMark(scope, agent, contextId)) !== after) return false;
  yield* run(SET_MARK, { ...scope, agent, contextId, upTo });
  for (const observation of observations) {
    yield* add(scope, { ...observation, id: newId(), agent, contextId });
  }
  return true;
}

function add(scope: Scope, observation: Observation): Query<number> {
  return run(ADD, toParameters({ ...scope, ...observation }));
}

function* reflect(
  scope: Scope,
  reflection: Omit<Reflection, 'id'>,
  observationIds: readonly string[],
): Query<boolean> {
  const { tenant, owner } = scope;
  for (const id of observationIds) if (!(yield* first(IS_OPEN, id, tenant, owner))) return false;
  const reflectionId = newId();
  yield* run(ADD_REFLECTION, toParameters({ ...scope, ...reflection, id: reflectionId }));
  for (const id of observationIds) yield* run(CONDENSE, reflectionId, id, tenant, owner);
  return true;
}

/** Removes the reflections of a context. Their observations are open again. */
function* removeReflections(own: readonly string[]): Query<Step> {
  const rows = yield* all<{ readonly id: string }>(REFLECTIONS_OF_CONTEXT, ...own, ROWS_AT_ONCE);
  for (const { id } of rows) {
    yield* run('DELETE FROM reflections WHERE id = ?', id);
    yield* run('UPDATE observations SET reflection = NULL WHERE reflection = ?', id);
  }
  return { count: rows.length, isLast: rows.length < ROWS_AT_ONCE };
}

function* removeSome(table: Table, { condition, values }: Rows): Query<Step> {
  const key = KEYS[table];
  const sql = `DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${table} WHERE ${condition} LIMIT ?)`;
  const count = yield* run(sql, ...values, ROWS_AT_ONCE);
  return { count, isLast: count < ROWS_AT_ONCE };
}
