import { newId } from '../../core/ids.js';
import { all, column, first, lockOf, run, writeInSteps } from '../../core/sql.js';
import type { Query, SqlDatabase } from '../../core/sql.js';
import type { Scope } from '../../core/task.js';
import { insertInto, toParameters, toRecord, type Row } from '../../stores/records.js';

/** One or two sentences on what happened in a conversation. */
export interface Observation {
  readonly id: string;
  /** With the owner and the context, the agent identifies the session. */
  readonly agent: string;
  readonly contextId: string;
  readonly text: string;
  /** The time of the newest event that it is about, in milliseconds since the epoch. */
  readonly at: number;
  /** The first and the last task that it was derived from. */
  readonly tasks: readonly [first: string, last: string];
  /** The author: a model's id, `rules`, or the agent that recorded it. */
  readonly by: string;
  /** Whether it may come from text from outside. */
  readonly fromOutside: boolean;
}

export type NewObservation = Omit<Observation, 'id' | 'agent' | 'contextId'>;

/** A summary of several observations. */
export interface Reflection {
  readonly id: string;
  readonly text: string;
  /** The range of the observations' dates, in milliseconds since the epoch. */
  readonly from: number;
  readonly to: number;
  readonly by: string;
  /** Whether one of the observations may come from text from outside. */
  readonly fromOutside: boolean;
}

export type NewReflection = Omit<Reflection, 'id'>;

interface ObservationBatch {
  readonly agent: string;
  readonly contextId: string;
  /** The mark before this batch: the last observed task; undefined for the first batch. */
  readonly after: string | undefined;
  /** The new mark: tasks up to this one are observed. */
  readonly upTo: string;
  readonly observations: readonly NewObservation[];
}

interface ObservationQuery {
  readonly contextId?: string;
  /** Only observations without a reflection. */
  readonly open?: boolean;
  readonly limit: number;
  /** Only older observations. */
  readonly before?: MemoryPosition | undefined;
}

/** A position in the list of observations or reflections, which is sorted by time. */
export interface MemoryPosition {
  readonly at: number;
  readonly id: string;
}

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
/** SQLite plans a statement with ORDER BY and LIMIT again at each binding of a bare parameter that is compared with =. */
const OF_OWNER = 'tenant = CAST(? AS TEXT) AND owner = CAST(? AS TEXT)';
const REFLECTIONS = `SELECT ${REFLECTION} FROM reflections
  WHERE ${OF_OWNER} AND ("to", id) < (?, ?) ORDER BY "to" DESC, id DESC LIMIT CAST(? AS INTEGER)`;
/** A position after every row. */
const END: MemoryPosition = { at: Number.MAX_SAFE_INTEGER, id: '' };
const REFLECTIONS_OF_CONTEXT = `SELECT DISTINCT reflection FROM observations
  WHERE tenant = ? AND owner = ? AND context_id = ? AND reflection IS NOT NULL LIMIT ?`;
/** The key columns of each table. */
const KEYS = { observations: 'id', reflections: 'id', observed: 'tenant, owner, agent, context_id' };
/** The number of rows that one transaction removes. */
const ROWS_AT_ONCE = 200;

/**
 * An owner's observations and reflections. The messages themselves are in the journal. Writes are atomic, resolve after
 * commit and reject with code `storage`. Forgetting runs in steps, so that other work is not held up; when one fails, a
 * repeated call continues.
 */
export class MemoryStore {
  readonly #database: SqlDatabase;

  constructor(database: SqlDatabase) {
    this.#database = database;
  }

  /** Returns the mark of a session: its last observed task. */
  observedUpTo(scope: Scope, agent: string, contextId: string): Promise<string | undefined> {
    return this.#database.read(() => readMark(scope, agent, contextId));
  }

  /** Writes observations and the mark in one transaction. False, with nothing written, when the mark is not `after`. */
  observe(scope: Scope, { agent, contextId, after, upTo, observations }: ObservationBatch): Promise<boolean> {
    return this.#database.write(lockOf(scope), function* () {
      if ((yield* readMark(scope, agent, contextId)) !== after) return false;
      yield* run(SET_MARK, { ...scope, agent, contextId, upTo });
      for (const one of observations) yield* add(scope, { ...one, id: newId(), agent, contextId });
      return true;
    });
  }

  /** Writes an observation that an agent makes by a tool call; `id` is the key of the call, and a repeat changes nothing. */
  async record(scope: Scope, observation: Observation): Promise<void> {
    await this.#database.write(lockOf(scope), () => add(scope, observation));
  }

  /** Lists the newest observations, the newest first. */
  observations(
    { tenant, owner }: Scope,
    { contextId, open, limit, before = END }: ObservationQuery,
  ): Promise<readonly Observation[]> {
    const sql = `SELECT ${OBSERVATION} FROM observations WHERE ${OF_OWNER} AND (at, id) < (?, ?)
      ${contextId === undefined ? '' : 'AND context_id = CAST(? AS TEXT)'} ${open ? 'AND reflection IS NULL' : ''}
      ORDER BY at DESC, id DESC LIMIT CAST(? AS INTEGER)`;
    const ofContext = contextId === undefined ? [] : [contextId];
    return this.#list(sql, [tenant, owner, before.at, before.id, ...ofContext, limit]);
  }

  /** Writes a reflection of these observations. False, with nothing written, when one of them is gone or has a reflection. */
  reflect(scope: Scope, reflection: NewReflection, observationIds: readonly string[]): Promise<boolean> {
    const { tenant, owner } = scope;
    return this.#database.write(lockOf(scope), function* () {
      for (const id of observationIds) if (!(yield* first(IS_OPEN, id, tenant, owner))) return false;
      const reflectionId = newId();
      yield* run(ADD_REFLECTION, toParameters({ ...scope, ...reflection, id: reflectionId }));
      for (const id of observationIds) yield* run(CONDENSE, reflectionId, id, tenant, owner);
      return true;
    });
  }

  /** Lists the newest reflections, the newest first; with `before` only older ones. */
  reflections({ tenant, owner }: Scope, limit: number, before = END): Promise<readonly Reflection[]> {
    return this.#list(REFLECTIONS, [tenant, owner, before.at, before.id, limit]);
  }

  /**
   * Removes the observations of a context, the reflections made from any of them, and the mark. Other observations of
   * these reflections have no reflection again. Resolves with the number of removed entries.
   */
  async forgetContext(scope: Scope, contextId: string): Promise<number> {
    const { tenant, owner } = scope;
    const reflections = await writeInSteps(this.#database, lockOf(scope), function* () {
      const ids = yield* column<string>(REFLECTIONS_OF_CONTEXT, tenant, owner, contextId, ROWS_AT_ONCE);
      for (const id of ids) {
        yield* run('DELETE FROM reflections WHERE id = ?', id);
        yield* run('UPDATE observations SET reflection = NULL WHERE reflection = ?', id);
      }
      return { count: ids.length, isLast: ids.length < ROWS_AT_ONCE };
    });
    const observations = await this.#remove('observations', scope, contextId);
    await this.#remove('observed', scope, contextId);
    return reflections + observations;
  }

  async forgetAll(scope: Scope): Promise<number> {
    const reflections = await this.#remove('reflections', scope);
    const observations = await this.#remove('observations', scope);
    await this.#remove('observed', scope);
    return reflections + observations;
  }

  /** Removes the owner's rows of a table, or only those of a context. */
  #remove(table: keyof typeof KEYS, scope: Scope, contextId?: string): Promise<number> {
    const key = KEYS[table];
    const ofContext = contextId === undefined ? [] : [contextId];
    const sql = `DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${table}
      WHERE tenant = ? AND owner = ? ${contextId === undefined ? '' : 'AND context_id = ?'} LIMIT ?)`;
    return writeInSteps(this.#database, lockOf(scope), function* () {
      const count = yield* run(sql, scope.tenant, scope.owner, ...ofContext, ROWS_AT_ONCE);
      return { count, isLast: count < ROWS_AT_ONCE };
    });
  }

  async #list<Item>(sql: string, values: readonly unknown[]): Promise<readonly Item[]> {
    const rows = await this.#database.read(() => all<Row>(sql, ...values));
    return rows.map((row) => toRecord<Item>(row, FORMAT));
  }
}

function* readMark(scope: Scope, agent: string, contextId: string): Query<string | undefined> {
  return (yield* first<{ readonly up_to: string }>(MARK, { ...scope, agent, contextId }))?.up_to;
}

function add(scope: Scope, observation: Observation): Query<number> {
  return run(ADD, toParameters({ ...scope, ...observation }));
}
