import { newId } from '../../core/ids.js';
import type {
  MemoryPosition,
  MemoryStore,
  Observation,
  ObservationBatch,
  ObservationQuery,
  Reflection,
} from '../../stores/memory.js';
import type { Scope } from '../../core/task.js';
import type { Row } from '../records.js';
import { insertInto, toParameters, toRecord } from '../records.js';
import type { SqliteDatabase } from './database.js';
import type { Prepared } from './prepared.js';

const FORMAT = { json: ['tasks'], flags: ['fromOutside'] };
const OBSERVATION = 'id, agent, context_id, text, at, tasks, "by", from_outside';
const REFLECTION = 'id, text, "from", "to", "by", from_outside';

const MARK = `SELECT up_to FROM observed
  WHERE tenant = @tenant AND owner = @owner AND agent = @agent AND context_id = @contextId`;
const SET_MARK = `${insertInto('observed', ['tenant', 'owner', 'agent', 'contextId', 'upTo'])}
  ON CONFLICT DO UPDATE SET up_to = excluded.up_to`;
const ADD = insertInto(
  'observations',
  ['id', 'tenant', 'owner', 'agent', 'contextId', 'text', 'at', 'tasks', 'by', 'fromOutside'],
  'OR IGNORE',
);
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
export class SqliteMemoryStore implements MemoryStore {
  readonly #database: SqliteDatabase;
  readonly #prepared: Prepared;

  constructor(database: SqliteDatabase) {
    this.#database = database;
    this.#prepared = database.prepared;
  }

  async observedUpTo(scope: Scope, agent: string, contextId: string): Promise<string | undefined> {
    return this.#database.read(() => this.#mark(scope, agent, contextId));
  }

  async observe(
    scope: Scope,
    { agent, contextId, after, upTo, observations }: ObservationBatch,
  ): Promise<boolean> {
    return this.#database.write(() => {
      if (this.#mark(scope, agent, contextId) !== after) return false;
      this.#prepared.run(SET_MARK, { ...scope, agent, contextId, upTo });
      for (const observation of observations)
        this.#add(scope, { ...observation, id: newId(), agent, contextId });
      return true;
    });
  }

  async record(scope: Scope, observation: Observation): Promise<void> {
    return this.#database.write(() => this.#add(scope, observation));
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
    return this.#database.write(() => {
      const open = observationIds.filter((id) => this.#isOpen(scope, id));
      if (open.length < observationIds.length) return false;
      const reflectionId = newId();
      const { tenant, owner } = scope;
      this.#prepared.run(ADD_REFLECTION, toParameters({ ...scope, ...reflection, id: reflectionId }));
      for (const id of observationIds) this.#prepared.run(CONDENSE, reflectionId, id, tenant, owner);
      return true;
    });
  }

  async reflections({ tenant, owner }: Scope, limit: number, before = END): Promise<readonly Reflection[]> {
    return this.#list(REFLECTIONS, [tenant, owner, before.at, before.id, limit]);
  }

  async forgetContext(scope: Scope, contextId: string): Promise<number> {
    const { tenant, owner } = scope;
    const own = [tenant, owner, contextId];
    const reflections = await this.#database.writeInSteps(() => {
      const rows = this.#prepared.all<{ readonly id: string }>(REFLECTIONS_OF_CONTEXT, ...own, ROWS_AT_ONCE);
      for (const { id } of rows) {
        this.#prepared.run('DELETE FROM reflections WHERE id = ?', id);
        this.#prepared.run('UPDATE observations SET reflection = NULL WHERE reflection = ?', id);
      }
      return { count: rows.length, isLast: rows.length < ROWS_AT_ONCE };
    });
    const observations = await this.#remove(
      'observations',
      'tenant = ? AND owner = ? AND context_id = ?',
      own,
    );
    await this.#remove('observed', 'tenant = ? AND owner = ? AND context_id = ?', own);
    return reflections + observations;
  }

  async forgetAll({ tenant, owner }: Scope): Promise<number> {
    const remove = (table: Table): Promise<number> =>
      this.#remove(table, 'tenant = ? AND owner = ?', [tenant, owner]);
    const [reflections, observations] = [await remove('reflections'), await remove('observations')];
    await remove('observed');
    return reflections + observations;
  }

  #remove(table: Table, condition: string, values: readonly string[]): Promise<number> {
    const key = KEYS[table];
    const sql = `DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${table} WHERE ${condition} LIMIT ?)`;
    return this.#database.writeInSteps(() => {
      const count = this.#prepared.run(sql, ...values, ROWS_AT_ONCE).changes;
      return { count, isLast: count < ROWS_AT_ONCE };
    });
  }

  #list<Item>(sql: string, values: readonly unknown[]): readonly Item[] {
    const rows = this.#database.read(() => this.#prepared.all<Row>(sql, ...values));
    return rows.map((row) => toRecord<Item>(row, FORMAT));
  }

  #mark(scope: Scope, agent: string, contextId: string): string | undefined {
    return this.#prepared.first<{ readonly up_to: string }>(MARK, { ...scope, agent, contextId })?.up_to;
  }

  #isOpen({ tenant, owner }: Scope, id: string): boolean {
    const sql = 'SELECT 1 FROM observations WHERE id = ? AND tenant = ? AND owner = ? AND reflection IS NULL';
    return this.#prepared.first(sql, id, tenant, owner) !== undefined;
  }

  #add(scope: Scope, observation: Observation): void {
    this.#prepared.run(ADD, toParameters({ ...scope, ...observation }));
  }
}
